import { encodeOffset } from '../../src/domain/offset.ts';
import { type EventJson, eventSerializer } from '../../src/schema/event-json.ts';

/** Events as the service writes them, where no details are and nobody is known. */
export function plainJson(): EventJson {
  return eventSerializer({
    details: () => undefined,
    names: () => ({ nameOf: () => undefined }),
    offsetText: encodeOffset,
  });
}
