import { errorCode } from '../model/errors.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { Content, OwnRow, SendRequest } from '../model/ports/sending-ports.ts';
import type { ExpectedChat, SentPartStore } from '../model/ports/sent-parts-ports.ts';
import type { ServiceReason } from '../model/send-service.ts';
import { contentHash, fits } from './content-hash.ts';
import { PairedParts } from './paired-parts.ts';
import {
  type Claim,
  claimsOn,
  contentsOfRow,
  type Expectation,
  earliestDateMs,
  hasExpired,
  isExpectedIn,
  isRecent,
  isRowOf,
  joinedByLinks,
  mayFitRow,
  type Now,
  nowOf,
  personIn,
  type Waiting,
} from './row-owners.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/** Longest pause between two looks while a send waits for its row. One look costs about 30 microseconds. */
const LOOK_EVERY_MS = 25;
/**
 * Longest time for which a row waits for that of an earlier equal part (decision D5). At most half of
 * `send.confirm_ms`, if sends wait at all.
 */
const ORDER_MS = 250;
/**
 * Intervals at which late rows are looked for: `watched` shortly after a part has its row, `recent` while a send
 * without a row is recent, then `old`.
 */
const FOLLOW_EVERY_MS = { watched: 250, recent: 1000, old: 10_000 };

export interface ConfirmParts {
  readonly lookup: TolerantLookup;
  readonly store: SentPartStore;
  readonly clock: Clock;
  readonly log: Log;
  /** `send.confirm_ms`. */
  readonly confirmMs: number;
  /** Registers `look`, which is called when chat.db may have changed. If absent, only the intervals find rows. */
  readonly onChange?: (look: () => void) => Cancel;
}

/** Finds each sent part's row in chat.db (decision D5) for up to 10 minutes, and records the pair (decision I5). */
export class Confirmations {
  /** Parts without a row, in the order of their runs. */
  #expected: Waiting[] = [];
  #paired: PairedParts;
  readonly #parts: ConfirmParts;
  #hasGaps = false;
  #cancelFollowing: Cancel | undefined;
  #isClosed = false;

  constructor(parts: ConfirmParts) {
    this.#parts = parts;
    this.#paired = new PairedParts(parts.clock);
  }

  /** True if some part could not be recorded. */
  get hasGaps(): boolean {
    return this.#hasGaps;
  }

  /** Resumes looking for the rows of parts that an earlier process sent. */
  start(): void {
    const { store, clock } = this.#parts;
    for (const { number, afterRowId, chat, content, atMs } of store.open()) {
      const notedAtMs = clock.monotonic() - Math.max(clock.now() - atMs, 0);
      this.#expected.push({ number, afterRowId, chat, content, notedAtMs, atMs, endedAtMs: notedAtMs });
    }
    this.look();
    this.#follow();
  }

  /** Forgets all parts and their rows. Call this when chat.db was replaced, whose row ids mean other rows. */
  restart(): void {
    this.#expected = [];
    this.#paired = new PairedParts(this.#parts.clock);
    this.#cancelFollowing?.();
    this.#cancelFollowing = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelFollowing?.();
  }

  /** Records a part before it can be sent. Call this right before Messages is asked to send it. */
  expect(chat: ExpectedChat, content: Content, request: SendRequest, serviceReason?: ServiceReason): Expectation {
    const { requestId, keyId, recordedAs: idempotencyKey = request.idempotencyKey } = request;
    const { lookup, clock } = this.#parts;
    const afterRowId = lookup.highestRowId();
    const hash = contentHash(content);
    const atMs = clock.now();
    const number = this.#stored((store) =>
      store.record({ atMs, requestId, idempotencyKey, keyId, afterRowId, chat, content: hash, serviceReason }),
    );
    const person = personIn(request.recipient);
    const expectation = { number, chat, person, content: hash, notedAtMs: clock.monotonic(), atMs };
    if (afterRowId === undefined) return { ...expectation, afterRowId };
    const waiting = { ...expectation, afterRowId };
    this.#expected.push(waiting);
    this.#follow();
    return waiting;
  }

  /** Changes the chats in which the part's row may appear. */
  expectIn(expectation: Expectation, chat: ExpectedChat): void {
    if (expectation.chat === chat) return;
    (expectation as Waiting).chat = chat;
    const { number } = expectation;
    if (number !== undefined) this.#stored((store) => store.setChat(number, chat));
  }

  /** Forgets a part that was certainly not sent. */
  drop(expectation: Expectation): void {
    this.#remove(expectation);
    const { number } = expectation;
    if (number !== undefined) this.#stored((store) => store.remove(number));
  }

  /** Records that the part's last run has ended. */
  end(expectation: Expectation): void {
    (expectation as Waiting).endedAtMs = this.#parts.clock.monotonic();
  }

  /** Stops waiting for the row of a part that may have been sent. The origin of a row like it stays uncertain. */
  giveUp(expectation: Expectation): void {
    this.#remove(expectation);
    const { number } = expectation;
    const highestRowId = this.#parts.lookup.highestRowId();
    if (number === undefined || highestRowId === undefined) return;
    this.#stored((store) => store.giveUp(number, highestRowId));
  }

  /**
   * Waits until every earlier part with this content has its row, or `send.confirm_ms` have passed since its run. A row
   * that appears after the next run has begun is then the next run's.
   */
  async untilEarlierRows(content: Content, signal: AbortSignal): Promise<void> {
    const { clock, confirmMs } = this.#parts;
    const hash = contentHash(content);
    const mayCome = ({ content: other, endedAtMs = 0 }: Waiting): boolean =>
      fits(other, hash.split(' ')) && endedAtMs + confirmMs > clock.monotonic();
    const areFound = (): boolean => {
      this.look();
      return !this.#expected.some(mayCome);
    };
    if (this.#expected.some(mayCome)) await this.until(areFound, signal);
  }

  /** Looks for rows once. Returns the row id of the part's row if found. */
  find(expectation: Expectation): number | undefined {
    if (expectation.rowId === undefined) this.look();
    return expectation.rowId;
  }

  /** Reports whether a row like this part's exists already, although Messages may not have added its chat yet. */
  isWritten(expectation: Expectation): boolean {
    const { afterRowId, content, chat } = expectation;
    if (afterRowId === undefined) return false;
    const sinceMs = earliestDateMs(expectation, nowOf(this.#parts.clock));
    return this.#unclaimed(afterRowId, sinceMs).some(
      (row) => (row.address === null || isExpectedIn(chat, row.address)) && fits(content, contentsOfRow(row)),
    );
  }

  /**
   * Reports whether this row, which is not marked as outgoing yet, may belong to a part. Parts that found their row a
   * moment ago count too, because the second of two rows with equal texts may be marked first.
   */
  isAwaited(rowId: number, contents: () => readonly string[]): boolean {
    return mayFitRow([...this.#expected, ...this.#paired.watched()], rowId, contents);
  }

  /** Reports whether this row may belong to a part whose row has not been found. If so, looks for rows once. */
  findOwner(rowId: number, contents: () => readonly string[]): boolean {
    const isWanted = mayFitRow(this.#expected, rowId, contents);
    if (isWanted) this.look();
    return isWanted;
  }

  /** Waits until the part's row exists and has its chat, the signal aborts, or `send.confirm_ms` have passed. */
  async wait(expectation: Expectation, signal: AbortSignal): Promise<void> {
    if (expectation.afterRowId !== undefined) await this.until(() => this.#isComplete(expectation), signal);
  }

  /** Looks for rows until `isSo` returns true, the signal aborts, or `limitMs` (`send.confirm_ms`) have passed. */
  async until(isSo: () => boolean, signal: AbortSignal, limitMs = this.#parts.confirmMs): Promise<void> {
    const { clock } = this.#parts;
    const end = clock.monotonic() + limitMs;
    while (!isSo()) {
      const leftMs = end - clock.monotonic();
      if (leftMs <= 0 || signal.aborted) return;
      await this.#pause(Math.min(leftMs, LOOK_EVERY_MS), signal);
    }
  }

  /** Reports whether the part's row exists and has its chat, which Messages adds a moment after the row. */
  #isComplete(expectation: Expectation): boolean {
    const rowId = this.find(expectation);
    if (rowId === undefined) return false;
    return this.#parts.lookup.message(rowId)?.conversation_id !== '';
  }

  /** Looks for rows once, and pairs each with the part whose run wrote it. */
  look(): void {
    const parts = [...this.#expected, ...this.#paired.watched()];
    if (parts.length === 0) return;
    const now = nowOf(this.#parts.clock);
    const sinceMs = Math.min(...parts.map((one) => earliestDateMs(one, now)));
    const rows = this.#unclaimed(Math.min(...parts.map((one) => one.afterRowId)), sinceMs);
    for (const row of rows) this.#doubt(row, now);
    for (const claim of claimsOn(rows, this.#expected, now)) this.#pairClaim(claim, now);
    if (this.#parts.lookup.highestRowId() === undefined) return;
    for (const one of this.#expected.filter((old) => hasExpired(old, now))) this.giveUp(one);
  }

  /** Returns own rows above this row id, and not dated before `sinceMs`, that belong to no part yet, in order. */
  #unclaimed(rowId: number, sinceMs: number): readonly OwnRow[] {
    const isRecorded = (row: OwnRow): boolean => this.#stored((store) => store.ofRow(row.rowId)) !== undefined;
    return joinedByLinks(this.#parts.lookup.ownRowsAbove(rowId, sinceMs))
      .filter((row) => !this.#paired.isTaken(row.rowId) && !isRecorded(row))
      .toSorted((a, b) => a.rowId - b.rowId);
  }

  /**
   * Pairs rows with the parts that ran last. Earlier parts get rows only if there are enough for all. An earlier part
   * that a later one has overtaken will get no row.
   */
  #pairClaim({ newest, parts, rows }: Claim, now: Now): void {
    const rivals = parts.filter((one) => one === newest || isRecent(one, now));
    newest.contestedAtMs ??= now.monotonicMs;
    const { confirmMs } = this.#parts;
    const waitMs = confirmMs > 0 ? Math.min(ORDER_MS, confirmMs / 2) : ORDER_MS;
    if (rows.length < rivals.length && now.monotonicMs < newest.contestedAtMs + waitMs) return;
    for (const [place, part] of rivals.slice(-rows.length).entries()) {
      const row = rows[place];
      if (row !== undefined) this.#give(row, part);
    }
    for (const part of parts) if (part.rowId === undefined) this.giveUp(part);
  }

  /** Withdraws a pair if a second row appears that the part's run may have written as well. */
  #doubt(row: OwnRow, now: Now): void {
    const contents = contentsOfRow(row);
    if (this.#expected.some((one) => isRowOf(one, row, contents, now))) return;
    for (const { number } of this.#paired.takeDoubtful(row)) {
      if (number !== undefined) this.#stored((store) => store.doubt(number));
    }
  }

  #give(row: OwnRow, owner: Waiting): void {
    owner.rowId = row.rowId;
    this.#paired.add(owner, row.rowId);
    this.#remove(owner);
    const { number } = owner;
    if (number !== undefined) this.#stored((store) => store.pair(number, row.rowId, row.guid));
  }

  #remove(expectation: Expectation): void {
    this.#expected = this.#expected.filter((one) => one !== expectation);
    if (this.#expected.length > 0 || this.#paired.watched().length > 0) return;
    this.#cancelFollowing?.();
    this.#cancelFollowing = undefined;
  }

  /** Runs `work`. If state.db cannot be used, sending continues, and origins are no longer reported. */
  #stored<Result>(work: (store: SentPartStore) => Result): Result | undefined {
    try {
      return work(this.#parts.store);
    } catch (error) {
      this.#hasGaps = true;
      this.#parts.log.error('could not read or record a send', { code: errorCode(error) });
      return undefined;
    }
  }

  /** Looks for late rows at intervals, as long as the row of a part, or a second one, may still appear. */
  #follow(): void {
    const hasWatched = this.#paired.watched().length > 0;
    if (this.#isClosed || this.#cancelFollowing !== undefined || (this.#expected.length === 0 && !hasWatched)) return;
    const now = nowOf(this.#parts.clock);
    const pace = this.#expected.some((one) => isRecent(one, now)) ? 'recent' : 'old';
    this.#cancelFollowing = this.#parts.clock.after(FOLLOW_EVERY_MS[hasWatched ? 'watched' : pace], () => {
      this.#cancelFollowing = undefined;
      this.look();
      this.#follow();
    });
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancels: Cancel[] = [];
      const wake = () => {
        for (const cancel of cancels) cancel();
        resolve();
      };
      cancels.push(this.#parts.clock.after(ms, wake), () => signal.removeEventListener('abort', wake));
      signal.addEventListener('abort', wake);
      const cancelChange = this.#parts.onChange?.(wake);
      if (cancelChange !== undefined) cancels.push(cancelChange);
    });
  }
}
