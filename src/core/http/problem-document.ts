import { STATUS_CODES } from 'node:http';
import type { AppError, Mistake } from '../model/errors.ts';

/** The body of every answer of 400 and above (decision E1, RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable and snake_case. */
  readonly code: string;
  /** Equals `detail`. */
  readonly error: string;
  /** Every mistake, if the input was invalid. */
  readonly errors?: readonly Mistake[] | undefined;
  /** Advice for the reader. */
  readonly hint?: string | undefined;
}

/**
 * Returns the problem document for an error. If an error with status 400 names no mistakes, `errors` has its message.
 */
export function problemDocument({ status, code, message, hint, mistakes, extra }: AppError): Problem {
  const errors = status === 400 && mistakes.length === 0 ? [{ pointer: '', message }] : mistakes;
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? '',
    status,
    detail: message,
    code,
    error: message,
    ...(errors.length > 0 && { errors }),
    ...(hint !== undefined && { hint }),
    ...extra,
  };
}
