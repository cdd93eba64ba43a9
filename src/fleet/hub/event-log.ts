import type { Cursor, LogIdentity } from '../../domain/cursor.ts';
import type { PendingRow, RowEntry } from '../../domain/event.ts';
import { type Offset, rowOffset } from '../../domain/offset.ts';
import type { MessageLog } from '../../domain/ports/feed-ports.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import type { StoredEvent } from './stored-event.ts';

/** Presents hub.db as a log. The row ids of its offsets are this hub's numbers, which no client sees. */
export class HubEventLog implements MessageLog {
  readonly #store: EventStore;
  readonly #reader: EventReader;

  constructor(store: EventStore, reader: EventReader) {
    this.#store = store;
    this.#reader = reader;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    let from = after.rowId;
    // Unreadable events are skipped, because an empty result would mean the end.
    for (;;) {
      const events = this.#store.index.events(from, upTo.rowId, limit);
      const entries = this.readable(events);
      const last = events.at(-1);
      if (entries.length > 0 || last === undefined) return entries;
      from = last.number;
    }
  }

  /** Returns the readable events. The content key of others may have been removed since. */
  readable(events: readonly StoredEvent[]): readonly RowEntry[] {
    return events.flatMap((event) => {
      try {
        return [this.#reader.entryOf(event)];
      } catch {
        return [];
      }
    });
  }

  /** Returns a stored event; undefined if it is no longer kept. */
  entry(number: number): RowEntry | undefined {
    return this.entries(rowOffset(number - 1), rowOffset(number), 1)[0];
  }

  /** Returns the guid of a Mac's row; undefined if its event is no longer kept or is unreadable. */
  guidOfRow(mac: string, row: number): string | undefined {
    const event = this.#store.index.ofRow(mac, row);
    return event && this.readable([event])[0]?.event.data.guid;
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
