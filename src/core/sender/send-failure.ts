import type { AppError } from '../model/errors.ts';
import type { RunOutcome } from '../model/ports/sending-ports.ts';
import { problem } from '../model/problems.ts';

/**
 * The error number for "Messages is not running". After this error only, the attempt is repeated, and only once
 * (decision D2).
 */
export const NOT_RUNNING = -600;
/** Error numbers: the user denied control of Messages, or macOS could ask nobody. */
const NOT_ALLOWED: readonly number[] = [-1743, -1744];
/**
 * Error numbers: Messages is not running, cannot be launched (no login session), or may not be controlled from here.
 */
const CANNOT_RUN: readonly number[] = [NOT_RUNNING, -10810, -10004];
/** Error numbers that Messages raises before it sends anything: no such object, bad index, cannot be coerced. */
export const NOTHING_SENT: readonly number[] = [-1728, -1719, -1700];
/** Error numbers: the connection to Messages broke, or Messages did not answer in time. */
const NO_ANSWER: readonly number[] = [-609, -1712];
/** The script's error for a missing file, which it raises before it asks Messages. */
const NO_FILE = -43;

/** Reports whether macOS did not let this process control Messages. */
export function isRefused(outcome: RunOutcome): boolean {
  return outcome.kind === 'failed' && outcome.number !== null && NOT_ALLOWED.includes(outcome.number);
}

/** Reports whether Messages answered with an error that does not say whether it sent the message. */
export function isUnclear(outcome: RunOutcome): boolean {
  if (outcome.kind !== 'failed' || NO_ANSWER.includes(outcome.number ?? 0)) return false;
  return sendFailure(outcome, []).code === 'send_outcome_unknown';
}

type Failure = Exclude<RunOutcome, { readonly kind: 'done' }>;

/**
 * Returns the error that reports a failed run to the client (decisions D2, D7). `partsSent` are the JSON pointers of
 * the parts that were sent before the failure. Omits osascript's words, because they quote addresses and text.
 */
export function sendFailure(failure: Failure, partsSent: readonly string[]): AppError {
  const extra = partsSent.length === 0 ? {} : { parts_sent: partsSent };
  if (failure.kind === 'killed') return problem('send_outcome_unknown', {}, { extra });
  if (failure.kind === 'not_started') {
    return problem('osascript_not_started', { reason: failure.message }, { extra });
  }
  const { number } = failure;
  const numbered = { ...extra, messages_error: number };
  if (isRefused(failure)) {
    return problem('automation_not_allowed', {}, { extra: numbered });
  }
  if (number !== null && CANNOT_RUN.includes(number)) {
    return problem('messages_not_running', {}, { extra: numbered });
  }
  if (number !== null && [...NOTHING_SENT, NO_FILE].includes(number)) {
    return problem('send_failed', { number: ` (error ${number})` }, { extra: numbered });
  }
  // No other error proves that nothing was sent.
  return problem('send_outcome_unknown', {}, { extra: numbered });
}
