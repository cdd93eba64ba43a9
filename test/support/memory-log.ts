import { AppError } from '../../src/domain/errors.ts';
import type { Arrival } from '../../src/domain/event.ts';
import type { Mark } from '../../src/domain/mark.ts';
import type { CursorStore, MessageLog } from '../../src/domain/ports/feed.ts';

/** A row as the log shows it; complete unless said otherwise. */
export function arrival(rowId: number, options: Partial<Arrival> = {}): Arrival {
  return {
    rowId,
    guid: `G${rowId}`,
    datedMs: Number.MAX_SAFE_INTEGER,
    lacksParts: false,
    lacksSentFlag: false,
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

/** A log in memory, for tests of what reads one. */
export class MemoryLog implements MessageLog {
  readonly rows = new Map<number, Arrival>();
  inode = '1';
  highest = 0;
  isAway = false;
  /** How often rows were read with `entries`. */
  reads = 0;

  add(...rows: readonly Arrival[]): void {
    for (const row of rows) {
      this.rows.set(row.rowId, row);
      this.highest = Math.max(this.highest, row.rowId);
    }
  }

  addMany(from: number, to: number): void {
    for (let rowId = from; rowId <= to; rowId += 1) this.add(arrival(rowId));
  }

  entries(after: number, upTo: number, limit: number): readonly Arrival[] {
    this.reads += 1;
    return this.#sorted()
      .filter((row) => row.rowId > after && row.rowId <= upTo)
      .slice(0, limit);
  }

  arrivals(after: number, limit: number): readonly Arrival[] {
    return this.#sorted()
      .filter((row) => row.rowId > after)
      .slice(0, limit);
  }

  newest(): Mark {
    const row = this.#sorted().at(-1);
    return { rowId: row?.rowId ?? 0, guid: row?.guid ?? null, inode: this.inode };
  }

  identity(rowId: number): { inode: string; guidAtMark: string | null; highestRowId: number } {
    this.#check();
    return { inode: this.inode, guidAtMark: this.rows.get(rowId)?.guid ?? null, highestRowId: this.highest };
  }

  #sorted(): Arrival[] {
    this.#check();
    return [...this.rows.values()].sort((a, b) => a.rowId - b.rowId);
  }

  #check(): void {
    if (this.isAway) throw new AppError('unavailable', 'chat_db_unavailable', 'The messages database is away.');
  }
}

/** A cursor store in memory that keeps every mark it was given. */
export class MemoryCursor implements CursorStore {
  readonly saved: Mark[] = [];
  restarts = 0;

  load(): Mark | undefined {
    return this.saved.at(-1);
  }

  save(mark: Mark): void {
    this.saved.push(mark);
  }

  restart(mark: Mark): void {
    this.restarts += 1;
    this.saved.push(mark);
  }
}
