import { STATUS_CODES } from 'node:http';
import type { AppError, Mistake } from '../domain/errors.ts';

/** Every answer of 400 and above (decision E1, RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable and snake_case. */
  readonly code: string;
  /** The same as `detail`. */
  readonly error: string;
  /** Every mistake, when the input was bad. */
  readonly errors?: readonly Mistake[] | undefined;
  /** What the reader can do about it. */
  readonly hint?: string | undefined;
}

/**
 * What a client is told of a failure. Bad input names its mistakes, even when there is one and it concerns the whole.
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
