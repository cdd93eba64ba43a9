import { compareInstants, type Instant, LATEST } from './instants.ts';
import { EVERYTHING, type ListSource, take } from './pages.ts';
import { instantAt } from './rows.ts';

/** A conversation's place among the others. */
export interface Ranked {
  readonly chatId: number;
  /** undefined for a conversation without messages. */
  readonly last: Instant | undefined;
  /** False while `last` only bounds the truth from above. */
  readonly isExact: boolean;
}

/** As many conversations as are read at first; those who ask for more get all. */
const WINDOW = 250;
const ALL = -1;

/** A floor above everything: only chats that were looked up anyway have been read. */
const NOTHING_READ: Ranked = { chatId: Number.POSITIVE_INFINITY, last: LATEST, isExact: false };

/**
 * Conversations by `last_message_at`, newest first (B9, B12). The index gives a bound for each; the exact date is
 * looked up only for those a page shows, and for chats whose dates bound nothing.
 */
export class Ranking {
  readonly #source: ListSource;
  #ranked: Ranked[] = [];
  /** The first so many have their final place. */
  #settled = 0;
  /** What is not in `#ranked` comes behind this; undefined when everything is in it. */
  #floor: Ranked | undefined;
  #isRead = false;

  constructor(source: ListSource) {
    this.#source = source;
  }

  page(limit: number, offset: number): readonly Ranked[] {
    const wanted = offset + limit;
    if (!this.#isRead) this.#read(this.#source.database.chatQueries.areHeadsExact ? ALL : WINDOW);
    this.#settle(wanted);
    if (this.#floor !== undefined && !this.#isCertain(wanted, this.#floor)) {
      this.#read(ALL);
      this.#settle(wanted);
    }
    return this.#ranked.slice(offset, wanted);
  }

  /** Exact `last_message_at` of one chat; undefined when nothing in it counts. */
  last(chatId: number): Instant | undefined {
    const list = { source: this.#source, chatId, order: 'desc' } as const;
    return take(list, this.#source.database.chatQueries.last, 1, EVERYTHING, 1)[0]?.instant;
  }

  /** Newest first. */
  compare(a: number, b: number): number {
    return compareRanked(this.#exact(a), this.#exact(b));
  }

  #read(limit: number): void {
    const { database } = this.#source;
    const { heads, oddChats, areHeadsExact } = database.chatQueries;
    const rows = database.all(heads, limit);
    const odd = new Set(areHeadsExact ? [] : database.all(oddChats).map(([chatId]) => chatId as number));
    const bounded = rows
      .map(
        (row): Ranked => ({
          chatId: row[0] as number,
          last: row[4] === 0 ? undefined : instantAt(row, 1),
          isExact: areHeadsExact || row[4] === 0,
        }),
      )
      .filter(({ chatId }) => !odd.has(chatId));
    this.#ranked = [...bounded, ...[...odd].map((chatId) => this.#exact(chatId))].sort(compareRanked);
    this.#floor = rows.length === limit ? (bounded.at(-1) ?? NOTHING_READ) : undefined;
    this.#settled = 0;
    this.#isRead = true;
  }

  #isCertain(wanted: number, floor: Ranked): boolean {
    const last = this.#ranked[wanted - 1];
    return last !== undefined && compareRanked(last, floor) <= 0;
  }

  #settle(wanted: number): void {
    const until = Math.min(wanted, this.#ranked.length);
    while (this.#settled < until) this.#settleNext();
  }

  /** An exact date is never newer than its bound: the chat stays first, or moves back to where it belongs. */
  #settleNext(): void {
    const next = this.#ranked[this.#settled];
    if (next === undefined || next.isExact) {
      this.#settled += 1;
      return;
    }
    const exact = this.#exact(next.chatId);
    let at = this.#settled;
    for (let behind = this.#ranked[at + 1]; behind !== undefined; behind = this.#ranked[at + 1]) {
      if (compareRanked(exact, behind) <= 0) break;
      this.#ranked[at] = behind;
      at += 1;
    }
    this.#ranked[at] = exact;
  }

  #exact(chatId: number): Ranked {
    return { chatId, last: this.last(chatId), isExact: true };
  }
}

function compareRanked(a: Ranked, b: Ranked): number {
  if (a.last === undefined || b.last === undefined) {
    return Number(a.last === undefined) - Number(b.last === undefined) || b.chatId - a.chatId;
  }
  return compareInstants(b.last, a.last) || b.chatId - a.chatId;
}
