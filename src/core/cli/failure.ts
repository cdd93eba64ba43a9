import { errorCode, isAppError } from '../model/errors.ts';
import { lookupTable } from '../model/lookup-table.ts';
import type { ConnectionOptions } from './context.ts';
import { type Context, EXIT } from './context.ts';
import { Refusal, reportRefusal } from './service-connection.ts';

const EXIT_CODES: Readonly<Record<string, number>> = lookupTable({
  already_running: EXIT.unavailable,
  archive_absent: EXIT.refusedInput,
  archive_damaged: EXIT.refusedInput,
  archive_foreign: EXIT.usage,
  archive_in_use: EXIT.unavailable,
  archive_misplaced: EXIT.usage,
  backup_unusable: EXIT.refusedInput,
  chat_db_unavailable: EXIT.unavailable,
  config_unusable: EXIT.config,
  restore_unfinished: EXIT.config,
  state_db_unusable: EXIT.config,
});

/**
 * Runs `work`. A failure becomes an exit code and sentences: the consequence (`what`), the reason, and what to do.
 */
export function reportFailure(
  what: string,
  options: ConnectionOptions,
  context: Context,
  work: () => Promise<number>,
): Promise<number> {
  return reportRefusal(options, context, async () => {
    try {
      return await work();
    } catch (error) {
      const code = errorCode(error) ?? '';
      // Leaves this error to main.ts, which runs the command again on a Node that has SQLite.
      if (code === 'sqlite_missing') throw error;
      const exitCode = EXIT_CODES[code] ?? EXIT.failed;
      if (isAppError(error)) {
        const advice = error.hint === undefined ? [] : [`  ${error.hint}`];
        throw new Refusal(exitCode, `${what}: ${error.message}`, ...advice);
      }
      // Also reports errors of the system and SQLite, such as a full disk. Any other error is a bug, and is thrown.
      if (!/^(E[A-Z]+|SQLITE_\w+)$/.test(code)) throw error;
      throw new Refusal(exitCode, `${what}: ${(error as Error).message}.`);
    }
  });
}
