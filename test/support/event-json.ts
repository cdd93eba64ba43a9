import { encodeOffset } from '../../src/core/model/offset.ts';
import { type EventJson, eventSerializer } from '../../src/core/schema/event-json.ts';

/** Returns the JSON of events as the service writes it without details and names. */
export function plainJson(): EventJson {
  return eventSerializer({
    details: () => Promise.resolve(undefined),
    names: () => ({ nameOf: () => undefined }),
    offsetText: encodeOffset,
  });
}
