import { AppError, isAppError } from '../model/errors.ts';
import { mayHaveBeenSent } from '../model/failed-send.ts';
import type { MessageStatus } from '../model/message.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import type { Attempt, Content, MessagesApp, RunOutcome, SendRequest } from '../model/ports/sending-ports.ts';
import type { ExpectedChat } from '../model/ports/sent-parts-ports.ts';
import { problem } from '../model/problems.ts';
import { leadsToNext, liveAttempt, type Plan } from './attempts.ts';
import { type CheckedFile, openChecked } from './checked-attachments.ts';
import type { Confirmations } from './confirmations.ts';
import { fits } from './content-hash.ts';
import { contentsOfRow, type Expectation, earliestDateMs, nowOf } from './row-owners.ts';
import { isUnclear, NOT_RUNNING, sendFailure } from './send-failure.ts';
import { type ChosenPlan, chosenPlan } from './service-choice.ts';
import type { Staging } from './staging.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/** The row of a part whose run failed is looked for this long. */
const WRITTEN_WITHIN_MS = 1000;

/** A request whose attachments were checked and may be sent. */
export interface CheckedRequest extends SendRequest {
  readonly files: readonly CheckedFile[];
}

export interface DeliveryParts {
  readonly messages: MessagesApp;
  readonly lookup: TolerantLookup;
  readonly confirmations: Confirmations;
  readonly clock: Clock;
  readonly log: Log;
  /** Copies attachments to where Messages may read them. Undefined if Messages may read every path (decision D8). */
  readonly staging: Staging | undefined;
  /** Aborts the running script, and ends the wait for a row. */
  readonly signal: AbortSignal;
}

interface Part {
  /** JSON pointer of the part in the request. */
  readonly pointer: string;
  readonly content: Content;
}

/** How far a send has come. */
interface Progress {
  /** JSON pointers of the parts that were sent. */
  readonly sent: string[];
  /** True if Messages was asked to send a part, and did not certainly refuse it. */
  isAsked: boolean;
}

/** Hands messages to Messages, part by part, and waits for the row of the first part. */
export class Delivery {
  readonly #parts: DeliveryParts;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** Returns the first part's expectation. Throws the AppError to answer with. */
  async deliver(request: CheckedRequest): Promise<Expectation | undefined> {
    const { lookup, confirmations, clock, log, signal } = this.#parts;
    const { requestId, recipient } = request;
    const startedMs = clock.monotonic();
    const progress: Progress = { sent: [], isAsked: false };
    let first: Expectation | undefined;
    try {
      const parts = await this.#partsOf(request);
      let chosen = chosenPlan(request, lookup.chats(recipient), lookup);
      for (const { pointer, content } of parts) {
        const delivered = await this.#deliverPart(request, chosen, content, progress);
        first ??= delivered.expectation;
        progress.sent.push(pointer);
        // If this part was sent by the fallback, the parts after it use the fallback too.
        chosen = delivered.chosen;
      }
      if (first !== undefined) await confirmations.wait(first, signal);
    } catch (error) {
      const failure = withParts(error, progress);
      const why = isAppError(failure) ? { code: failure.code, ...failure.extra } : {};
      log.warn('a send failed', { requestId, ...why, ...(isAppError(failure) && !isAppError(error) && { error }) });
      throw failure;
    }
    if (first !== undefined) {
      const error = misdirected(first, this.#parts);
      if (error !== undefined) {
        log.warn('a send to a group went to another conversation', { requestId, row_id: first.rowId ?? null });
        throw error;
      }
    }
    const tookMs = Math.round(clock.monotonic() - startedMs);
    log.info('sent', { requestId, parts: progress.sent.length, row_id: first?.rowId ?? null, took_ms: tookMs });
    return first;
  }

  /**
   * Returns the parts to send: the body first, then each attachment (decision D1). Makes all copies before anything is
   * sent, so that a full disk leaves no half-sent message.
   */
  async #partsOf({ body, files }: CheckedRequest): Promise<readonly Part[]> {
    const attached = await Promise.all(
      files.map(async (file) => ({ pointer: file.pointer, content: { attachment: await this.#ready(file) } })),
    );
    return body === '' ? attached : [{ pointer: '/body', content: { body } }, ...attached];
  }

  /** Returns the path that Messages receives: that of a copy if files are staged, else the file's real path. */
  async #ready(file: CheckedFile): Promise<string> {
    const { staging } = this.#parts;
    if (staging !== undefined) return staging.copy(file);
    await (await openChecked(file)).close();
    return file.realPath;
  }

  async #deliverPart(
    request: SendRequest,
    chosen: ChosenPlan,
    content: Content,
    progress: Progress,
  ): Promise<{ readonly expectation: Expectation; readonly chosen: ChosenPlan }> {
    const { messages, confirmations, signal } = this.#parts;
    const { plan: to, fallback, reason } = chosen;
    const chat: ExpectedChat = to.address === null ? 'any' : { address: to.address };
    await confirmations.untilEarlierRows(content, signal);
    const expectation = confirmations.expect(chat, content, request, reason);
    const outcome = await attemptInTurn({
      messages,
      plan: to,
      content,
      signal,
      onAttempt({ chatId }) {
        // Another attempt follows only after an error that proves that nothing was sent.
        progress.isAsked = false;
        try {
          request.check?.();
        } catch (error) {
          confirmations.drop(expectation);
          throw error;
        }
        // An attempt without a chat id names only a participant, and Messages itself chooses the conversation.
        if (chat !== 'any' && chatId === null) confirmations.expectIn(expectation, 'one_to_one');
        progress.isAsked = true;
      },
    }).finally(() => confirmations.end(expectation));
    const bySms: ChosenPlan | undefined = fallback && { plan: fallback, reason: 'asked' };
    if (outcome.kind === 'done' || (await this.#wasWritten(outcome, expectation))) {
      if (bySms === undefined || !(await this.#hasFailed(expectation))) return { expectation, chosen };
      return this.#deliverPart(request, bySms, content, progress);
    }
    const failure = sendFailure(outcome, progress.sent);
    // A part that may have been sent stays expected, so that a later send does not take its row.
    if (!mayHaveBeenSent({ code: failure.code })) confirmations.drop(expectation);
    if (bySms !== undefined && leadsToNext(outcome)) return this.#deliverPart(request, bySms, content, progress);
    throw failure;
  }

  /**
   * Reports whether Messages wrote the part's row although the run failed. The row may appear a moment after
   * osascript's end.
   */
  async #wasWritten(outcome: RunOutcome, expectation: Expectation): Promise<boolean> {
    const { confirmations, signal } = this.#parts;
    if (!isUnclear(outcome)) return false;
    await confirmations.until(() => confirmations.isWritten(expectation), signal, WRITTEN_WITHIN_MS);
    if (!confirmations.isWritten(expectation)) return false;
    await confirmations.wait(expectation, signal);
    return expectation.rowId !== undefined;
  }

  /**
   * Waits for the part's row, and reports whether Messages marked it as failed. Returns false if the row is missing or
   * still pending, because the part may still be sent.
   */
  async #hasFailed(expectation: Expectation): Promise<boolean> {
    const { lookup, confirmations, signal } = this.#parts;
    await confirmations.wait(expectation, signal);
    const { rowId } = expectation;
    if (rowId === undefined) return false;
    const status = (): MessageStatus | undefined => lookup.message(rowId)?.status;
    await confirmations.until(() => status() !== 'pending', signal);
    return status() === 'failed';
  }
}

/**
 * Adds the parts that were sent to an error that does not name them: one that `check` threw before a later part, for
 * example because the key was revoked meanwhile. An unexpected error, once something may have been sent, becomes
 * `send_outcome_unknown`.
 */
function withParts(error: unknown, { sent: partsSent, isAsked }: Progress): unknown {
  const mayBeSent = isAsked || partsSent.length > 0;
  if (!isAppError(error)) return mayBeSent ? sendFailure({ kind: 'killed' }, partsSent) : error;
  if (partsSent.length === 0 || error.extra.parts_sent !== undefined) return error;
  const { code, message, hint, ...options } = error;
  const extra = { ...error.extra, parts_sent: partsSent };
  return new AppError(code, message, { ...options, ...(hint !== undefined && { hint }), extra });
}

export interface AttemptsParts {
  readonly messages: MessagesApp;
  readonly plan: Plan;
  readonly content: Content;
  readonly signal: AbortSignal;
  /** Called just before each run of osascript. If it throws, the attempts end. */
  readonly onAttempt: (attempt: Attempt) => void;
}

const NO_WAY: RunOutcome = { kind: 'failed', number: -1728, message: '' };

/**
 * Makes the attempts of a plan in order. Makes the next attempt only after an error that Messages raises before it
 * sends anything (decision T1).
 */
export async function attemptInTurn(parts: AttemptsParts): Promise<RunOutcome> {
  const { messages, plan, content, signal, onAttempt } = parts;
  let isOpened = false;
  const run = async (attempt: Attempt): Promise<RunOutcome> => {
    if (signal.aborted) return { kind: 'killed' };
    onAttempt(attempt);
    const outcome = await messages.run({ ...attempt, content }, signal);
    if (isOpened || outcome.kind !== 'failed' || outcome.number !== NOT_RUNNING) return outcome;
    // Messages is not running, so nothing was sent. Opens Messages and repeats the attempt once (decision D2).
    isOpened = true;
    await messages.open(signal);
    if (signal.aborted) return outcome;
    onAttempt(attempt);
    return messages.run({ ...attempt, content }, signal);
  };

  let outcome: RunOutcome = NO_WAY;
  for (const attempt of plan.attempts) {
    outcome = await run(attempt);
    if (!leadsToNext(outcome)) return outcome;
  }
  if (plan.liveChat === null || signal.aborted) return outcome;
  const last = liveAttempt(plan, await messages.liveChatIds(signal));
  return last === undefined ? outcome : run(last);
}

/**
 * Returns an error if Messages put a part for a group into a conversation that it created, else undefined. On macOS 26
 * a send to a group can create a one-to-one conversation with a person named by the group's identifier (openclaw/imsg
 * #90). Nobody in the group gets the message then. The row is still recorded as this send's, so that its origin is
 * known.
 */
function misdirected(
  expectation: Expectation,
  { lookup, confirmations, clock }: Pick<DeliveryParts, 'lookup' | 'confirmations' | 'clock'>,
): AppError | undefined {
  const { rowId, afterRowId, chat, content } = expectation;
  if (rowId !== undefined || afterRowId === undefined || typeof chat === 'string') return undefined;
  if (!chat.address.startsWith('+;')) return undefined;
  const stray = lookup
    .ownRowsAbove(afterRowId, earliestDateMs(expectation, nowOf(clock)))
    .find(
      (row) =>
        row.address !== null &&
        row.address !== chat.address &&
        fits(content, contentsOfRow(row)) &&
        lookup.isNewChat(row.rowId, afterRowId),
    );
  if (stray === undefined || stray.address === null) return undefined;
  confirmations.expectIn(expectation, { address: stray.address });
  confirmations.find(expectation);
  const conversationId = lookup.message(stray.rowId)?.conversation_id ?? '';
  return problem('misdirected', {}, { extra: { message_id: String(stray.rowId), conversation_id: conversationId } });
}
