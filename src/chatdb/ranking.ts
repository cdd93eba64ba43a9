import type { Row } from '../runtime/sqlite.ts';
import { compareInstants, type Instant, LATEST } from './instants.ts';
import { type ListSource, take } from './pages.ts';
import { EVERYTHING } from './places.ts';
import { instantAt } from './rows.ts';
import { NOT_YET, type NotYet, type Turn } from './turns.ts';

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
/** What the date of one's newest join costs, in rows passed over. */
const HEAD = 2;
/** What looking one up costs, in rows passed over. */
const LOOK_UP = 20;

/** A floor above everything: only chats that were looked up anyway have been read. */
const NOTHING_READ: Ranked = { chatId: Number.POSITIVE_INFINITY, last: LATEST, isExact: false };

/**
 * Conversations by `last_message_at`, newest first (B9, B12). The index gives a bound for each; the exact date is
 * looked up only for those a page shows, and for chats whose dates bound nothing.
 */
export class Ranking {
  readonly #source: ListSource;
  /** How many heads are to be read, and whether they are. */
  #extent: number | undefined;
  #isRead = false;
  /** Of all heads, those up to this row id have been read. */
  #readUpTo = Number.MIN_SAFE_INTEGER;
  #ranked: Ranked[] = [];
  /** Chats whose bound says nothing, still to be looked up; undefined before they are known. */
  #odd: number[] | undefined;
  /** The first so many have their final place. */
  #settled = 0;
  /** What is not in `#ranked` comes behind this; undefined when everything is in it. */
  #floor: Ranked | undefined;

  constructor(source: ListSource) {
    this.#source = source;
  }

  page(limit: number, offset: number, turn: Turn): readonly Ranked[] | NotYet {
    const wanted = offset + limit;
    this.#extent ??= wanted > WINDOW || this.#source.database.chatQueries.areHeadsExact ? ALL : WINDOW;
    while (this.#readHeads(turn) && this.#findOdd(turn) && this.#rankOdd(turn) && this.#settle(wanted, turn)) {
      if (this.#floor === undefined || this.#isCertain(wanted, this.#floor)) return this.#ranked.slice(offset, wanted);
      this.#extent = ALL;
      this.#isRead = false;
    }
    return NOT_YET;
  }

  /** Exact `last_message_at` of one chat; undefined when nothing in it counts. */
  last(chatId: number): Instant | undefined {
    const list = { source: this.#source, chatId, order: 'desc' } as const;
    const sql = this.#source.database.chatQueries.last;
    return take(list, { sql, dateAt: 1, purpose: 'counts' }, EVERYTHING, 1)[0]?.instant;
  }

  /** Newest first. */
  compare(a: number, b: number): number {
    return compareRanked(this.#exact(a), this.#exact(b));
  }

  // Each of these steps is false when the turn was over first.

  #readHeads(turn: Turn): boolean {
    if (this.#isRead) return true;
    const { areHeadsExact } = this.#source.database.chatQueries;
    const isAll = this.#extent === ALL && !areHeadsExact;
    if (!(isAll ? this.#readAllHeads(turn) : this.#readNewestHeads(turn))) return false;
    this.#odd = areHeadsExact ? [] : undefined;
    if (areHeadsExact) this.#ranked.sort(compareRanked);
    this.#settled = 0;
    this.#isRead = true;
    return true;
  }

  #readNewestHeads(turn: Turn): boolean {
    if (turn.isOver) return false;
    const { database } = this.#source;
    const limit = this.#extent ?? ALL;
    const rows = database.all(database.chatQueries.heads, limit);
    this.#ranked = rows.map((row) => this.#head(row));
    // Every chat was looked at, however few were wanted.
    turn.spend(turn.rowsLeft);
    this.#floor = rows.length === limit ? (this.#ranked.at(-1) ?? NOTHING_READ) : undefined;
    return true;
  }

  #readAllHeads(turn: Turn): boolean {
    const { database } = this.#source;
    if (this.#readUpTo === Number.MIN_SAFE_INTEGER) this.#ranked = [];
    for (;;) {
      if (turn.isOver) return false;
      const limit = Math.ceil(turn.rowsLeft / HEAD);
      const rows = database.all(database.chatQueries.headsAfter, this.#readUpTo, limit);
      for (const row of rows) this.#ranked.push(this.#head(row));
      turn.spend(Math.max(1, rows.length * HEAD));
      this.#readUpTo = this.#ranked.at(-1)?.chatId ?? this.#readUpTo;
      if (rows.length < limit) break;
    }
    this.#floor = undefined;
    return true;
  }

  #head(row: Row): Ranked {
    const isExact = this.#source.database.chatQueries.areHeadsExact || row[4] === 0;
    return { chatId: row[0] as number, last: row[4] === 0 ? undefined : instantAt(row, 1), isExact };
  }

  #findOdd(turn: Turn): boolean {
    if (this.#odd !== undefined) return true;
    if (turn.isOver) return false;
    const { database } = this.#source;
    const odd = database.all(database.chatQueries.oddChats).map(([chatId]) => chatId as number);
    // Again every chat was looked at.
    turn.spend(turn.rowsLeft);
    if (odd.length > 0) {
      const isOdd = new Set(odd);
      this.#ranked = this.#ranked.filter(({ chatId }) => !isOdd.has(chatId));
      if (this.#floor !== undefined) this.#floor = this.#ranked.at(-1) ?? NOTHING_READ;
    }
    this.#ranked.sort(compareRanked);
    this.#odd = odd;
    return true;
  }

  #rankOdd(turn: Turn): boolean {
    const odd = this.#odd ?? [];
    if (odd.length === 0) return true;
    for (let chatId = odd.at(-1); chatId !== undefined; chatId = odd.at(-1)) {
      if (turn.isOver || !this.#source.undated(chatId).read(turn)) return false;
      turn.spend(LOOK_UP);
      this.#ranked.push(this.#exact(chatId));
      odd.pop();
    }
    this.#ranked.sort(compareRanked);
    return true;
  }

  #isCertain(wanted: number, floor: Ranked): boolean {
    const last = this.#ranked[wanted - 1];
    return last !== undefined && compareRanked(last, floor) <= 0;
  }

  #settle(wanted: number, turn: Turn): boolean {
    const until = Math.min(wanted, this.#ranked.length);
    while (this.#settled < until) {
      if (turn.isOver) return false;
      this.#settleNext(turn);
    }
    return true;
  }

  /** An exact date is never newer than its bound: the chat stays first, or moves back to where it belongs. */
  #settleNext(turn: Turn): void {
    const next = this.#ranked[this.#settled];
    if (next === undefined || next.isExact) {
      this.#settled += 1;
      return;
    }
    turn.spend(LOOK_UP);
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
