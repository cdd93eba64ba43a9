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
/** What looking one up costs, in rows passed over. */
const LOOK_UP = 10;

/** A floor above everything: only chats that were looked up anyway have been read. */
const NOTHING_READ: Ranked = { chatId: Number.POSITIVE_INFINITY, last: LATEST, isExact: false };

/**
 * Conversations by `last_message_at`, newest first (B9, B12). The index gives a bound for each; the exact date is
 * looked up only for those a page shows, and for chats whose dates bound nothing.
 */
export class Ranking {
  readonly #source: ListSource;
  #ranked: Ranked[] = [];
  /** Chats whose bound says nothing, still to be looked up. */
  #odd: number[] = [];
  /** The first so many have their final place. */
  #settled = 0;
  /** What is not in `#ranked` comes behind this; undefined when everything is in it. */
  #floor: Ranked | undefined;
  #read: 'nothing' | 'window' | 'all' = 'nothing';

  constructor(source: ListSource) {
    this.#source = source;
  }

  page(limit: number, offset: number, turn: Turn): readonly Ranked[] | NotYet {
    const wanted = offset + limit;
    const { areHeadsExact } = this.#source.database.chatQueries;
    if (this.#read === 'nothing') this.#readHeads(areHeadsExact || wanted > WINDOW ? 'all' : 'window');
    if (!this.#rankOdd(turn) || !this.#settle(wanted, turn)) return NOT_YET;
    if (this.#floor === undefined || this.#isCertain(wanted, this.#floor)) return this.#ranked.slice(offset, wanted);
    this.#readHeads('all');
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

  #readHeads(part: 'window' | 'all'): void {
    const { database } = this.#source;
    const { heads, oddChats, areHeadsExact } = database.chatQueries;
    const limit = part === 'all' ? ALL : WINDOW;
    const rows = database.all(heads, limit);
    this.#odd = areHeadsExact ? [] : database.all(oddChats).map(([chatId]) => chatId as number);
    const odd = new Set(this.#odd);
    this.#ranked = rows
      .map(
        (row): Ranked => ({
          chatId: row[0] as number,
          last: row[4] === 0 ? undefined : instantAt(row, 1),
          isExact: areHeadsExact || row[4] === 0,
        }),
      )
      .filter(({ chatId }) => !odd.has(chatId));
    this.#floor = rows.length === limit ? (this.#ranked.at(-1) ?? NOTHING_READ) : undefined;
    if (this.#odd.length === 0) this.#ranked.sort(compareRanked);
    this.#settled = 0;
    this.#read = part;
  }

  /** False when the turn was over first. */
  #rankOdd(turn: Turn): boolean {
    for (let chatId = this.#odd.at(-1); chatId !== undefined; chatId = this.#odd.at(-1)) {
      if (turn.isOver || !this.#source.undated(chatId).read(turn)) return false;
      turn.spend(LOOK_UP);
      this.#ranked.push(this.#exact(chatId));
      this.#odd.pop();
      if (this.#odd.length === 0) this.#ranked.sort(compareRanked);
    }
    return true;
  }

  #isCertain(wanted: number, floor: Ranked): boolean {
    const last = this.#ranked[wanted - 1];
    return last !== undefined && compareRanked(last, floor) <= 0;
  }

  /** False when the turn was over first. */
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
