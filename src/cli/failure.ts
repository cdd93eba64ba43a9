import { errorCode, isAppError } from '../domain/errors.ts';
import { type Context, EXIT } from './context.ts';

const EXIT_CODES: Readonly<Record<string, number>> = {
  already_running: EXIT.unavailable,
  backup_unusable: EXIT.refusedInput,
  config_unusable: EXIT.config,
  state_db_unusable: EXIT.config,
};

/** Runs `work`. Prints an AppError as its sentence and advice, after `what`, which says what did not happen. */
export function reportFailure(what: string, { stderr, paintError }: Context, work: () => number): number {
  try {
    return work();
  } catch (error) {
    const code = errorCode(error);
    if (isAppError(error))
      stderr(paintError('red', `${what}: ${error.message}`), ...(error.hint === undefined ? [] : [`  ${error.hint}`]));
    // Errors of the system and SQLite, such as a full disk.
    else if (code !== undefined && /^(E[A-Z]+|SQLITE_\w+)$/.test(code))
      stderr(paintError('red', `${what}: ${(error as Error).message}.`));
    else throw error;
    return EXIT_CODES[code ?? ''] ?? EXIT.crash;
  }
}
