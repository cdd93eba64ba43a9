import { resolve } from 'node:path';
import type { Machine } from '../../../../installer/machine.ts';
import { damageSentence, readOnce } from '../../../core/chatdb/public.ts';
import type { Context } from '../../../core/cli/context.ts';
import { isAppError } from '../../../core/model/errors.ts';

/** The results of a check of chat.db. A check that ran out of time lacks the members of its last steps. */
export interface DatabaseCheck {
  /** Why the reader cannot read the file at all. */
  readonly failure?: { readonly code: string; readonly sentence: string; readonly hint: string };
  /** The macOS of the schema. */
  readonly macos?: string;
  /** A sentence that names the rows that cannot be read; null if every row can. */
  readonly damage?: string | null;
  /** Complaints of SQLite's quick check, at most `MAX_COMPLAINTS`. */
  readonly complaints?: readonly string[];
}

const MAX_COMPLAINTS = 20;
const LIMIT_MS = 20_000;

/**
 * Columns of the message table, newest first, with the macOS that introduced each. The first of them that chat.db has
 * shows the macOS of its schema. An upgraded database also keeps the older columns.
 */
const SHAPES: readonly (readonly [column: string, macos: string])[] = [
  ['date_recovered', '26'],
  ['schedule_type', '15'],
  ['is_kt_verified', '14'],
  ['date_edited', '13'],
  ['is_corrupt', '12'],
  ['thread_originator_guid', '11'],
];

/** Makes the checks of the reader, reads every row once, and runs SQLite's quick check. Passes each result on. */
export function checkDatabase(path: string, home: string, found: (part: DatabaseCheck) => void): void {
  try {
    readOnce({ chatDbPath: path, homeFolder: home }, (connection) => {
      const macos = connection.read(
        ({ database: { schema } }) => SHAPES.find(([column]) => schema.hasColumn('message', column))?.[1],
      );
      found({ macos: macos ?? '10.13 or older' });
      found({ damage: damageSentence(connection.survey()) ?? null });
      found({ complaints: connection.quickCheck(MAX_COMPLAINTS) });
    });
  } catch (error) {
    if (!isAppError(error)) throw error;
    found({ failure: { code: error.code, sentence: error.message, hint: error.hint ?? '' } });
  }
}

/** `postern check-database`: prints what `checkDatabase` finds, a line for each step. For doctor's child process. */
export async function checkDatabaseCommand(
  path: string,
  _options: object,
  { environment, stdout }: Context,
): Promise<number> {
  checkDatabase(path, environment.homeFolder, (part) => stdout(JSON.stringify(part)));
  return 0;
}

export type DatabaseChecker = (path: string, machine: Machine) => Promise<DatabaseCheck>;

/** Checks chat.db in this process, however long that takes. */
export const checkHere: DatabaseChecker = async (path, { home }) => {
  const parts: DatabaseCheck[] = [];
  checkDatabase(path, home, (part) => parts.push(part));
  return Object.assign({}, ...parts) as DatabaseCheck;
};

/** Checks chat.db in a child process, which is ended at a time limit: SQLite cannot stop a quick check by itself. */
export const checkInChild: DatabaseChecker = async (path, { run, execPath }) => {
  const script = resolve(process.argv[1] ?? '');
  const { stdout } = await run(execPath, [...process.execArgv, script, 'check-database', path], {
    timeoutMs: LIMIT_MS,
  });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return Object.assign({}, ...lines.map((line) => JSON.parse(line) as DatabaseCheck)) as DatabaseCheck;
};
