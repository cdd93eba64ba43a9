import { AppError, type ErrorKind } from '../domain/errors.ts';
import type { RunOutcome } from '../domain/ports/sending.ts';

/** Not running. Only this one is tried once more (decision D2). */
export const NOT_RUNNING = -600;
/** Automation was denied, or would have to be asked for where nobody can be asked. */
const NOT_ALLOWED: readonly number[] = [-1743, -1744];
/** Not running, cannot be launched (no login session), not permitted from here. */
const CANNOT_RUN: readonly number[] = [NOT_RUNNING, -10810, -10004];
/** The connection broke, or no answer in time: it may have been sent. */
const UNKNOWN: readonly number[] = [-609, -1712];

type Failure = Exclude<RunOutcome, { readonly kind: 'done' }>;

/**
 * What a client is told of a failed run (decisions D2, D7). `partsSent` are JSON pointers of what went out before.
 * The words osascript printed are left out: they quote addresses and text.
 */
export function sendFailure(failure: Failure, partsSent: readonly string[]): AppError {
  const extra = partsSent.length === 0 ? {} : { parts_sent: partsSent };
  if (failure.kind === 'killed') return unknownOutcome('unknown_outcome', extra);
  if (failure.kind === 'not_started') {
    return new AppError('unavailable', 'messages_unavailable', `osascript could not be started (${failure.message}).`, {
      hint: 'Check backend.osascript_path in config.toml.',
      extra,
    });
  }
  const { number } = failure;
  const numbered = { ...extra, messages_error: number };
  if (number !== null && UNKNOWN.includes(number)) return unknownOutcome('unknown_outcome', numbered);
  if (number !== null && NOT_ALLOWED.includes(number)) {
    return new AppError('unavailable', 'messages_unavailable', 'Postern is not allowed to control Messages.', {
      hint: 'In System Settings, under Privacy & Security > Automation, switch on Messages below Postern.',
      extra: numbered,
    });
  }
  if (number !== null && CANNOT_RUN.includes(number)) {
    return new AppError('unavailable', 'messages_unavailable', 'Messages cannot be run.', {
      hint: 'Log in at the Mac, open Messages and sign in.',
      extra: numbered,
    });
  }
  const shown = number === null ? '' : ` (error ${number})`;
  return new AppError('refused', 'send_failed', `Messages refused to send${shown}.`, {
    hint: 'Check the recipient, and that Messages is signed in to the service it is reached by.',
    extra: numbered,
  });
}

/** 504 when it just happened, 409 when an earlier run is asked about (decision D9). */
export function unknownOutcome(
  kind: Extract<ErrorKind, 'unknown_outcome' | 'conflict'>,
  extra: Readonly<Record<string, unknown>> = {},
): AppError {
  return new AppError(kind, 'send_outcome_unknown', 'It is not known whether the message was sent.', {
    hint: 'Look in Messages before sending it again.',
    extra,
  });
}
