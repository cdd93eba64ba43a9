import { STATUS_CODES } from 'node:http';
import { type AppError, type ErrorKind, isAppError } from '../domain/errors.ts';
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

/** The answer for a failure (E1). What is no AppError is a mistake of ours: 500, and nothing of it is shown. */
export function problemAnswer(error: unknown): Answer {
  if (!isAppError(error)) return problem(500, 'internal_error', 'Something went wrong inside the service.');
  const { kind, code, message, hint, extra, headers } = error;
  const mistakes = mistakesOf(error);
  return problem(
    STATUSES[kind],
    code,
    message,
    { ...(mistakes.length > 0 && { errors: mistakes }), ...(hint !== undefined && { hint }), ...extra },
    headers,
  );
}

/** Bad input names its mistakes, also when there is only one and it concerns the whole. */
function mistakesOf({ kind, message, mistakes }: AppError): AppError['mistakes'] {
  return kind === 'invalid' && mistakes.length === 0 ? [{ pointer: '', message }] : mistakes;
}

function problem(
  status: number,
  code: string,
  detail: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const title = STATUS_CODES[status] ?? 'Error';
  const body: Problem = { ...more, type: 'about:blank', title, status, detail, code, error: detail };
  return { status, body, headers: { 'Content-Type': 'application/problem+json', ...headers } };
}
