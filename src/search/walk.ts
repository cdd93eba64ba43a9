import type { Clock } from '../domain/ports/host.ts';
import type { IndexSource, ListedRow } from '../domain/ports/search.ts';
import { withSmallNewSpace } from '../runtime/memory.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import type { About } from './about.ts';
import { Documents, LAST_ID, type Place } from './documents.ts';
import type { Pace } from './pace.ts';

/** Rows that are listed at once, and how many of these lists make a block. */
const LISTED = 500;
const LISTS = 4;
/** What is added in one transaction: it takes some 4 ms. A message of the usual length has 100 bytes. */
const ADDED = 150;
const ADDED_BYTES = 65_536;
/** What is looked at for it. */
const LOOKED_AT = 1000;
/** The text of a row with more than this is nobody's message; it is left out. */
const MAX_BYTES = 4_194_304;
const DAY_MS = 86_400_000;
const SOON_MS = 60_000;

export interface WalkParts {
  readonly sqlite: Sqlite;
  readonly about: About;
  readonly documents: Documents;
  readonly source: IndexSource;
  readonly pace: Pace;
  readonly clock: Clock;
  /** What is in the index and not in chat.db, or not there. */
  repair(places: readonly Place[]): void;
}

/**
 * Goes from the newest message to the oldest and indexes what the index lacks: this makes the index, and once a day
 * compares it with chat.db. Blocks come newest first, and within a block the oldest is added first, which fills
 * SQLite's pages. How far it came is stored with each block; what a crash left of one is passed over the next time.
 */
export class Walk {
  readonly #parts: WalkParts;

  constructor(parts: WalkParts) {
    this.#parts = parts;
  }

  /** Until the pace is stopped. Rejects with whatever went wrong. */
  async run(): Promise<void> {
    const { about, clock, pace } = this.#parts;
    while (!pace.isStopped) {
      const { next, isComplete, checkedAtMs } = about.progress();
      // A clock that was set back does not put it off.
      const ageMs = Math.abs(clock.now() - checkedAtMs);
      if (next === null && isComplete && ageMs < DAY_MS) await pace.sleep(Math.max(SOON_MS, DAY_MS - ageMs));
      else await withSmallNewSpace(() => this.#block(next));
    }
  }

  async #block(from: string | null): Promise<void> {
    const { about, sqlite, pace, clock } = this.#parts;
    const { rows, next } = await this.#list(from);
    const { reached, again } = about.progress();
    const oldestFirst = rows.toReversed();
    for (let at = 0; at < oldestFirst.length && !pace.isStopped; ) {
      await pace.rest(() => {
        at = this.#slice(oldestFirst, at, again);
      });
    }
    const oldest = rows.at(-1)?.second ?? 0;
    await this.#compare(rows, from === null, next === undefined);
    const now = about.progress();
    // Meanwhile it may have been told to begin again.
    const isToldAgain = now.next !== from || now.again?.first !== again?.first || now.again?.last !== again?.last;
    if (pace.isStopped || isToldAgain) return;
    sqlite.transaction(() => {
      if (next === undefined) about.walkedAll(clock.now());
      else about.walked(next, Math.min(oldest, reached ?? oldest));
    });
    if (next === undefined) await this.#purge();
  }

  async #list(
    from: string | null,
  ): Promise<{ readonly rows: readonly ListedRow[]; readonly next: string | undefined }> {
    const { source, pace } = this.#parts;
    const rows: ListedRow[] = [];
    let next = from ?? undefined;
    for (let list = 0; list < LISTS; list += 1) {
      const found = await pace.rest(() => source.listed(next, LISTED));
      rows.push(...found.rows);
      next = found.next;
      if (next === undefined) break;
    }
    return { rows, next };
  }

  /** Adds some of the rows, and says where to go on. */
  #slice(
    rows: readonly ListedRow[],
    from: number,
    again: { readonly first: number; readonly last: number } | null,
  ): number {
    const { sqlite, documents, source } = this.#parts;
    const wanted: number[] = [];
    let bytes = 0;
    let at = from;
    const last = rows[Math.min(rows.length, from + LOOKED_AT) - 1];
    const isFree = documents.isFree(rows[from]?.second ?? 0, last?.second ?? 0);
    for (; at < rows.length && at < from + LOOKED_AT && wanted.length < ADDED && bytes < ADDED_BYTES; at += 1) {
      const row = rows[at];
      if (row === undefined || row.bytes > MAX_BYTES) continue;
      const isAgain = again !== null && row.rowId >= again.first && row.rowId <= again.last;
      if (!isFree && !isAgain && documents.has(row.rowId, row.second)) continue;
      wanted.push(row.rowId);
      bytes += row.bytes;
    }
    if (wanted.length === 0) return at;
    sqlite.transaction(() => {
      for (const message of source.messages(wanted)) if (message !== undefined) documents.put(message);
      documents.finish();
    });
    return at;
  }

  /** What the index has in the time of these rows, beside the rows. */
  async #compare(rows: readonly ListedRow[], isNewest: boolean, isOldest: boolean): Promise<void> {
    const { documents, source, pace } = this.#parts;
    const known = new Set(rows.map(({ rowId }) => rowId));
    const before = isNewest ? LAST_ID : Math.max(0, rows[0]?.second ?? 0) + 1;
    for (let from = isOldest ? 0 : Math.max(0, rows.at(-1)?.second ?? 0); from < before && !pace.isStopped; ) {
      const places = documents.between(from, before, LISTED);
      const others = places.filter(({ row }) => !known.has(row));
      const messages = source.messages(others.map(({ row }) => row));
      this.#parts.repair(
        others.filter(({ id, row }, index) => {
          const message = messages[index];
          return message === undefined || !Documents.isPlaceOf(id, row, message);
        }),
      );
      if (places.length < LISTED) return;
      from = (places.at(-1)?.id ?? before) + 1;
      await pace.sleep(1);
    }
  }

  /** Takes the words of removed documents out of the file. */
  async #purge(): Promise<void> {
    const { about, documents, pace, sqlite } = this.#parts;
    if (about.progress().removed === 0) return;
    for (let isFirst = true, isMore = true; isMore && !pace.isStopped; isFirst = false) {
      isMore = await pace.rest(() => sqlite.transaction(() => documents.mergeAll(isFirst)));
    }
    if (!pace.isStopped) about.merged();
  }
}
