import type { Cursor } from '../../domain/cursor.ts';
import type { LogEntry } from '../../domain/event.ts';
import type { Message } from '../../domain/message.ts';
import type { Offset } from '../../domain/offset.ts';
import type { ConsumerTask, Handled } from '../../domain/ports/feed-ports.ts';
import type { IndexSource } from '../../domain/ports/search-ports.ts';
import type { Sqlite } from '../../runtime/sqlite.ts';
import { isLong, LONG, unitsOf } from './document.ts';
import { type DocumentKey, type Documents, LAST_ID } from './documents.ts';
import type { IndexPosition, IndexState } from './index-state.ts';
import type { Pace } from './pace.ts';
import type { WriteLock } from './write-lock.ts';

/** Maximum number of updates in one transaction. A transaction with `LONG` units of text takes no further updates. */
const MAX_WAITING = 64;
const MAX_REPAIRS = 1000;
/** Number of documents scanned in one slice to find those of removed rows. */
const SCANNED = 20_000;

export interface UpdatesParts {
  readonly sqlite: Sqlite;
  readonly state: IndexState;
  readonly documents: Documents;
  readonly source: Pick<IndexSource, 'messages'>;
  readonly pace: Pace;
  readonly lock: WriteLock;
  /** If a row's text is too long for this thread, calls `IndexWriter.put` while nothing else writes. */
  readonly putLong: (row: number) => Promise<boolean>;
  /** Called when the event log started over because chat.db was replaced. Returns the offset to continue from. */
  onReplaced(): Offset;
  /** Called when the walk must start over. */
  onAgain(): void;
  /** Called at most once, with the error of a failed write. No updates are processed afterwards. */
  onFailure(error: unknown): void;
}

type Update =
  | { readonly kind: 'put'; readonly message: Message }
  /** The row is read from chat.db when the update is written. */
  | { readonly kind: 'row'; readonly row: number }
  | { readonly kind: 'document'; readonly key: DocumentKey };

/**
 * Collects updates of the index from the event log, from searches and from the walk, and writes several of them in one
 * transaction. Stores an offset of the event log only after it has written all updates up to that offset. A crash
 * therefore repeats updates, but loses none.
 */
export class Updates implements ConsumerTask<undefined> {
  readonly name = 'search';
  readonly #parts: UpdatesParts;
  readonly #waiting: Update[] = [];
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
        this.#waiting.push({ kind: 'put', message: event.data });
        if (rowId > this.#seen.offset.rowId) this.#seen = { ...this.#seen, offset: { rowId, change: 0 }, guid };
        break;
      case 'message.updated':
        this.#waiting.push({ kind: 'row', row: rowId });
        break;
      case 'message.removed':
        this.#gone.add(rowId);
        break;
      case 'messages.changed':
        this.#parts.state.indexAgain(Number(event.data.first_id), Number(event.data.last_id));
        this.#parts.onAgain();
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
    for (const key of keys.slice(0, MAX_REPAIRS - this.#waiting.length)) {
      this.#waiting.push({ kind: 'document', key });
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
    const { pace, lock, putLong } = this.#parts;
    while (!this.#isClosed && (this.#isRequested || this.#waiting.length > 0 || this.#hasGone)) {
      this.#isRequested = false;
      await pace.turn();
      let long: number | undefined;
      await lock.run(() => {
        if (!this.#isClosed) long = this.#writeSlice();
      });
      if (this.#isClosed) return;
      if (long !== undefined) {
        if (!(await putLong(long))) this.#gone.add(long);
        this.#isRequested = true; // makes the next iteration store the offset
        continue;
      }
      if (!this.#hasGone) continue;
      await pace.rest(() => lock.run(() => this.#isClosed || this.#scanSlice()));
      this.#isRequested = true; // makes the next iteration store the offset
    }
  }

  get #hasGone(): boolean {
    return this.#gone.size > 0 || this.#scan !== undefined;
  }

  /** Writes waiting updates. Stops at a long message, and returns its row without writing it. */
  #writeSlice(): number | undefined {
    const { sqlite, state, documents } = this.#parts;
    let written = 0;
    let long: number | undefined;
    sqlite.transaction(() => {
      for (let units = 0; written < Math.min(this.#waiting.length, MAX_WAITING) && units < LONG; written += 1) {
        const message = this.#messageOf(this.#waiting[written]);
        if (message === undefined) continue;
        if (isLong(message)) {
          long = Number(message.id);
          written += 1;
          break;
        }
        documents.put(message);
        units += unitsOf(message);
      }
      documents.finish();
      if (written === this.#waiting.length && long === undefined && !this.#hasGone) {
        state.see(this.#position, this.#seen);
      }
    });
    this.#waiting.splice(0, written);
    return long;
  }

  /**
   * Returns the message to index; undefined if it is gone. For an update of kind `document`, first removes the wrong
   * document.
   */
  #messageOf(update: Update | undefined): Message | undefined {
    const { documents, source } = this.#parts;
    if (update === undefined) return undefined;
    // Reads the message again, because the event has only the body, and not the message's other texts.
    if (update.kind === 'put') return source.messages([Number(update.message.id)])[0] ?? update.message;
    if (update.kind === 'document') documents.remove(update.key.id, update.key.row);
    const row = update.kind === 'document' ? update.key.row : update.row;
    const [message] = source.messages([row]);
    if (message === undefined && update.kind === 'row') this.#gone.add(update.row);
    return message;
  }

  /** Scans the next `SCANNED` documents, newest first, and removes those of removed rows. */
  #scanSlice(): void {
    const { sqlite, documents } = this.#parts;
    const { rows, before } = this.#scan ?? { rows: new Set(this.#gone), before: LAST_ID };
    if (this.#scan === undefined) this.#gone.clear();
    const { found, end } = documents.ofRows([...rows], before, SCANNED);
    sqlite.transaction(() => {
      for (const { id, row } of found) documents.remove(id, row);
      documents.finish();
    });
    for (const { row } of found) rows.delete(row);
    this.#scan = end === undefined || rows.size === 0 ? undefined : { rows, before: end };
  }
}
