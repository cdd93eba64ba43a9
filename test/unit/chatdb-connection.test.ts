import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { toUnavailable } from '../../src/core/chatdb/unavailable.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { ChatFixture, type Schema } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const toClose: (() => void)[] = [];
afterEach(() => {
  for (const close of toClose.splice(0).reverse()) close();
});
let files = 0;

function freshPath(): string {
  files += 1;
  const path = join(folder, `${files}`, 'chat.db');
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

function write(path: string, guids: readonly string[], schema: Schema = 'macos-26', options = {}): ChatFixture {
  const fixture = new ChatFixture(path, schema, options);
  toClose.push(() => fixture.close());
  for (const guid of guids) fixture.message({ guid });
  return fixture;
}

function connect(path: string) {
  const connection = new Connection({ path, home: '/Users/ada', log: collectingLog() });
  toClose.push(() => connection.close());
  const log = new ChatLog(connection);
  return { connection, guids: () => log.entries(rowOffset(0), rowOffset(1000), 1000).map(({ guid }) => guid) };
}

/** Runs as a user whom file modes restrict; root may open everything. */
function asNobody(work: () => void): void {
  const user = process.geteuid?.();
  if (user === 0) process.seteuid?.(65_534);
  try {
    work();
  } finally {
    if (user === 0) process.seteuid?.(0);
  }
}

describe('the connection', () => {
  test('has no permission where the folder may not be listed and the file seems missing, as on macOS 27', () => {
    const path = freshPath();
    for (const above of [dirname(folder), folder]) chmodSync(above, 0o711);
    const { connection } = connect(path);
    asNobody(() => void connection.check());
    expect(connection.health().message).toMatch(/^There is no Messages database/);
    chmodSync(dirname(path), 0o311);
    asNobody(() => void connection.check());
    expect(connection.health().message).toMatch(/no permission.*Full Disk Access/);
    expect(connection.access).toBe('denied');
    chmodSync(dirname(path), 0o700);
  });

  test('touches nothing before the first check, then reports whether something changed', () => {
    const path = freshPath();
    const { connection, guids } = connect(path);
    expect(connection.health()).toEqual({ connected: false, message: null });
    const fixture = write(path, ['A']);
    expect(connection.check()).toBe('changed');
    expect(connection.health()).toEqual({ connected: true, message: null });
    expect(connection.check()).toBe('unchanged');
    fixture.message({ guid: 'B' });
    expect(connection.check()).toBe('changed');
    expect(connection.check()).toBe('unchanged');
    expect(guids()).toEqual(['A', 'B']);
  });

  test('says whether a check may find something, and opens nothing for that', () => {
    const path = freshPath();
    const { connection, guids } = connect(path);
    const fixture = write(path, ['A'], 'macos-26', { wal: false });
    expect(connection.mayHaveChanged()).toBe(true);
    expect(connection.health()).toEqual({ connected: false, message: null });
    connection.check();
    expect(connection.mayHaveChanged()).toBe(false);
    fixture.message({ guid: 'B' });
    expect(connection.mayHaveChanged()).toBe(true);
    expect(connection.mayHaveChanged()).toBe(true);
    expect(guids()).toEqual(['A', 'B']); // a read in between changes nothing
    expect(connection.mayHaveChanged()).toBe(true);
    connection.check();
    expect(connection.mayHaveChanged()).toBe(false);
    fixture.close();
    writeFileSync(path, Buffer.alloc(8192, 7));
    expect(connection.mayHaveChanged()).toBe(true); // the check finds the fault
    expect(connection.check()).toBe('away');
    expect(connection.mayHaveChanged()).toBe(true); // it may be back
  });

  test('does not open an empty file: SQLite would delete the -wal beside it', () => {
    const path = freshPath();
    write(path, ['A']);
    const empty = freshPath();
    copyFileSync(`${path}-wal`, `${empty}-wal`);
    writeFileSync(empty, '');
    const { connection, guids } = connect(empty);
    expect(connection.check()).toBe('away');
    expect(connection.health().message).toMatch(/is empty.*sign in/);
    expect(existsSync(`${empty}-wal`)).toBe(true);
    copyFileSync(path, empty);
    expect(connection.check()).toBe('changed');
    expect(guids()).toEqual(['A']);
  });

  test('does not wait at a pipe', () => {
    const path = freshPath();
    execFileSync('mkfifo', [path]);
    const { connection } = connect(path);
    expect(connection.check()).toBe('away');
    expect(connection.health().message).toMatch(/chat_db_path is a named pipe/);
  });

  test('opens by itself for a read that comes first', () => {
    const path = freshPath();
    write(path, ['A']);
    expect(connect(path).guids()).toEqual(['A']);
  });

  test('never writes: not the file, not a lock that keeps others out', () => {
    const path = freshPath();
    const fixture = write(path, ['A']);
    const { guids } = connect(path);
    expect(guids()).toEqual(['A']);
    fixture.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    fixture.message({ guid: 'B' });
    expect(fixture.sqlite.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()).toEqual([[0, 0, 0]]);
    expect(guids()).toEqual(['A', 'B']);
  });

  test('follows a checkpoint, a vacuum and a database without WAL', () => {
    const path = freshPath();
    const fixture = write(path, ['A'], 'macos-26', { wal: false });
    const { connection, guids } = connect(path);
    expect(guids()).toEqual(['A']);
    connection.check();
    fixture.message({ guid: 'B' });
    expect(connection.check()).toBe('changed');
    expect(connection.check()).toBe('unchanged');
    fixture.sqlite.exec('VACUUM');
    expect(guids()).toEqual(['A', 'B']);
  });

  test('sees the columns that an update of macOS adds while it is open', () => {
    const path = freshPath();
    const fixture = write(path, ['A'], 'macos-10.13');
    const { connection } = connect(path);
    connection.check();
    fixture.sqlite.exec(`ALTER TABLE message ADD COLUMN associated_message_emoji TEXT;
      INSERT INTO message (guid, date, associated_message_type, associated_message_guid, associated_message_emoji)
      VALUES ('B', 1, 2006, 'p:0/A', '🌵')`);
    expect(connection.check()).toBe('changed');
    const [entry] = new ChatLog(connection).entries(rowOffset(1), rowOffset(9), 9);
    expect(entry?.event.data).toMatchObject({ reaction_type: 'emoji', emoji: '🌵' });
  });

  test('says what is wrong while there is no file, and works again once there is one', () => {
    const path = freshPath();
    const { connection, guids } = connect(path);
    expect(connection.check()).toBe('away');
    expect(connection.health()).toEqual({
      connected: false,
      message:
        'There is no Messages database at the configured path. Open Messages and sign in once, or set backend.chat_db_path.',
    });
    expect(guids).toThrow(expect.objectContaining({ status: 503, code: 'chat_db_unavailable' }));
    write(path, ['A']);
    expect(guids).toThrow('There is no Messages database');
    expect(connection.check()).toBe('changed');
    expect(guids()).toEqual(['A']);
  });

  test('gives up a file that was renamed away and takes it again when it is back', () => {
    const path = freshPath();
    write(path, ['A']);
    const { connection, guids } = connect(path);
    connection.check();
    const before = connection.fileId;
    renameSync(path, `${path}.away`);
    expect(connection.check()).toBe('away');
    expect(connection.health().connected).toBe(false);
    renameSync(`${path}.away`, path);
    expect(connection.check()).toBe('changed');
    expect(connection.fileId).toBe(before);
    expect(guids()).toEqual(['A']);
  });

  test('follows a replaced file', () => {
    const path = freshPath();
    const first = write(path, ['A', 'B'], 'macos-26', { wal: false });
    const { connection, guids } = connect(path);
    connection.check();
    const before = connection.fileId;
    first.remove();
    write(path, ['X'], 'macos-26', { wal: false });
    expect(connection.check()).toBe('changed');
    expect(connection.fileId).not.toBe(before);
    expect(guids()).toEqual(['X']);
  });

  test('distinguishes a file from its predecessor, even if the change was not observed', () => {
    const path = freshPath();
    const first = write(path, ['A']);
    const ids = [1, 2].map((run) => {
      if (run === 2) {
        first.remove();
        write(path, ['A']);
      }
      const { connection } = connect(path);
      connection.check();
      const { fileId } = connection;
      connection.close();
      return fileId;
    });
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('knows a file by what stays when the machine restarts: not by the number of its device', () => {
    const path = freshPath();
    write(path, ['A']);
    const { connection } = connect(path);
    connection.check();
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    expect(connection.fileId).toBe(`${ino}:${birthtimeNs}`);
  });

  test('notices a file overwritten in place', () => {
    const [path, other] = [freshPath(), freshPath()];
    const fixture = write(path, ['A', 'B']);
    write(other, ['X']).close();
    const { connection, guids } = connect(path);
    connection.check();
    fixture.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    connection.check();
    connection.check();
    expect(guids()).toEqual(['A', 'B']);
    copyFileSync(other, path);
    expect(connection.check()).toBe('changed');
    expect(guids()).toEqual(['X']);
    expect(connection.check()).toBe('unchanged');
  });

  test('continues after a killed writer whose WAL was removed and created again', async () => {
    const path = freshPath();
    write(path, ['A']).close();
    const writer = await startWriter(path, 'B');
    const { connection, guids } = connect(path);
    connection.check();
    expect(guids()).toEqual(['A', 'B']);
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    expect(connection.check()).toBe('unchanged');
    rmSync(`${path}-wal`);
    rmSync(`${path}-shm`);
    const successor = await startWriter(path, 'C');
    expect(connection.check()).toBe('changed');
    expect(guids().at(-1)).toBe('C');
    successor.kill('SIGKILL');
    await once(successor, 'exit');
  });

  test('says when the file is no database, and recovers', () => {
    const path = freshPath();
    writeFileSync(path, 'no database '.repeat(1000));
    const { connection } = connect(path);
    expect(connection.check()).toBe('away');
    expect(connection.health().message).toContain('damaged or not an SQLite database');
    rmSync(path);
    write(path, ['A']);
    expect(connection.check()).toBe('changed');
  });

  test('loses a file turned to garbage while it was open, and recovers', () => {
    const path = freshPath();
    const fixture = write(path, ['A'], 'macos-26', { wal: false });
    const { connection, guids } = connect(path);
    expect(guids()).toEqual(['A']);
    fixture.close();
    copyFileSync(path, `${path}.good`);
    writeFileSync(path, Buffer.alloc(8192, 7));
    expect(connection.check()).toBe('away');
    expect(guids).toThrow('damaged');
    copyFileSync(`${path}.good`, path);
    expect(connection.check()).toBe('changed');
    expect(guids()).toEqual(['A']);
  });

  test('says when the database is locked, and continues when the lock is gone', () => {
    const path = freshPath();
    write(path, ['A'], 'macos-26', { wal: false });
    const { connection, guids } = connect(path);
    connection.check();
    const locker = new Database(path);
    toClose.push(() => locker.close());
    locker.exec('BEGIN EXCLUSIVE');
    expect(guids).toThrow('locked by another program');
    expect(connection.check()).toBe('away');
    expect(connection.health()).toMatchObject({ connected: false });
    locker.exec('COMMIT');
    expect(connection.check()).toBe('changed');
    expect(guids()).toEqual(['A']);
  });

  test("is not given up for a mistake that is not the database's", () => {
    const path = freshPath();
    write(path, ['A']);
    const { connection, guids } = connect(path);
    const mistake = new TypeError('a mistake of this program');
    expect(() =>
      connection.read(() => {
        throw mistake;
      }),
    ).toThrow(mistake);
    expect(connection.health()).toEqual({ connected: true, message: null });
    expect(guids()).toEqual(['A']);
  });

  test('has no file open once it is closed, and closes twice', () => {
    const path = freshPath();
    write(path, ['A']).close();
    const { connection, guids } = connect(path);
    guids();
    connection.close();
    connection.close();
    expect(connection.check()).toBe('away');
    if (process.platform === 'linux') expect(openFiles().filter((file) => file.startsWith(path))).toEqual([]);
  });

  test.each([
    ['EPERM', 'no permission', 'Full Disk Access'],
    ['SQLITE_CANTOPEN', 'no permission', 'Full Disk Access'],
    ['SQLITE_AUTH', 'no permission', 'Full Disk Access'],
    ['SQLITE_BUSY_RECOVERY', 'is locked', 'continues by itself'],
    ['SQLITE_CORRUPT_VTAB', 'damaged', 'Messages itself'],
    ['SQLITE_IOERR', 'cannot be read (SQLITE_IOERR)', 'keeps trying'],
  ])('explains %s', (code, message, hint) => {
    const error = toUnavailable(Object.assign(new Error('x'), { code }));
    expect(error).toMatchObject({ status: 503, code: 'chat_db_unavailable' });
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  });
});

async function startWriter(path: string, guid: string): Promise<ChildProcess> {
  const script = join(import.meta.dirname, '..', 'support', 'chat-writer.mjs');
  const writer = spawn(process.execPath, [script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  toClose.push(() => writer.kill('SIGKILL'));
  writer.stdin.write(`${guid}\n`);
  await once(writer.stdout, 'data');
  return writer;
}

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}
