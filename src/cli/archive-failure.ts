import { isAppError } from '../domain/errors.ts';
import { EXIT } from './context.ts';
import { Refusal } from './service-connection.ts';

const EXIT_CODES: Readonly<Record<string, number>> = {
  archive_damaged: EXIT.refusedInput,
  archive_foreign: EXIT.usage,
  archive_misplaced: EXIT.usage,
  archive_in_use: EXIT.unavailable,
  chat_db_unavailable: EXIT.unavailable,
};

/** Turns an AppError into a Refusal: `what` happened, why, and what to do. */
export async function archiveFailure(what: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const advice = error.hint === undefined ? [] : [`  ${error.hint}`];
    throw new Refusal(EXIT_CODES[error.code] ?? EXIT.crash, `${what}: ${error.message}`, ...advice);
  }
}
