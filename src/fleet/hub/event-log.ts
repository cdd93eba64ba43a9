import type { Cursor, LogIdentity } from '../../domain/cursor.ts';
import type { PendingRow, RowEntry } from '../../domain/event.ts';
import { type Offset, rowOffset } from '../../domain/offset.ts';
import type { MessageLog } from '../../domain/ports/feed.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore, StoredEvent } from './event-store.ts';

/** hub.db as a log: the row ids of its offsets are numbers of this hub alone, which no client sees. */
export class HubEventLog implements MessageLog {
  readonly #store: EventStore;
  readonly #reader: EventReader;

  constructor(store: EventStore, reader: EventReader) {
    this.#store = store;
    this.#reader = reader;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    let from = after.rowId;
    // What cannot be read is left out, and is not the end.
    for (;;) {
      const events = this.#store.events(from, upTo.rowId, limit);
      const entries = this.readable(events);
      const last = events.at(-1);
      if (entries.length > 0 || last === undefined) return entries;
      from = last.number;
    }
  }

  /** Those that can be read: a content key may be gone since. */
  readable(events: readonly StoredEvent[]): readonly RowEntry[] {
    return events.flatMap((event) => {
      try {
        return [this.#reader.entryOf(event)];
      } catch {
        return [];
      }
    });
  }

  /** An event as it is stored; undefined when it is no longer kept. */
  entry(number: number): RowEntry | undefined {
    return this.entries(rowOffset(number - 1), rowOffset(number), 1)[0];
  }

  /** Nothing is ever pending: what is stored is published. */
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
