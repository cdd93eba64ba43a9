import { isAppError } from '../domain/errors.ts';
import { problem } from '../domain/problems.ts';
import { problemDocument } from '../wire/problem.ts';
import type { Answer } from './answer.ts';

/** The answer for a failure (decision E1). What is not an AppError is a defect of ours: 500, and nothing of it is shown. */
export function problemAnswer(error: unknown): Answer {
  const known = isAppError(error) ? error : problem('internal_error');
  const headers = { 'Content-Type': 'application/problem+json', ...known.headers };
  return { status: known.status, body: problemDocument(known), headers };
}
