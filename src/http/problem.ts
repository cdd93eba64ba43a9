import { STATUS_CODES } from 'node:http';
import { AppError, type ErrorKind, isAppError } from '../domain/errors.ts';
import type { Problem } from '../wire/problem.ts';
import type { Answer } from './answer.ts';

/** Decision E2: the one place where kinds of failure become statuses. */
const STATUSES: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unprocessable: 422,
  upgrade_required: 426,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  refused: 502,
  unavailable: 503,
  unknown_outcome: 504,
};

const INTERNAL = new AppError('internal', 'internal_error', 'Something went wrong inside the service.');

/** The answer for a failure (E1). What is no AppError is a mistake of ours: 500, and nothing of it is shown. */
export function problemAnswer(error: unknown): Answer {
  const known = isAppError(error) ? error : INTERNAL;
  const { code, message, hint, extra, headers } = known;
  const status = STATUSES[known.kind];
  const errors = mistakesOf(known);
  const body: Problem = {
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
  return { status, body, headers: { 'Content-Type': 'application/problem+json', ...headers } };
}

/** Bad input names its mistakes, also when there is only one and it concerns the whole. */
function mistakesOf({ kind, message, mistakes }: AppError): AppError['mistakes'] {
  return kind === 'invalid' && mistakes.length === 0 ? [{ pointer: '', message }] : mistakes;
}
