import { AppError } from '../../../core/model/errors.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import type { MacName } from '../../../core/model/fleet.ts';
import { changeEventSchema, eventSchema } from '../../../core/schema/event-schema.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { CHAIN_START, isChangesEpoch, openEvent } from '../protocol/event-message.ts';
import { qualifiedEvent } from './qualified.ts';
import type { MacEvent, SealedEvent } from './stored-event.ts';

/** Opens the sealed events of the stream, and adds the Mac's prefix to the ids in each event. */
export class EventReader {
  readonly #envelope: Envelope;
  readonly #nameOf: (mac: string) => MacName;

  constructor(envelope: Envelope, nameOf: (mac: string) => MacName) {
    this.#envelope = envelope;
    this.#nameOf = nameOf;
  }

  /** Returns the event with qualified ids. Throws `fleet_content_unreadable` unless the Mac's agent wrote it. */
  read(event: SealedEvent): LogEntry['event'] {
    const json = jsonOf(openEvent(event, event.keyId ?? undefined, event.body, this.#envelope));
    const isChange = isChangesEpoch(event.epoch);
    const read = (isChange ? changeEventSchema : eventSchema).safeParse(json);
    // The type in the headers decides who receives the event, so the body must state that type too.
    const isTyped = read.success && (read.data.type === event.type || (isChange && event.type === CHAIN_START));
    if (!isTyped) throw new AppError('fleet_content_unreadable', 'It is not the JSON of an event.');
    const qualified = qualifiedEvent(this.#nameOf(event.mac), read.data);
    return qualified.type === 'message.updated' ? { ...qualified, edited_at: editDateIn(json) } : qualified;
  }

  /** Like `read`, but returns undefined for an unreadable event, for example after its content key was removed. */
  readIf(event: MacEvent): LogEntry['event'] | undefined {
    try {
      return event.read ?? this.read(event);
    } catch {
      return undefined;
    }
  }
}

/** Returns the date of an edit, which a Mac adds to a change as `edited_at`. */
function editDateIn(json: unknown): string | undefined {
  const { edited_at: at } = json as { readonly edited_at?: unknown };
  return typeof at === 'string' && /^[\d-]{10}T[\d:]{8}Z$/.test(at) ? at : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
