import { errorCode } from '../model/errors.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { Content, OwnRow, SendRequest } from '../model/ports/sending-ports.ts';
import type { ExpectedChat, SentPartStore } from '../model/ports/sent-parts-ports.ts';
import type { ServiceReason } from '../model/send-service.ts';
import { contentHash, contentHashes, fits, fitsWhole } from './content-hash.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/** Longest pause between two looks while a send waits for its row. One look costs about 30 microseconds. */
const LOOK_EVERY_MS = 25;
/**
 * If a row fits several sends, a send made within this time is preferred to older ones. Rows appear within seconds of a
 * run or not at all, and a run takes at most 30 s (decision D3).
 */
const FIRST_CLAIM_MS = 90_000;
/** A row belongs to a send only if the row is dated at most this long after the send (decision I5). */
const PAIRED_WITHIN_MS = 600_000;
/** A row may be dated up to this long before its send, because dates have whole seconds and clocks change. */
const TOLERANCE_MS = 60_000;
/** Intervals at which late rows are looked for: `recent` for `FIRST_CLAIM_MS` after the newest send, then `old`. */
const FOLLOW_EVERY_MS = { recent: 1000, old: 10_000 };
/** Longer than the time for which Messages leaves an outgoing row marked as incoming (decision U1). */
const UNMARKED_MS = 1000;
/** Maximum number of rows remembered as found: far more than can appear while a send waits for its row. */
const TAKEN_KEPT = 1000;

/** One part of a send, waiting for its row. */
export interface Expectation {
  /** Identifies the part's record in the store; undefined if the part could not be recorded. */
  readonly number: number | undefined;
  /** Highest row id before the run; undefined if chat.db was unavailable, in which case the row is not looked for. */
  readonly afterRowId: number | undefined;
  /** The chats in which the part's row may appear. An attempt may change this. */
  readonly chat: ExpectedChat;
  readonly content: string;
  /** When the part was recorded, on the monotonic clock. */
  readonly notedAtMs: number;
  /** When the part was recorded, on the wall clock. */
  readonly atMs: number;
  /** Row id of the part's row, once it is found. */
  readonly rowId?: number;
}

type Waiting = { -readonly [Member in keyof Expectation]: Expectation[Member] } & { readonly afterRowId: number };

export interface ConfirmOptions {
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
  /** Parts without a row, in order of arrival. If two have equal texts, the first row belongs to the first part. */
  #expected: Waiting[] = [];
  /** Parts whose row was found within the last `UNMARKED_MS`. */
  #justGiven: (Pick<Waiting, 'afterRowId' | 'content'> & { readonly givenAtMs: number })[] = [];
  readonly #taken = new Set<number>();
  readonly #options: ConfirmOptions;
  #hasGaps = false;
  #cancelFollowing: Cancel | undefined;
  #isClosed = false;

  constructor(options: ConfirmOptions) {
    this.#options = options;
  }

  /** True if some part could not be recorded. */
  get hasGaps(): boolean {
    return this.#hasGaps;
  }

  /** Resumes looking for the rows of parts that an earlier process sent. */
  start(): void {
    const { store, clock } = this.#options;
    for (const { number, afterRowId, chat, content, atMs } of store.open()) {
      const notedAtMs = clock.monotonic() - Math.max(clock.now() - atMs, 0);
      this.#expected.push({ number, afterRowId, chat, content, notedAtMs, atMs });
    }
    this.#look();
    this.#follow();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelFollowing?.();
  }

  /** Records a part before it can be sent. Call this right before Messages is asked to send it. */
  expect(chat: ExpectedChat, content: Content, request: SendRequest, serviceReason?: ServiceReason): Expectation {
    const { requestId, keyId, recordedAs: idempotencyKey = request.idempotencyKey } = request;
    const { lookup, clock } = this.#options;
    const afterRowId = lookup.highestRowId();
    const hash = contentHash(content);
    const atMs = clock.now();
    const number = this.#stored((store) =>
      store.record({ atMs, requestId, idempotencyKey, keyId, afterRowId, chat, content: hash, serviceReason }),
    );
    const expectation = { number, chat, content: hash, notedAtMs: clock.monotonic(), atMs };
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

  /** Looks for rows once. Returns the row id of the part's row if found. Earlier parts take matching rows first. */
  find(expectation: Expectation): number | undefined {
    if (expectation.rowId === undefined && expectation.afterRowId !== undefined) this.#look(expectation as Waiting);
    return expectation.rowId;
  }

  /**
   * Reports whether this row, which is not marked as outgoing yet, may belong to a part. Parts that found their row a
   * moment ago count too, because the second of two rows with equal texts may be marked first.
   */
  isAwaited(rowId: number, contents: () => readonly string[]): boolean {
    const sinceMs = this.#options.clock.monotonic() - UNMARKED_MS;
    const recent = this.#justGiven.filter(({ givenAtMs }) => givenAtMs >= sinceMs);
    return hasContent([...this.#expected, ...recent], rowId, contents);
  }

  /** Reports whether this row may belong to a part whose row has not been found. If so, looks for rows once. */
  findOwner(rowId: number, contents: () => readonly string[]): boolean {
    const isWanted = hasContent(this.#expected, rowId, contents);
    if (isWanted) this.#look();
    return isWanted;
  }

  /** Waits until the part's row exists and has its chat, the signal aborts, or `send.confirm_ms` have passed. */
  async wait(expectation: Expectation, signal: AbortSignal): Promise<void> {
    if (expectation.afterRowId !== undefined) await this.until(() => this.#isComplete(expectation), signal);
  }

  /** Looks for rows until `isSo` returns true, the signal aborts, or `send.confirm_ms` have passed. */
  async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    const { clock, confirmMs } = this.#options;
    const end = clock.monotonic() + confirmMs;
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
    const row = this.#options.lookup.ownRowsAbove(rowId - 1).find((own) => own.rowId === rowId);
    return row === undefined || row.address !== null;
  }

  #look(also?: Waiting): void {
    const { lookup, clock, store } = this.#options;
    const nowMs = clock.monotonic();
    const all = also === undefined || this.#expected.includes(also) ? this.#expected : [...this.#expected, also];
    if (all.length === 0) return;
    const isRecent = (one: Waiting): boolean => one.notedAtMs >= nowMs - FIRST_CLAIM_MS;
    const waiting = [...all.filter(isRecent), ...all.filter((one) => !isRecent(one))];
    const highestRowId = lookup.highestRowId();
    if (highestRowId === undefined) return;
    const lowest = Math.min(...waiting.map((one) => one.afterRowId));
    for (const row of joinedByLinks(lookup.ownRowsAbove(lowest)).toSorted((a, b) => a.rowId - b.rowId)) {
      if (this.#taken.has(row.rowId) || store.ofRow(row.rowId) !== undefined) continue;
      const contents = contentHashes(row.body, row.attachmentNames);
      const mayOwn = waiting.filter(
        (one) =>
          one.rowId === undefined &&
          isRowOf(one, row, contents) &&
          (one === also || isRecent(one) || isDatedLike(one, row)),
      );
      // A match of the whole text is stronger than a match of the text beside a link.
      const owner = mayOwn.find((one) => fitsWhole(one.content, contents)) ?? mayOwn[0];
      if (owner !== undefined) this.#give(row, owner);
    }
    for (const one of this.#expected.filter((old) => old.notedAtMs < nowMs - PAIRED_WITHIN_MS)) {
      this.#remove(one);
      const { number } = one;
      if (number !== undefined) this.#stored(() => store.giveUp(number, highestRowId));
    }
  }

  #give(row: OwnRow, owner: Waiting): void {
    owner.rowId = row.rowId;
    const { afterRowId, content } = owner;
    const nowMs = this.#options.clock.monotonic();
    this.#justGiven = this.#justGiven.filter(({ givenAtMs }) => givenAtMs >= nowMs - UNMARKED_MS);
    this.#justGiven.push({ afterRowId, content, givenAtMs: nowMs });
    this.#remove(owner);
    this.#taken.add(row.rowId);
    for (const oldest of this.#taken) {
      if (this.#taken.size <= TAKEN_KEPT) break;
      this.#taken.delete(oldest);
    }
    const { number } = owner;
    if (number !== undefined) this.#stored((store) => store.pair(number, row.rowId, row.guid));
  }

  #remove(expectation: Expectation): void {
    this.#expected = this.#expected.filter((one) => one !== expectation);
    if (this.#expected.length > 0) return;
    this.#cancelFollowing?.();
    this.#cancelFollowing = undefined;
  }

  /** Runs `work`. If state.db cannot be written, sending continues, and origins are no longer reported. */
  #stored<Result>(work: (store: SentPartStore) => Result): Result | undefined {
    try {
      return work(this.#options.store);
    } catch (error) {
      this.#hasGaps = true;
      this.#options.log.error('could not record a send', { code: errorCode(error) });
      return undefined;
    }
  }

  /** Looks for late rows at intervals, as long as the row of a part may still appear. */
  #follow(): void {
    if (this.#isClosed || this.#cancelFollowing !== undefined || this.#expected.length === 0) return;
    const { clock } = this.#options;
    const newest = Math.max(...this.#expected.map((one) => one.notedAtMs));
    const isRecent = newest >= clock.monotonic() - FIRST_CLAIM_MS;
    this.#cancelFollowing = clock.after(isRecent ? FOLLOW_EVERY_MS.recent : FOLLOW_EVERY_MS.old, () => {
      this.#cancelFollowing = undefined;
      this.#look();
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
      cancels.push(this.#options.clock.after(ms, wake), () => signal.removeEventListener('abort', wake));
      signal.addEventListener('abort', wake);
      const cancelChange = this.#options.onChange?.(wake);
      if (cancelChange !== undefined) cancels.push(cancelChange);
    });
  }
}

/** Gives a text's row without a chat the chat of its link's row. Messages stores the two separately (decision U6). */
function joinedByLinks(rows: readonly OwnRow[]): readonly OwnRow[] {
  return rows.map((row) => {
    if (row.address !== null) return row;
    const address = rows.find(({ textGuid }) => textGuid === row.guid)?.address ?? null;
    return address === null ? row : { ...row, address };
  });
}

function hasContent(
  parts: readonly Pick<Waiting, 'afterRowId' | 'content'>[],
  rowId: number,
  contents: () => readonly string[],
): boolean {
  const waiting = parts.filter((one) => one.afterRowId < rowId);
  if (waiting.length === 0) return false;
  const hashes = contents();
  return waiting.some((one) => fits(one.content, hashes));
}

function isRowOf({ afterRowId, chat, content }: Waiting, row: OwnRow, contents: readonly string[]): boolean {
  return row.rowId > afterRowId && isExpectedIn(chat, row.address) && fits(content, contents);
}

function isDatedLike({ atMs }: Waiting, { datedMs }: OwnRow): boolean {
  return datedMs >= atMs - TOLERANCE_MS && datedMs <= atMs + PAIRED_WITHIN_MS;
}

export function isExpectedIn(chat: ExpectedChat, address: string | null): boolean {
  if (chat === 'any') return true;
  return chat === 'one_to_one' ? address?.startsWith('-;') === true : chat.address === address;
}
