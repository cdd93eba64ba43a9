import { accessSync, constants, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cursor } from '../../core/model/cursor.ts';
import { AppError, errorCode, isAppError } from '../../core/model/errors.ts';
import { openSqlite, type Sqlite } from '../../core/runtime/sqlite.ts';
import { sync } from '../../core/runtime/whole-file.ts';
import { expireOffsets } from '../../core/state/changes-store.ts';
import { cursorStore } from '../../core/state/cursor-store.ts';
import { UNFINISHED } from '../../core/state/restored.ts';
import { assertOwnSchema, openStateDatabase, type WithTables } from '../../core/state/state-database.ts';

/** `Post` in ASCII: distinguishes a backup from other databases. */
const APPLICATION_ID = 0x506f7374;
const FORMAT = 1;
const NOTE = 'A backup of Postern. It holds the API key and the secrets of webhooks: keep it private.';

/** A backup's description, which is stored in the backup file. */
export interface Backup {
  /** Version of the Postern that made the backup. */
  readonly version: string;
  readonly createdAt: string;
  /** The text of config.toml. */
  readonly config: string;
}

/** A feature with a state that must not survive a restore as it is. */
export interface Restored extends WithTables {
  backedUp?(copy: Sqlite): void;
  restored?(state: Sqlite, nowMs: number): readonly string[];
}

export interface RestoredState {
  readonly cursor: Cursor | undefined;
  /** URLs of the webhooks. */
  readonly webhooks: readonly string[];
  /** Sentences about the things that features ended. */
  readonly notes: readonly string[];
}

/**
 * Writes a backup to the empty file `target`: a copy of the state at one commit, and the description. A service may
 * write to the state meanwhile. Throws `state_db_unusable` if the state cannot be copied.
 */
export function writeBackup(
  statePath: string,
  target: string,
  { version, createdAt, config }: Backup,
  features: readonly Restored[] = [],
): void {
  try {
    if (!lstatSync(statePath).isFile()) throw new Error('it is not a file');
    using(openSqlite(statePath, { readonly: true }), (state) => {
      assertUndamaged(state);
      state.prepare('VACUUM INTO ?').run(target);
    });
  } catch (error) {
    // A full or failing disk is mostly the target's.
    if (isAppError(error) || /^SQLITE_(FULL|IOERR)/.test(errorCode(error) ?? '')) throw error;
    throw new AppError('state_db_unusable', `The state database ${statePath} cannot be copied: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
  using(openSqlite(target), (backup) => {
    backup.exec(`CREATE TABLE postern_backup (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      format INTEGER NOT NULL,
      note TEXT NOT NULL,
      version TEXT NOT NULL,
      created_at TEXT NOT NULL,
      config TEXT NOT NULL
    ) STRICT`);
    backup
      .prepare('INSERT INTO postern_backup (one, format, note, version, created_at, config) VALUES (1, ?, ?, ?, ?, ?)')
      .run(FORMAT, NOTE, version, createdAt, config);
    for (const feature of features) feature.backedUp?.(backup);
    backup.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  });
  sync(target);
}

/** Reads a backup's description. Throws `backup_unusable` with the reason. */
export function readBackup(path: string): Backup {
  return fromBackup(path, (backup) => {
    const row = backup.prepare('SELECT format, version, created_at, config FROM postern_backup').get();
    const [format, version, createdAt, config] = row ?? [];
    if (Number(format) > FORMAT) throw new Error(`it was made by a newer version of Postern (${String(version)})`);
    if (typeof version !== 'string' || typeof createdAt !== 'string' || typeof config !== 'string') {
      throw new Error('it holds no configuration');
    }
    return { version, createdAt, config };
  });
}

/**
 * Writes a backup's state to the empty file `target`. Checks the state as at startup. Throws
 * `backup_unusable` with the reason.
 */
export function extractState(
  path: string,
  target: string,
  nowMs: number,
  features: readonly Restored[] = [],
): RestoredState {
  fromBackup(path, (backup) => void backup.prepare('VACUUM INTO ?').run(target));
  try {
    using(openSqlite(target), (state) => state.exec('DROP TABLE postern_backup; PRAGMA application_id = 0'));
    const restored = using(openStateDatabase(target, features), (state) => {
      assertOwnSchema(state, features);
      const webhooks = state.prepare('SELECT url FROM webhook ORDER BY url').all().map(String);
      const cursor = cursorStore(state).load();
      expireOffsets(state);
      // The backup lacks the sends made after it, so its row of `sent_since` would be wrong. The next start stores a
      // new one: the highest row id in chat.db, after which all sends are recorded.
      state.exec('DELETE FROM sent_since');
      // `backedUp` has ended such sends. A file made by another program may still contain some.
      for (const feature of features) feature.backedUp?.(state);
      const notes = features.flatMap((feature) => feature.restored?.(state, nowMs) ?? []);
      // Ends write-ahead logging, so that the state is a single file, and one rename puts it in place.
      state.exec('PRAGMA journal_mode = DELETE');
      return { cursor, webhooks, notes };
    });
    sync(target);
    return restored;
  } catch (error) {
    const cause = isAppError(error) ? error.cause : error;
    throw new AppError('backup_unusable', `The state in ${path} cannot be used: ${reasonOf(cause)}.`, { cause });
  }
}

/**
 * Replaces state.db and config.toml in `folder` with the drafts. The caller holds the folder's lock. If a crash
 * interrupts this, `assertRestored` throws until another restore completes the replacement.
 */
export function replaceFiles(folder: string, drafts: { readonly config: string; readonly state: string }): void {
  const state = join(folder, 'state.db');
  const marker = join(folder, UNFINISHED);
  foldLog(state);
  writeFileSync(marker, '', { mode: 0o600 });
  sync(folder);
  for (const side of ['-wal', '-shm', '-journal']) rmSync(state + side, { force: true });
  renameSync(drafts.state, state);
  renameSync(drafts.config, join(folder, 'config.toml'));
  sync(folder);
  rmSync(marker);
}

/** Copies the write-ahead log into the database file `state`, so that removing the log loses nothing. */
function foldLog(state: string): void {
  if (lstatSync(state, { throwIfNoEntry: false })?.isFile() !== true) return;
  try {
    using(openSqlite(state), (old) => old.exec('PRAGMA journal_mode = DELETE'));
  } catch {
    // The database is damaged, and about to be replaced.
  }
}

function fromBackup<Result>(path: string, use: (backup: Sqlite) => Result): Result {
  try {
    // Examines the file first, because opening a pipe would block.
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new Error('there is no such file');
    if (!found.isFile()) throw new Error('it is not a file');
    // SQLite only says that it cannot open the file.
    accessSync(path, constants.R_OK);
    return using(openSqlite(path, { readonly: true }), (backup) => {
      if (Number(backup.prepare('PRAGMA application_id').get()?.[0]) !== APPLICATION_ID) {
        throw new Error('it is a database of another program');
      }
      assertUndamaged(backup);
      // In a file made by another program, a view could replace a table. Reading such a view could take very long.
      const schema = backup.prepare("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')").get();
      if (Number(schema?.[0]) > 0) throw new Error('it holds a trigger or a view, which Postern never makes');
      return use(backup);
    });
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError('backup_unusable', `${path} is not a usable backup of Postern: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

function assertUndamaged(database: Sqlite): void {
  const [found] = database.prepare('PRAGMA integrity_check(1)').get() ?? [];
  if (found !== 'ok') throw new Error(`it is damaged (${String(found)})`);
}

function using<Result>(database: Sqlite, use: (database: Sqlite) => Result): Result {
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String((error as { message?: unknown }).message ?? error);
  return message.replace(/\s+/g, ' ').replace(/\.$/, '');
}
