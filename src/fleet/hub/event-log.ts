import type { Cursor, LogIdentity } from '../../domain/cursor.ts';
import { isRowEvent, type LogEntry, type PendingRow, type RowEntry } from '../../domain/event.ts';
import { type Offset, rowOffset } from '../../domain/offset.ts';
import type { MessageLog } from '../../domain/ports/feed.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import type { StoredEvent } from './stored-event.ts';

export function isRow(entry: LogEntry): entry is RowEntry {
  return isRowEvent(entry.event);
}

/** Presents hub.db as a log. The row ids of its offsets are this hub's numbers, which no client sees. */
export class HubEventLog implements MessageLog {
  readonly #store: EventStore;
  readonly #reader: EventReader;

  constructor(store: EventStore, reader: EventReader) {
    this.#store = store;
    this.#reader = reader;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    return this.#entries(after, upTo, limit, true).filter(isRow);
  }

  /** Like `entries`, with changes. */
  allEntries(after: Offset, upTo: Offset, limit: number): readonly LogEntry[] {
    return this.#entries(after, upTo, limit, false);
  }

  #entries(after: Offset, upTo: Offset, limit: number, isOfRows: boolean): readonly LogEntry[] {
    let from = after.rowId;
    // Unreadable events are skipped, because an empty result would mean the end.
    for (;;) {
      const events = this.#store.index.events(from, upTo.rowId, limit, isOfRows);
      const entries = this.readable(events);
      const last = events.at(-1);
      if (entries.length > 0 || last === undefined) return entries;
      from = last.number;
    }
  }

  /** Returns the readable events. The content key of others may have been removed since. */
  readable(events: readonly StoredEvent[]): readonly LogEntry[] {
    return events.flatMap((event) => {
      try {
        return [this.#reader.entryOf(event)];
      } catch {
        return [];
      }
    });
  }

  /** Returns a stored event; undefined if it is no longer kept. */
  entry(number: number): LogEntry | undefined {
    return this.allEntries(rowOffset(number - 1), rowOffset(number), 1)[0];
  }

  /** Returns the guid of a Mac's row; undefined if its event is no longer kept or is unreadable. */
  guidOfRow(mac: string, row: number): string | undefined {
    const event = this.#store.index.ofRow(mac, row);
    const [entry] = event === undefined ? [] : this.readable([event]).filter(isRow);
    return entry?.event.data.guid;
  }

  /** Returns nothing, because every stored event is published. */
  pendingRows(): readonly PendingRow[] {
    return [];
  }

  newest(): Cursor {
    return { offset: rowOffset(this.#store.newest), guid: null, inode: '' };
  }

  identity(): LogIdentity {
    return { inode: '', guidAtCursor: null, highestRowId: this.#store.newest };
  }
}
