import type { Edition } from './edition.ts';
import { compareInstants, type Instant } from './instants.ts';
import { EVERYTHING, take } from './pages.ts';
import { instantAt } from './rows.ts';

/** A conversation's place among the others. */
export interface Ranked {
  readonly chatId: number;
  /** undefined for a conversation without messages. */
  readonly last: Instant | undefined;
  /** False while `last` only bounds the truth from above. */
  readonly isExact: boolean;
}

const IS_BOUND = 1;
const IS_EXACT = 2;

/**
 * Conversations by `last_message_at`, newest first (B9, B12). One pass over the index gives a bound for each;
 * the exact date is looked up only for those a page shows, and for chats whose dates the index cannot bound.
 */
export class Ranking {
  readonly #edition: Edition;
  #ranked: Ranked[] | undefined;
  /** The first so many have their final place. */
  #settled = 0;

  constructor(edition: Edition) {
    this.#edition = edition;
  }

  page(limit: number, offset: number): readonly Ranked[] {
    this.#ranked ??= this.#readHeads();
    const ranked = this.#ranked;
    const wanted = Math.min(offset + limit, ranked.length);
    while (this.#settled < wanted) this.#settleNext(ranked);
    return ranked.slice(offset, wanted);
  }

  /** Exact `last_message_at` of one chat; undefined when nothing in it counts. */
  last(chatId: number): Instant | undefined {
    const list = { edition: this.#edition, chatId, order: 'desc' } as const;
    return take(list, this.#edition.database.chatQueries.last, 1, EVERYTHING, 1)[0]?.instant;
  }

  /** Newest first. */
  compare(a: number, b: number): number {
    return compareRanked(this.#exact(a), this.#exact(b));
  }

  #readHeads(): Ranked[] {
    const { database } = this.#edition;
    return database
      .all(database.chatQueries.heads)
      .map((row): Ranked => {
        const chatId = row[0] as number;
        if (row[4] !== IS_BOUND && row[4] !== IS_EXACT) return this.#exact(chatId);
        return { chatId, last: instantAt(row, 1), isExact: row[4] === IS_EXACT };
      })
      .sort(compareRanked);
  }

  /** An exact date is never newer than its bound: the chat stays first, or moves back to where it belongs. */
  #settleNext(ranked: Ranked[]): void {
    const next = ranked[this.#settled];
    if (next === undefined || next.isExact) {
      this.#settled += 1;
      return;
    }
    const exact = this.#exact(next.chatId);
    let at = this.#settled;
    for (let behind = ranked[at + 1]; behind !== undefined; behind = ranked[at + 1]) {
      if (compareRanked(exact, behind) <= 0) break;
      ranked[at] = behind;
      at += 1;
    }
    ranked[at] = exact;
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
