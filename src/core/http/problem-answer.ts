import { type AppError, errorCode, isAppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import type { Answer } from './answer.ts';
import { problemDocument } from './problem-document.ts';

/**
 * Returns the answer for a failure (decision E1). Any failure other than an AppError or an error of state.db is a
 * defect of Postern: the answer is 500 without details. `complete` completes the commands in the hint.
 */
export function problemAnswer(error: unknown, complete = (hint: string): string => hint): Answer {
  const known = isAppError(error) ? error : (storageProblem(error) ?? problem('internal_error'));
  const headers = { 'Content-Type': 'application/problem+json', ...known.headers };
  const document = problemDocument(known);
  const { hint } = document;
  return { status: known.status, body: hint === undefined ? document : { ...document, hint: complete(hint) }, headers };
}

/**
 * Returns the problem for an error of state.db; undefined for any other error. Failures of chat.db are already
 * AppErrors.
 */
function storageProblem(error: unknown): AppError | undefined {
  const code = errorCode(error) ?? '';
  if (code === 'SQLITE_FULL') return problem('disk_full');
  if (!/^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|BUSY|LOCKED|NOMEM|PROTOCOL)/.test(code)) return undefined;
  return problem('state_db_unavailable', { code });
}
