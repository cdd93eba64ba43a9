import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigReading } from '../../config/config-file.ts';
import { errorCode } from '../../domain/errors.ts';
import { openSqlite } from '../../runtime/sqlite.ts';
import { quoted } from '../context.ts';
import { type Finding, fault, finding, ok, unsure } from './finding.ts';

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
  ].filter(({ path }) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  if (((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o022) !== 0) {
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

export function diskSpace(folder: string): Finding {
  try {
    const { bavail, bsize } = statfsSync(folder);
    const freeMib = Math.floor((bavail * bsize) / MIB);
    const free = freeMib < 1024 ? `${freeMib} MiB` : `${Math.floor(freeMib / 1024)} GiB`;
    const sentence = `${free} are free on the disk.`;
    if (freeMib < NO_ROOM_MIB) {
      return fault('disk_space', sentence, 'Make room: messages are lost when Messages cannot write.');
    }
    if (freeMib < LOW_SPACE_MIB) return finding('warning', 'disk_space', sentence, 'Make room soon.');
    return ok('disk_space', sentence);
  } catch {
    return unsure('disk_space', 'The free space on the disk could not be determined.');
  }
}

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

/** Opens chat.db in this process. On a Mac the result depends on the terminal's permission, not on the agent's. */
export function chatDatabase(path: string, isReadByService: boolean): Finding {
  try {
    const database = openSqlite(path, { readonly: true });
    try {
      const columns = new Set(
        database
          .prepare('PRAGMA table_info(message)')
          .all()
          .map((row) => row[1]),
      );
      if (columns.size === 0) {
        return fault('chat_database', `${path} is not a messages database.`, 'Check backend.chat_db_path.');
      }
      const macos = SHAPES.find(([column]) => columns.has(column))?.[1];
      return ok('chat_database', `${path} can be read; it has the schema of macOS ${macos ?? '10.13 or older'}.`);
    } finally {
      database.close();
    }
  } catch (error) {
    if (isReadByService) {
      return ok('chat_database', `The service reads ${path}. This terminal cannot read it, but does not need to.`);
    }
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      return fault(
        'chat_database',
        `${path} is not there.`,
        'Open Messages once and sign in, or check backend.chat_db_path.',
      );
    }
    return finding(
      'unknown',
      'chat_database',
      `${path} cannot be read from this terminal (${errorCode(error) ?? 'unknown'}).`,
      'Start the service. Only the service needs access to the file, not this terminal.',
    );
  }
}
