import { basename } from 'node:path';
import type { Cancel, Clock } from '../domain/ports/host.ts';
import type { Content, OwnRow } from '../domain/ports/sending.ts';
import type { TolerantLookup } from './lookup.ts';

/** How often to look when nobody says that chat.db changed; one look costs some 30 microseconds. */
const LOOK_EVERY_MS = 25;
/**
 * How long an unconfirmed send keeps its claim on a row: rows come within seconds of a run, or not at all, and a
 * run takes 30 s at most (decision D3). Later an equal text may have that row.
 */
const CLAIM_KEPT_MS = 90_000;
/** Row ids known to be taken; far more than can come above one mark. */
const TAKEN_KEPT = 1000;

/**
 * Where the row of a send may be: in the chat with this `style;identifier`, in any one-to-one chat, or in any chat and
 * none (decision D5). Sent to a participant, Messages itself chooses among the one-to-one chats of that person.
 */
export type ExpectedChat = { readonly address: string } | 'one_to_one' | 'any';

/** One part of a send, waiting for its row. */
export interface Expectation {
  /** Highest row id before the run. */
  readonly afterRowId: number;
  /** Which conversation its row may be in; each attempt says it again. */
  chat: ExpectedChat;
  readonly content: Content;
  /** On the monotonic clock. */
  readonly notedAtMs: number;
  /** Its row, once found. */
  rowId?: number;
}

export interface ConfirmOptions {
  readonly lookup: TolerantLookup;
  readonly clock: Clock;
  /** `send.confirm_ms`. */
  readonly confirmMs: number;
  /** Calls back when chat.db may have changed: only makes looking sooner. */
  readonly onChange?: (look: () => void) => Cancel;
}

/** Finds the rows of sent parts in chat.db, each row for one part alone (decision D5). */
export class Confirmations {
  /** In order of arrival: of two equal texts the first row belongs to the first. */
  #expected: Expectation[] = [];
  readonly #taken = new Set<number>();
  readonly #options: ConfirmOptions;

  constructor(options: ConfirmOptions) {
    this.#options = options;
  }

  /** Call it right before the run. undefined while chat.db is away: nothing can be confirmed then. */
  expect(chat: ExpectedChat, content: Content): Expectation | undefined {
    const { lookup, clock } = this.#options;
    const afterRowId = lookup.highestRowId();
    if (afterRowId === undefined) return undefined;
    const expectation: Expectation = { afterRowId, chat, content, notedAtMs: clock.monotonic() };
    this.#expected.push(expectation);
    return expectation;
  }

  /** For a part that certainly was not sent. */
  drop(expectation: Expectation | undefined): void {
    this.#expected = this.#expected.filter((one) => one !== expectation);
  }

  /** Looks once, giving earlier parts their rows first. */
  find(expectation: Expectation): number | undefined {
    const { lookup, clock } = this.#options;
    if (expectation.rowId !== undefined) return expectation.rowId;
    const keptSince = clock.monotonic() - CLAIM_KEPT_MS;
    this.#expected = this.#expected.filter((one) => one.notedAtMs >= keptSince);
    const waiting = [...new Set([...this.#expected, expectation])].sort((a, b) => a.notedAtMs - b.notedAtMs);
    const lowest = Math.min(...waiting.map((one) => one.afterRowId));
    for (const row of lookup.ownRowsAbove(lowest).toSorted((a, b) => a.rowId - b.rowId)) {
      if (this.#taken.has(row.rowId)) continue;
      const owner = waiting.find((one) => one.rowId === undefined && isRowOf(one, row));
      if (owner !== undefined) this.#give(row.rowId, owner);
    }
    return expectation.rowId;
  }

  /** Looks until the row is there and in its chat, the time is over or the signal says stop. */
  async wait(expectation: Expectation, signal: AbortSignal): Promise<void> {
    const { clock, confirmMs } = this.#options;
    const end = clock.monotonic() + confirmMs;
    while (!this.#isComplete(expectation)) {
      const leftMs = end - clock.monotonic();
      if (leftMs <= 0 || signal.aborted) return;
      await this.#pause(Math.min(leftMs, LOOK_EVERY_MS), signal);
    }
  }

  /** A row comes a moment before its chat; with it the answer can say which conversation it is in. */
  #isComplete(expectation: Expectation): boolean {
    const rowId = this.find(expectation);
    if (rowId === undefined) return false;
    const row = this.#options.lookup.ownRowsAbove(rowId - 1).find((own) => own.rowId === rowId);
    return row === undefined || row.address !== null;
  }

  #give(rowId: number, owner: Expectation): void {
    owner.rowId = rowId;
    this.drop(owner);
    this.#taken.add(rowId);
    for (const oldest of this.#taken) {
      if (this.#taken.size <= TAKEN_KEPT) break;
      this.#taken.delete(oldest);
    }
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

function isRowOf(expectation: Expectation, row: OwnRow): boolean {
  if (row.rowId <= expectation.afterRowId) return false;
  const { chat, content } = expectation;
  if (!isExpectedIn(chat, row.address)) return false;
  if ('body' in content) return comparable(content.body) === comparable(row.body);
  // macOS keeps file names composed or decomposed, as it likes.
  const name = basename(content.attachment).normalize('NFC');
  return row.attachmentNames.some((other) => other.normalize('NFC') === name);
}

function isExpectedIn(chat: ExpectedChat, address: string | null): boolean {
  if (chat === 'any') return true;
  return chat === 'one_to_one' ? address?.startsWith('-;') === true : chat.address === address;
}

/** Line ends made equal, and without the placeholders that reading takes out of a body (decision B2). */
function comparable(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/^(?:[\uFFFC\uFFFD]\n?)+|(?:\n?[\uFFFC\uFFFD])+$/g, '')
    .replace(/[\uFFFC\uFFFD]/g, '');
}
