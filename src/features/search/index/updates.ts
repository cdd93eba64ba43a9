import type { Cursor } from '../../../core/model/cursor.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { ConsumerTask, Handled } from '../../../core/model/ports/feed-ports.ts';
import { type DocumentKey, type Documents, LAST_ID } from './documents.ts';
import type { IndexPosition, IndexState } from './index-state.ts';
import type { Put, RowUpdate } from './index-writer.ts';
import type { Pace } from './pace.ts';
import type { WriteLock } from './write-lock.ts';

/** Maximum number of updates passed to the writer at once. */
const MAX_WAITING = 64;
const MAX_REPAIRS = 1000;
/** Number of documents scanned in one slice to find those of removed rows. */
const SCANNED = 20_000;

export interface UpdatesParts {
  readonly state: IndexState;
  readonly documents: Documents;
  readonly pace: Pace;
  readonly lock: WriteLock;
  /** Calls `IndexWriter.put` while nothing else writes. */
  readonly put: (updates: readonly RowUpdate[]) => Promise<Put>;
  /** Called when the event log started over because chat.db was replaced. Returns the offset to continue from. */
  onReplaced(): Offset;
  /** Called at most once, with the error of a failed write. No updates are processed afterwards. */
  onFailure(error: unknown): void;
}

/**
 * Collects updates of the index from the event log, from searches and from the walk, and passes several of them at once
 * to the writer, which reads the messages and decodes them in the reader thread. Stores an offset of the event log only
 * after it has written all updates up to that offset. A crash therefore repeats updates, but loses none.
 */
export class Updates implements ConsumerTask<undefined> {
  readonly name = 'search';
  readonly #parts: UpdatesParts;
  readonly #waiting: RowUpdate[] = [];
  /** Ids of rows removed from chat.db. The next scan finds and removes their documents. */
  readonly #gone = new Set<number>();
  /** The running scan: the removed rows still to find, and the document id below which the scan continues. */
  #scan: { readonly rows: Set<number>; readonly before: number } | undefined;
  #position: IndexPosition;
  #seen: Cursor;
  #isJoined = false;
  #isClosed = false;
  #isRequested = false;
  #writing: Promise<void> | undefined;

  constructor(parts: UpdatesParts) {
    this.#parts = parts;
    this.#position = parts.state.position();
    this.#seen = parts.state.seen();
  }

  storedOffset(): Offset {
    if (this.#isJoined) return this.#parts.onReplaced();
    this.#isJoined = true;
    return this.#position;
  }

  async handle({ rowId, guid, event }: LogEntry): Promise<Handled<undefined>> {
    switch (event.type) {
      case 'message.received':
      case 'message.sent':
        this.#waiting.push({ row: rowId });
        if (rowId > this.#seen.offset.rowId) this.#seen = { ...this.#seen, offset: { rowId, change: 0 }, guid };
        break;
      case 'message.updated':
        this.#waiting.push({ row: rowId });
        break;
      case 'message.removed':
        this.#gone.add(rowId);
        break;
      case 'messages.changed':
        this.#parts.state.indexAgain(Number(event.data.first_id), Number(event.data.last_id));
        // Ends the wait of the walk, which must start over.
        this.#parts.pace.wake();
        break;
      default: // reactions are not indexed
    }
    if (this.#waiting.length >= MAX_WAITING) await this.#write();
    return { isDone: !this.#isClosed };
  }

  gone(): undefined {
    return undefined;
  }

  progress(offset: Offset): void {
    this.#position = { ...offset, generation: this.#position.generation };
    void this.#write();
  }

  /**
   * Re-indexes documents that a search or the walk found to be wrong. Drops documents beyond `MAX_REPAIRS`, because a
   * later search or walk will find them again.
   */
  repair(keys: readonly DocumentKey[]): void {
    for (const { id, row } of keys.slice(0, Math.max(0, MAX_REPAIRS - this.#waiting.length))) {
      this.#waiting.push({ row, document: id });
    }
    if (keys.length > 0) void this.#write();
  }

  /** Stops processing. Resolves once nothing is being written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isRequested = false;
    await this.#writing;
  }

  /**
   * Writes the waiting updates. Resolves once they are written, or once `onFailure` was called with an error. Never
   * rejects.
   */
  #write(): Promise<void> {
    this.#isRequested = true;
    this.#writing ??= this.#writeAll()
      .catch((error: unknown) => {
        this.#isClosed = true;
        this.#parts.onFailure(error);
      })
      .finally(() => {
        this.#writing = undefined;
        if (this.#isRequested && !this.#isClosed) void this.#write();
      });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { pace, lock } = this.#parts;
    while (!this.#isClosed && (this.#isRequested || this.#waiting.length > 0 || this.#hasGone)) {
      this.#isRequested = false;
      await pace.turn();
      if (this.#waiting.length > 0) await this.#writeSlice();
      await lock.run(() => this.#isClosed || this.#storeOffset());
      if (this.#isClosed) return;
      if (!this.#hasGone) continue;
      await pace.rest(() => lock.run(() => this.#isClosed || this.#scanSlice()));
      this.#isRequested = true; // makes the next iteration store the offset
    }
  }

  get #hasGone(): boolean {
    return this.#gone.size > 0 || this.#scan !== undefined;
  }

  async #writeSlice(): Promise<void> {
    const slice = this.#waiting.slice(0, MAX_WAITING);
    const { done, gone } = await this.#parts.put(slice);
    this.#waiting.splice(0, done);
    // The writer has removed the documents that it was told about. Those of other rows must be looked for.
    const removed = new Set(slice.filter(({ document }) => document !== undefined).map(({ row }) => row));
    for (const row of gone) if (!removed.has(row)) this.#gone.add(row);
  }

  /** Stores the offset up to which everything is written, unless something is waiting. */
  #storeOffset(): void {
    if (this.#waiting.length > 0 || this.#hasGone) return;
    this.#parts.state.see(this.#position, this.#seen);
  }

  /** Scans the next `SCANNED` documents, newest first, and removes those of removed rows. */
  #scanSlice(): void {
    const { documents } = this.#parts;
    const { rows, before } = this.#scan ?? { rows: new Set(this.#gone), before: LAST_ID };
    if (this.#scan === undefined) this.#gone.clear();
    const { found, end } = documents.ofRows([...rows], before, SCANNED);
    documents.removeAll(found);
    for (const { row } of found) rows.delete(row);
    this.#scan = end === undefined || rows.size === 0 ? undefined : { rows, before: end };
  }
}
