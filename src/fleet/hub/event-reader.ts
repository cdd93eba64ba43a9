import { AppError } from '../../domain/errors.ts';
import type { ChangeEvent, Event, LogEntry } from '../../domain/event.ts';
import { type MacName, nameOfOne, qualify } from '../../domain/fleet.ts';
import { rowOffset } from '../../domain/offset.ts';
import { changeEventSchema, eventSchema } from '../../schema/event-schema.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { CHAIN_START, isChangesEpoch, openEvent } from '../protocol/event-message.ts';
import { qualifiedEvent } from './qualified.ts';
import type { SealedEvent, StoredEvent } from './stored-event.ts';

/** The generation of the one log of a hub. Its events carry offsets instead. */
export const GENERATION = 0;

/** Opens events of the stream and qualifies their ids. */
export class EventReader {
  readonly #envelope: Envelope;
  readonly #nameOf: (mac: string) => MacName;
  readonly #merged: (stored: StoredEvent, event: LogEntry['event']) => LogEntry['event'];

  /** `merged` adds what the other Mac of a pair has told. */
  constructor(
    envelope: Envelope,
    nameOf: (mac: string) => MacName = nameOfOne,
    merged: (stored: StoredEvent, event: LogEntry['event']) => LogEntry['event'] = (_, event) => event,
  ) {
    this.#merged = merged;
    this.#envelope = envelope;
    this.#nameOf = nameOf;
  }

  /** Returns the event with qualified ids. Throws `fleet_content_unreadable` unless the Mac's agent wrote it. */
  read(event: SealedEvent): Event | ChangeEvent {
    const text = openEvent(event, event.keyId ?? undefined, event.body, this.#envelope);
    const isChange = isChangesEpoch(event.epoch);
    const json = jsonOf(text);
    const read = (isChange ? changeEventSchema : eventSchema).safeParse(json);
    // The type of a stored event decides who receives it.
    const isTyped = read.success && (read.data.type === event.type || event.type === CHAIN_START);
    if (!isTyped || (event.type === CHAIN_START && !isChange))
      throw new AppError('fleet_content_unreadable', 'It is not the JSON of an event.');
    const edited_at = editDateIn(json);
    const qualified = qualifiedEvent(this.#nameOf(event.mac), read.data);
    return qualified.type === 'message.updated' && edited_at !== undefined ? { ...qualified, edited_at } : qualified;
  }

  /** Returns the log entry of an event. Throws like `read`. */
  entryOf(stored: StoredEvent): LogEntry {
    const { number, mac, epoch, row } = stored;
    const merged = this.#merged(stored, stored.read ?? this.read(stored));
    const event = merged.type === 'message.updated' ? { ...merged, edited_at: undefined } : merged;
    // A change is no row, and its message has other changes.
    const guid = isChangesEpoch(epoch) || !('guid' in event.data) ? '' : event.data.guid;
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

function editDateIn(json: unknown): string | undefined {
  const at = (json as { readonly edited_at?: unknown }).edited_at;
  return typeof at === 'string' && /^[\d-]{10}T[\d:]{8}Z$/.test(at) ? at : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
