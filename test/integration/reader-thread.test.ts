import { copyFileSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { ReaderThread } from '../../src/core/runtime/reader-thread.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import type { ChangeTargets } from '../../src/features/changes/rows.ts';
import type { ThreadTargets } from '../../src/reader-worker.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const toClose: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});
const MESSAGES = 3000;
const onLinux = testIf(process.platform === 'linux', 'needs /proc of Linux');
let files = 0;

/** Writes a chat whose messages only the thread can put in order. */
function write(path: string, text: string): ChatFixture {
  const fixture = new ChatFixture(path);
  toClose.push(() => fixture.close());
  const chat = fixture.chat('any;-;1');
  fixture.transaction(() => {
    for (let n = 0; n < MESSAGES; n += 1) {
      fixture.message({ chat, text: `${text} ${n}`, date: appleNs('2026-01-01T00:00:00Z', n) });
    }
    fixture.sqlite.exec('UPDATE chat_message_join SET message_date = 0');
  });
  return fixture;
}

function open() {
  files += 1;
  const path = join(folder, `thread-${files}.db`);
  const fixture = write(path, 'text');
  const clock = new FakeClock();
  const log = collectingLog();
  const connection = new Connection({ path, home: '/home', log });
  const script = new URL('../../dist/src/reader-worker.js', import.meta.url);
  const thread = new ReaderThread<ThreadTargets & ChangeTargets>({
    database: { path, home: '/home' },
    clock,
    log,
    script,
  });
  toClose.push(
    () => connection.close(),
    () => thread.close(),
  );
  const alone = new ChatReader(connection);
  return { path, fixture, clock, log, connection, thread, reader: new ChatReader(connection, thread), alone };
}

const LIST = { order: 'desc', limit: 3, offset: 0, conversationId: 'any;-;1' } as const;

/** Counts how often this process has a file open. */
function timesOpen(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;
}

describe('a list that no index puts in order', () => {
  test('is the same from the thread as from the main one', async () => {
    const { reader, alone, fixture } = open();
    const handle = fixture.handle('ana@example.org');
    const chat = fixture.chat('any;-;2');
    fixture.participant(chat, handle);
    for (const query of [
      LIST,
      { ...LIST, offset: 2500, order: 'asc' as const },
      { ...LIST, sinceNs: 0n, limit: 200, include: includeSet(['details']) },
      { ...LIST, conversationId: undefined, offset: 2900 },
      { ...LIST, conversationId: 'any;-;9' },
    ]) {
      expect(await reader.listMessages(query)).toEqual(await alone.listMessages(query));
    }
    for (const query of [
      { limit: 5, offset: 0 },
      { limit: 200, offset: 100 },
    ]) {
      expect(await reader.listConversations(query)).toEqual(await alone.listConversations(query));
    }
    expect(await reader.conversation('any;-;1')).toEqual(await alone.conversation('any;-;1'));
  });

  test('shows what was committed a moment ago, and another file when there is one', async () => {
    const { reader, fixture, path } = open();
    expect((await reader.listMessages(LIST)).items[0]?.body).toBe(`text ${MESSAGES - 1}`);
    fixture.sqlite.exec("UPDATE message SET text = 'changed'");
    expect((await reader.listMessages(LIST)).items[0]?.body).toBe('changed');
    fixture.remove();
    write(path, 'other');
    expect((await reader.listMessages({ ...LIST, offset: 2500, order: 'asc' })).items[0]?.body).toBe('other 2500');
  });

  test('fails as it does in the main thread', async () => {
    const { reader, fixture } = open();
    await expect(reader.listMessages({ ...LIST, cursor: 'no cursor' })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_cursor',
      mistakes: [{ pointer: '?cursor', message: 'Invalid cursor.' }],
    });
    expect((await reader.listMessages(LIST)).items).toHaveLength(3);
    fixture.sqlite.exec('ALTER TABLE chat RENAME TO no_chat');
    await expect(reader.listMessages({ ...LIST, conversationId: undefined, offset: 2900 })).rejects.toMatchObject({
      status: 503,
      code: 'chat_db_unavailable',
      message: 'The Messages database has no table chat.',
    });
  });

  onLinux('keeps the thread for a minute after the last one', async () => {
    const { reader, connection, clock, path } = open();
    const wal = `${path}-wal`;
    connection.check();
    expect(timesOpen(wal)).toBe(2); // by the fixture and the main connection
    for (let time = 0; time < 3; time += 1) {
      await reader.listMessages(LIST);
      expect(timesOpen(wal)).toBe(3);
      await clock.advance(59_000);
      await reader.listMessages(LIST);
      await clock.advance(59_000);
      expect(timesOpen(wal)).toBe(3);
      await clock.advance(1000);
      await eventually(() => expect(timesOpen(wal)).toBe(2));
    }
    // SQLite keeps one descriptor of the database for its next connection: closing it would drop the locks (unixClose).
    expect(timesOpen(path)).toBeLessThanOrEqual(3);
  });

  onLinux('leaves the locks of the main connection alone when the thread ends', async () => {
    const { reader, thread, connection, fixture, path } = open();
    connection.check();
    fixture.close();
    const inodes = [path, `${path}-shm`].map((file) => statSync(file).ino);
    // The kernel makes no snapshot of /proc/locks: a lock is missing from a read if others end meanwhile.
    const locks = (): string[] =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter((line) => inodes.some((inode) => line.includes(`:${inode} `)))
        .map((line) => line.replace(/^\d+: /, ''))
        .sort();
    let before: readonly string[] = [];
    await eventually(() => {
      before = locks();
      expect(before.length).toBeGreaterThan(0);
      expect(locks()).toEqual(before);
    });
    await reader.listMessages(LIST);
    await thread.close();
    await eventually(() => expect(timesOpen(`${path}-wal`)).toBe(1));
    await eventually(() => expect(locks()).toEqual(before));
  });

  test('is refused once the service stops', async () => {
    const { reader, thread } = open();
    const running = reader.listMessages(LIST);
    const refused = expect(running).rejects.toMatchObject({ status: 503 });
    await thread.close();
    await refused;
    await expect(reader.listMessages(LIST)).rejects.toMatchObject({ status: 503 });
  });
});

describe('a thread that ends by itself', () => {
  const crashing = (crashes: number) => {
    files += 1;
    const log = collectingLog();
    const path = join(folder, `crash-${files}`);
    const script = new URL('../support/crashing-worker.mjs', import.meta.url);
    const options = { database: { path, home: String(crashes) }, clock: new FakeClock(), log, script };
    const thread = new ReaderThread<{ echoes: { echo(text: string): string } }>(options);
    toClose.push(() => thread.close());
    return { thread, log };
  };

  test('is started again, and then answers the pending requests', async () => {
    const { thread, log } = crashing(1);
    expect(await Promise.all([thread.call('echoes', 'echo', 'a'), thread.call('echoes', 'echo', 'b')])).toEqual([
      'a',
      'b',
    ]);
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'the reader thread ended unexpectedly'],
    ]);
  });

  test('again fails that request with 503, and not the next', async () => {
    const { thread } = crashing(2);
    await expect(thread.call('echoes', 'echo', 'a')).rejects.toMatchObject({
      status: 503,
      code: 'chat_db_unavailable',
    });
    expect(await thread.call('echoes', 'echo', 'b')).toBe('b');
  });
});

describe('a checkpoint in the thread', () => {
  test('brings committed rows into the database file while it stays open', async () => {
    const { thread } = open();
    const [path, copy] = [join(folder, 'own.db'), join(folder, 'own-copy.db')];
    const sqlite = openSqlite(path);
    toClose.push(() => sqlite.close());
    sqlite.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)');
    await thread.call('files', 'checkpoint', path);
    copyFileSync(path, copy);
    const copied = openSqlite(copy);
    toClose.push(() => copied.close());
    expect(copied.prepare('SELECT a FROM t').all()).toEqual([[1]]);
    expect(sqlite.prepare('INSERT INTO t VALUES (2)').run()).toBe(1);
  });

  test('makes no file where there is none', async () => {
    const { thread } = open();
    const path = join(folder, 'nothing.db');
    await expect(thread.call('files', 'checkpoint', path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(existsSync(path)).toBe(false);
  });
});
