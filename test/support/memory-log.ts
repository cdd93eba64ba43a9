import type { Cursor } from '../../src/core/model/cursor.ts';
import type { PendingRow } from '../../src/core/model/event.ts';
import { type Offset, rowOffset } from '../../src/core/model/offset.ts';
import type { CursorStore, MessageLog } from '../../src/core/model/ports/feed-ports.ts';
import { problem } from '../../src/core/model/problems.ts';

/** Returns a row as the log reports it; complete unless said otherwise. */
export function arrival(rowId: number, options: Partial<PendingRow> = {}): PendingRow {
  return {
    offset: rowOffset(rowId),
    rowId,
    guid: `G${rowId}`,
    datedMs: Number.MAX_SAFE_INTEGER,
    isIncomplete: false,
    isUnsent: false,
    lacksHandle: false,
    event: {
      type: 'message.received',
      data: {
        id: String(rowId),
        guid: `G${rowId}`,
        conversation_id: 'any;-;+15550100',
        sender: '+15550100',
        body: `text ${rowId}`,
        attachments: [],
        timestamp: '2026-01-01T00:00:00Z',
        is_from_me: false,
        status: 'delivered',
      },
    },
    ...options,
  };
}

/** An in-memory log. */
export class MemoryLog implements MessageLog {
  readonly rows = new Map<number, PendingRow>();
  inode = '1';
  highest = 0;
  isAway = false;
  /** How often rows were read with `entries`. */
  reads = 0;

  add(...rows: readonly PendingRow[]): void {
    for (const row of rows) {
      this.rows.set(row.rowId, row);
      this.highest = Math.max(this.highest, row.rowId);
    }
  }

  addMany(from: number, to: number): void {
    for (let rowId = from; rowId <= to; rowId += 1) this.add(arrival(rowId));
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly PendingRow[] {
    this.reads += 1;
    return this.#sorted()
      .filter((row) => row.rowId > after.rowId && row.rowId <= upTo.rowId)
      .slice(0, limit);
  }

  pendingRows(after: Offset, limit: number): readonly PendingRow[] {
    return this.#sorted()
      .filter((row) => row.rowId > after.rowId)
      .slice(0, limit);
  }

  silentRows(first: number, last: number): number {
    return this.#sorted().filter(({ rowId, isSilent }) => rowId >= first && rowId <= last && isSilent === true).length;
  }

  newest(): Cursor {
    const row = this.#sorted().at(-1);
    return { offset: rowOffset(row?.rowId ?? 0), guid: row?.guid ?? null, inode: this.inode };
  }

  identity({ rowId }: Offset): { inode: string; guidAtCursor: string | null; highestRowId: number } {
    this.#check();
    return { inode: this.inode, guidAtCursor: this.rows.get(rowId)?.guid ?? null, highestRowId: this.highest };
  }

  #sorted(): PendingRow[] {
    this.#check();
    return [...this.rows.values()].sort((a, b) => a.rowId - b.rowId);
  }

  #check(): void {
    if (this.isAway) throw problem('chat_db_missing');
  }
}

/** An in-memory cursor store that keeps every cursor it was given. */
export class MemoryCursor implements CursorStore {
  readonly saved: Cursor[] = [];
  restarts = 0;
  #replacedAt = 0;

  load(): Cursor | undefined {
    return this.saved.at(-1);
  }

  save(cursor: Cursor): void {
    this.saved.push(cursor);
  }

  replacedAt(): number {
    return this.#replacedAt;
  }

  restart(cursor: Cursor): void {
    this.restarts += 1;
    if (this.saved.length > 0) this.#replacedAt = cursor.offset.rowId;
    this.saved.push(cursor);
  }
}
