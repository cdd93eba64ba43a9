import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigReading } from '../../../core/config/config-file.ts';
import { quoted } from '../../../core/model/command-words.ts';
import { errorCode, isAppError } from '../../../core/model/errors.ts';
import { type Finding, fault, finding, ok, unsure } from '../../../core/model/finding.ts';
import { PROBLEMS } from '../../../core/model/problems.ts';
import { assertRestored } from '../../../core/state/restored.ts';
import { checkStateDatabase, type WithTables } from '../../../core/state/state-database.ts';
import type { DatabaseCheck } from './database-check.ts';

const MIB = 1024 * 1024;
const LOW_SPACE_MIB = 1024;
const NO_ROOM_MIB = 100;

/** Checks that there is a configuration with which the service can start. */
export function configuration(reading: ConfigReading): readonly Finding[] {
  if (reading.state === 'absent') {
    return [
      fault('configuration', `There is no configuration at ${reading.path}.`, 'Start Postern once to write one.'),
    ];
  }
  const warnings = reading.warnings.map((sentence) =>
    finding('warning', 'configuration', sentence, `Edit ${reading.path} and restart Postern.`),
  );
  if (reading.state === 'usable') return [ok('configuration', `${reading.path} can be used.`), ...warnings];
  const mistakes = reading.mistakes.map((sentence) =>
    fault('configuration', sentence, `Fix it in ${reading.path} and restart Postern.`),
  );
  return [...mistakes, ...warnings];
}

/**
 * Checks that only this user can use the configuration folder (0700), and config.toml and state.db in it (0600;
 * decision A1).
 */
export function fileModes(folder: string): readonly Finding[] {
  const open = [
    { path: folder, mode: 0o700 },
    { path: join(folder, 'config.toml'), mode: 0o600 },
    { path: join(folder, 'state.db'), mode: 0o600 },
  ].filter(({ path }) => (modeOf(path) & 0o077) !== 0);
  if ((modeOf(folder) & 0o022) !== 0) {
    return [
      fault(
        'file_modes',
        `Others on this machine can replace files in ${folder}, including the configuration.`,
        `Run: chmod 700 ${quoted(folder)}`,
      ),
    ];
  }
  if (open.length === 0) return [ok('file_modes', 'Nobody else on this machine can read the key or the state.')];
  return open.map(({ path, mode }) =>
    finding(
      'warning',
      'file_modes',
      `Others on this machine can read ${path}.`,
      `Run: chmod ${mode.toString(8)} ${quoted(path)}`,
    ),
  );
}

/** Returns the mode of a file; 0 if it is absent or cannot be examined, which `configuration` reports. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode;
  } catch {
    return 0;
  }
}

/** Checks that a start can use the state in `folder`. Finds nothing if this program has no SQLite. */
export function stateDatabase(folder: string, features: readonly WithTables[]): readonly Finding[] {
  try {
    assertRestored(folder);
    accessSync(folder, constants.W_OK);
    checkStateDatabase(join(folder, 'state.db'), features);
    return [ok('state', 'The state of the service can be used.')];
  } catch (error) {
    if (!isAppError(error)) {
      return [
        fault('state', `Postern cannot write to ${folder} (${errorCode(error)}).`, 'Check its owner and its mode.'),
      ];
    }
    const { code, message, hint = null } = error;
    return code === 'sqlite_missing' ? [] : [fault('state', message, hint)];
  }
}

/** Reports the free space of the disk that has the least, of those with these folders. */
export function diskSpace(folders: readonly string[]): Finding {
  try {
    const [least] = folders.map(freeIn).toSorted((one, other) => one.mib - other.mib);
    if (least === undefined) throw new Error('no folder is there');
    const { folder, mib: freeMib } = least;
    const free = freeMib < 1024 ? `${freeMib} MiB` : `${Math.floor(freeMib / 1024)} GiB`;
    const sentence = `${free} are free on the disk of ${folder}.`;
    if (freeMib < NO_ROOM_MIB) {
      return fault('disk_space', sentence, 'Make room: without it, Messages loses messages, and Postern sends none.');
    }
    if (freeMib < LOW_SPACE_MIB) return finding('warning', 'disk_space', sentence, 'Make room soon.');
    return ok('disk_space', sentence);
  } catch {
    return unsure('disk_space', 'The free space on the disk could not be determined.');
  }
}

function freeIn(folder: string): { readonly folder: string; readonly mib: number } {
  const { bavail, bsize } = statfsSync(folder);
  return { folder, mib: Math.floor((bavail * bsize) / MIB) };
}

const RECOVER =
  'Quit Messages. Copy chat.db with its chat.db-wal into another folder and run there: `sqlite3 chat.db .recover | sqlite3 recovered.db`. Postern reads the recovered file if backend.chat_db_path names it.';
const OLD_DATABASE = 'The sms.db of iOS 5 and older, and databases of other programs, cannot be read.';

/**
 * Reports what a check of chat.db found. On a Mac it depends on the terminal's permission, not on the agent's.
 * `isReadByService` is true if the service can read the file.
 */
export function chatDatabase(path: string, isReadByService: boolean, check: DatabaseCheck): Finding {
  const name = 'chat_database';
  const { failure, macos, damage, complaints } = check;
  if (failure !== undefined) return unreadable(path, isReadByService, failure);
  if (macos === undefined) return unsure(name, `${path} was not checked.`);
  if (damage !== null && damage !== undefined) return fault(name, `${path}: ${damage}`, RECOVER);
  const wrong = complaints?.filter((line) => line !== 'ok') ?? [];
  if (wrong.length > 0) {
    const [first = ''] = wrong;
    return fault(name, `${path} is damaged, but every row of it can be read (quick_check: ${first.trim()}).`, RECOVER);
  }
  const sentence = `${path} can be read; it has the schema of macOS ${macos}.`;
  return complaints === undefined
    ? finding('warning', name, `${sentence} It is too large to check all of it for damage.`, null)
    : ok(name, sentence);
}

function unreadable(path: string, isReadByService: boolean, failure: Required<DatabaseCheck>['failure']): Finding {
  const { sentence, hint } = failure;
  const name = 'chat_database';
  const isRefused = sentence === PROBLEMS.chat_db_not_permitted.detail;
  if (isRefused && isReadByService) {
    return ok(name, `The service reads ${path}. This terminal cannot read it, but does not need to.`);
  }
  if (isRefused) {
    return finding(
      'unknown',
      name,
      `${path} cannot be read from this terminal.`,
      'Start the service. Only the service needs access to the file, not this terminal.',
    );
  }
  const more = sentence === PROBLEMS.chat_db_damaged.detail ? ` ${RECOVER}` : '';
  const isOther = sentence.startsWith('The Messages database has no ') && failure.code === 'chat_db_unavailable';
  return fault(name, `${path}: ${sentence}`, `${hint}${more}${isOther ? ` ${OLD_DATABASE}` : ''}`);
}
