import type { Cursor, LogIdentity } from '../../../core/model/cursor.ts';
import { isRowEntry, isRowEvent, type LogEntry, type PendingRow, type RowEntry } from '../../../core/model/event.ts';
import { qualify } from '../../../core/model/fleet.ts';
import { type Offset, rowOffset } from '../../../core/model/offset.ts';
import type { MessageLog } from '../../../core/model/ports/feed-ports.ts';
import { isChangesEpoch } from '../protocol/event-message.ts';
import type { HubParts } from './hub-parts.ts';
import type { Offsets } from './offsets.ts';
import type { StoredEvent } from './stored-event.ts';

/** The generation of all log entries at a hub. It never changes, because a hub has no change log. */
export const GENERATION = 0;

interface HubEventLogParts extends Pick<HubParts, 'store' | 'reader' | 'pairChanges'> {
  readonly offsets: Offsets;
}

/**
 * Presents hub.db as a message log. The `rowId` of an offset is an event's number in hub.db. No client sees this
 * number.
 */
export class HubEventLog implements MessageLog {
  readonly #parts: HubEventLogParts;

  constructor(parts: HubEventLogParts) {
    this.#parts = parts;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    return this.allEntries(after, upTo, limit, { isOfRows: true }).filter(isRowEntry);
  }

  /** Like `entries`, but includes changes unless `isOfRows` is true. */
  allEntries(after: Offset, upTo: Offset, limit: number, { isOfRows = false } = {}): readonly LogEntry[] {
    let from = after.rowId;
    // Continues after unreadable events, because callers interpret an empty result as the end of the log.
    for (;;) {
      const events = this.#parts.store.index.events(from, upTo.rowId, limit, isOfRows);
      const entries = this.readable(events);
      const last = events.at(-1);
      if (entries.length > 0 || last === undefined) return entries;
      from = last.number;
    }
  }

  /** Returns log entries for those of the events that this hub can read. */
  readable(events: readonly StoredEvent[]): readonly LogEntry[] {
    return events.flatMap((event) => this.#entryOf(event) ?? []);
  }

  #entryOf(stored: StoredEvent): LogEntry | undefined {
    const { number, mac, epoch, row } = stored;
    const read = this.#parts.reader.readIf(stored);
    if (read === undefined) return undefined;
    this.#parts.offsets.prepare(stored);
    const merged = this.#parts.pairChanges.merged(stored, read);
    const event = merged.type === 'message.updated' ? { ...merged, edited_at: undefined } : merged;
    // A message can have several changes, so its guid does not identify any of them.
    const guid = isChangesEpoch(epoch) || !('guid' in event.data) ? '' : event.data.guid;
    return {
      offset: rowOffset(number),
      rowId: number,
      // Two Macs in one conversation share the guids of its messages, so an entry's `guid` also contains the Mac.
      guid: guid === '' ? qualify(mac, `${epoch} row ${row}`) : qualify(event.data.mac ?? mac, guid),
      event,
      generation: GENERATION,
    };
  }

  /** Returns the entry for an event's number; undefined if the event is no longer kept or is unreadable. */
  entry(number: number): LogEntry | undefined {
    return this.allEntries(rowOffset(number - 1), rowOffset(number), 1)[0];
  }

  /** Returns the guid of a Mac's row; undefined if its event is no longer kept or is unreadable. */
  guidOfRow(mac: string, row: number): string | undefined {
    const event = this.#parts.store.index.ofRow(mac, row);
    const read = event && this.#parts.reader.readIf(event);
    return read && isRowEvent(read) ? read.data.guid : undefined;
  }

  /** Returns nothing, because every stored event is published. */
  pendingRows(): readonly PendingRow[] {
    return [];
  }

  newest(): Cursor {
    return { offset: rowOffset(this.#parts.store.newest), guid: null, inode: '' };
  }

  identity(): LogIdentity {
    return { inode: '', guidAtCursor: null, highestRowId: this.#parts.store.newest };
  }
}
