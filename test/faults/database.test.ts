import { once } from 'node:events';
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqlite, type SqlValue } from '../../src/core/runtime/sqlite.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import type { Listener, ReceivedEvent } from '../support/service.ts';
import { Harness, wait } from './harness.ts';

const POLL_MS = 400;
/** Time that the HTTP requests may add, even on a busy machine. */
const SLACK_MS = isLong ? 400 : 10_000;
const LOCKED_MS = isLong ? 60_000 : 2000;

let harness: Harness;
let listener: Listener;

beforeEach(async () => {
  harness = new Harness();
  await harness.start({ settings: { backend: { poll_interval_ms: POLL_MS } } });
  listener = await harness.service.socket();
});
afterEach(async () => {
  await listener.close();
  await harness.end();
});

interface Health {
  readonly status: string;
  readonly backend: { readonly connected: boolean; readonly message: string | null };
}

const health = async (): Promise<Health> => (await harness.service.get('/health')).json as Health;
const isConnected = async (expected: boolean): Promise<boolean> => (await health()).backend.connected === expected;
const heard = (): number[] => listener.events.map((event) => Number(event.data.id));
const write = (): number => harness.database.message({ chat: 1, text: 'a row', handle_id: 1 });
const hears = (row: number): Promise<unknown> => waitFor(() => heard().includes(row));

/** Expects the service to recover within two polls after the cause has ended. */
async function expectBackSoon(): Promise<void> {
  const ended = performance.now();
  await waitFor(() => isConnected(true));
  expect(performance.now() - ended).toBeLessThan(2 * POLL_MS + SLACK_MS);
}

/** Expects that health says why, reads answer 503, and the process keeps running. */
async function expectAway(pattern: RegExp): Promise<void> {
  // The fault takes several steps, such as a rename for each file, so the first answer may come halfway.
  await waitFor(async () => pattern.test((await health()).backend.message ?? ''));
  const { status, backend } = await health();
  expect({ status, connected: backend.connected }).toEqual({ status: 'ok', connected: false });
  const answer = await harness.service.get('/messages');
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ code: 'chat_db_unavailable' });
}

const withSides = (path: string): string[] => [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file));

describe('chat.db goes away and comes back', () => {
  test('renamed away and back: continues from its cursor, without loss or repeat', async () => {
    const before = write();
    await hears(before);
    const files = withSides(harness.path);
    for (const file of files) renameSync(file, `${file}.away`);
    await expectAway(/no Messages database/);
    const meanwhile = write(); // through the open handle, into the renamed file
    // chat.db comes back last: without its -wal, SQLite would create a new one.
    for (const file of files.toReversed()) renameSync(`${file}.away`, file);
    await expectBackSoon();
    await hears(meanwhile);
    expect(heard()).toEqual([before, meanwhile]);
  });

  test('overwritten with garbage and put right again', async () => {
    harness.database.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const copy = `${harness.path}.copy`;
    copyFileSync(harness.path, copy);
    const size = statSync(harness.path).size;
    writeFileSync(harness.path, Buffer.alloc(size, 'garbage '));
    await expectAway(/damaged|no SQLite/);
    copyFileSync(copy, harness.path);
    await expectBackSoon();
    harness.database.close();
    const again = openSqlite(harness.path);
    again.exec(`INSERT INTO message (guid, text, date, handle_id, is_sent) VALUES ('AGAIN', 'x', 1, 1, 1)`);
    await waitFor(() => listener.events.some((event) => event.data.guid === 'AGAIN'));
    again.close();
  });

  test('truncated to nothing and put right again', async () => {
    await hears(write());
    harness.database.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    copyFileSync(harness.path, `${harness.path}.copy`);
    writeFileSync(harness.path, '');
    await waitFor(() => isConnected(false));
    expect((await harness.service.get('/messages')).status).toBe(503);
    expect((await health()).backend.message).not.toBeNull();
    copyFileSync(`${harness.path}.copy`, harness.path);
    await expectBackSoon();
    expect(heard()).toHaveLength(1);
  });

  test('permission withdrawn and given back: continues from its cursor', async () => {
    const before = write();
    await hears(before);
    // A socket of that name keeps even root from opening it.
    renameSync(harness.path, `${harness.path}.real`);
    const inItsPlace = createServer().listen(harness.path);
    let meanwhile: number;
    try {
      await once(inItsPlace, 'listening');
      await expectAway(/no permission.*Full Disk Access/);
      meanwhile = write(); // Messages keeps writing through its open handles
    } finally {
      await new Promise((resolve) => inItsPlace.close(resolve));
    }
    renameSync(`${harness.path}.real`, harness.path);
    await expectBackSoon();
    await hears(meanwhile);
    expect(heard()).toEqual([before, meanwhile]);
  });

  test('replaced under the service: one logged loss, no replay, then life continues', async () => {
    const { service } = harness;
    const [, start] =
      /after=([\w-]+)>/.exec((await service.get('/events?changes=true')).headers.get('link') ?? '') ?? [];
    const from = `changes=true&after=${start}`;
    const tracked = await service.socket(`&${from}`);
    const closed = once(tracked.socket, 'close');
    const streams = ['text/event-stream', 'application/x-ndjson'].map((accept) =>
      service.get(`/events?${from}`, { Accept: accept }),
    );
    const waiting = service.get(`/events?${from}&wait=50`);
    await hears(write());
    const known = (await tracked.event(() => true)) as ReceivedEvent & { readonly offset: string };
    expect((await waiting).json).toEqual([known]);
    const other = new ChatFixture(`${harness.path}.new`);
    const chat = other.chat('any;-;other@example.com', ['other@example.com']);
    for (let count = 0; count < 500; count += 1) other.message({ chat, text: `old ${count}`, handle_id: 1 });
    other.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    other.close();
    // Without its -wal the old file must not look like a different one just before it is replaced.
    harness.database.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    harness.database.close();
    for (const side of ['-wal', '-shm']) rmSync(`${harness.path}${side}`, { force: true });
    renameSync(`${harness.path}.new`, harness.path);
    await eventually(() => expect(harness.service.output).toMatch(/database was replaced/));
    const writer = openSqlite(harness.path);
    writer.exec(`INSERT INTO message (guid, text, date, handle_id, is_sent) VALUES ('NEW', 'x', 1, 1, 1)`);
    await waitFor(() => listener.events.some((event) => event.data.guid === 'NEW'));
    writer.close();
    expect(heard()).toHaveLength(2);
    expect(harness.service.output.match(/database was replaced/g)).toHaveLength(1);
    // Clients with changes begin again, because their offsets have lost their meaning.
    expect((await closed)[0]).toBe(4410);
    for (const { text } of await Promise.all(streams)) expect(text).toContain(known.offset);
    const [ids, after] = [
      { Accept: 'text/event-stream', 'Last-Event-ID': known.offset },
      `changes=true&after=${known.offset}`,
    ];
    await expect(service.socket(`&${after}`)).rejects.toThrow('410');
    for (const answer of [await service.get('/events?changes=true', ids), await service.get(`/events?${after}`)]) {
      expect(answer.json).toMatchObject({ status: 410, code: 'offset_expired' });
    }
  });

  test('-wal and -shm removed and created again, as by a Messages that was killed', async () => {
    await hears(write());
    harness.database.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    harness.database.close(); // two handles of one process would share the old -shm
    for (const side of ['-wal', '-shm']) rmSync(`${harness.path}${side}`);
    const again = openSqlite(harness.path);
    again.exec(`INSERT INTO message (guid, text, date, handle_id, is_sent) VALUES ('REBORN', 'x', 1, 1, 1)`);
    await waitFor(() => listener.events.some((event) => event.data.guid === 'REBORN'));
    again.close();
    expect((await health()).backend).toEqual({ connected: true, message: null });
  });

  test(
    'locked by another program: health says so, and it continues when the lock is gone',
    async () => {
      await hears(write());
      harness.database.sqlite.exec('PRAGMA locking_mode = EXCLUSIVE');
      harness.database.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      // Leaving WAL mode needs exclusive access, which our reader's connection would prevent.
      harness.database.close();
      const locker = openSqlite(harness.path, { busyTimeoutMs: 5000 });
      await harness.service.stop();
      locker.exec('PRAGMA journal_mode = DELETE');
      locker.exec('BEGIN EXCLUSIVE');
      locker.exec(`INSERT INTO message (guid, text, date, handle_id, is_sent) VALUES ('LOCKED', 'x', 1, 1, 1)`);
      await harness.service.launch();
      await expectAway(/locked/);
      await wait(LOCKED_MS);
      await expectAway(/locked/);
      locker.exec('COMMIT');
      await expectBackSoon();
      locker.close();
      await eventually(async () => expect((await harness.service.get('/events?after=0')).text).toContain('LOCKED'));
    },
    LOCKED_MS + 120_000,
  );

  test('a table that is missing is named', async () => {
    harness.database.sqlite.exec('ALTER TABLE handle RENAME TO handles');
    await harness.service.stop();
    await harness.service.launch();
    await expectAway(/handle/);
    harness.database.sqlite.exec('ALTER TABLE handles RENAME TO handle');
    await expectBackSoon();
  });

  test('each row with values that Messages never writes is one event, and stops none of the later rows', async () => {
    const { sqlite } = harness.database;
    const columns = sqlite
      .prepare('PRAGMA table_info(message)')
      .all()
      .map((row) => String(row[1]))
      .filter((name) => !['ROWID', 'guid'].includes(name));
    const strange = [
      null,
      '',
      'abc',
      -1,
      1.5,
      9_223_372_036_854_775_807n,
      -9_223_372_036_854_775_808n,
      Buffer.from([4, 11, 0x84]),
    ];
    const first = harness.newestRow();
    for (const column of columns) for (const value of strange) strangeRow(column, value);
    const last = write();
    await hears(last);
    expect(heard()).toEqual(harness.rowsAfter(first));
    expect((await harness.service.get('/messages?limit=200')).status).toBe(200);
    expect((await harness.service.get('/conversations')).status).toBe(200);
    expect((await health()).backend).toEqual({ connected: true, message: null });
  });
});

/** Writes an incoming row with this value in one column. Writes nothing if the column cannot be NULL. */
function strangeRow(column: string, value: SqlValue): void {
  try {
    harness.database.message({ chat: 1, text: 'a strange row', handle_id: 1, [column]: value });
  } catch (error) {
    if (!/NOT NULL/.test(String(error))) throw error;
  }
}
