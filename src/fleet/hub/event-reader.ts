import { AppError } from '../../domain/errors.ts';
import type { Event, RowEntry } from '../../domain/event.ts';
import { type MacName, qualify } from '../../domain/fleet.ts';
import { rowOffset } from '../../domain/offset.ts';
import { eventSchema } from '../../schema/event-schema.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { openEvent } from '../protocol/event-message.ts';
import { qualifiedEvent } from './qualified.ts';
import type { MacEvent, StoredEvent } from './stored-event.ts';

/** The generation of the change log in a hub's offsets. A hub has no change log. */
export const GENERATION = 0;

/** Opens events of the stream and qualifies their ids. */
export class EventReader {
  readonly #envelope: Envelope;
  readonly #nameOf: (mac: string) => MacName;

  constructor(envelope: Envelope, nameOf: (mac: string) => MacName) {
    this.#envelope = envelope;
    this.#nameOf = nameOf;
  }

  /** Returns the event with qualified ids. Throws `fleet_content_unreadable` unless the Mac's agent wrote it. */
  read(event: Pick<MacEvent, 'mac' | 'epoch' | 'row' | 'keyId' | 'body'>): Event {
    const text = openEvent(event, event.keyId ?? undefined, event.body, this.#envelope);
    const read = eventSchema.safeParse(jsonOf(text));
    if (!read.success) throw new AppError('fleet_content_unreadable', 'It is not the JSON of an event.');
    return qualifiedEvent(this.#nameOf(event.mac), read.data);
  }

  /** Returns the log entry of an event. Throws like `read`. */
  entryOf(stored: StoredEvent): RowEntry {
    const { number, mac, epoch, row } = stored;
    const event = stored.read ?? this.read(stored);
    const { guid } = event.data;
    return {
      offset: rowOffset(number),
      rowId: number,
      // Two Macs in one conversation have the same guids for its messages.
      guid: qualify(guid === '' ? mac : this.#nameOf(mac).member, guid === '' ? `${epoch} row ${row}` : guid),
      event,
      generation: GENERATION,
    };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
