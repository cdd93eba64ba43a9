import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { IdempotencyKey } from '../../src/core/model/idempotency-key.ts';
import { includeSet, NO_INCLUDES } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { NewWebhook } from '../../src/core/model/ports/webhooks-ports.ts';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { changeStore } from '../../src/core/state/changes-store.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { lockFolder } from '../../src/core/state/lock.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(folder, `state-${files}.db`);
};
const hook: NewWebhook = {
  url: 'http://127.0.0.1:9/x',
  events: ['message.received', 'reaction.added'],
  secret: 's3cret',
  include: NO_INCLUDES,
};
const record = (rowId: number, outcome: DeliveryRecord['outcome'] = 'delivered'): DeliveryRecord => ({
  id: `d${rowId}`,
  at: `2026-01-01T00:00:${String(rowId % 60).padStart(2, '0')}Z`,
  event: 'message.received',
  row_id: rowId,
  outcome,
  attempts: outcome === 'delivered' ? 1 : 3,
  status: outcome === 'delivered' ? 200 : null,
  error: outcome === 'delivered' ? null : 'connection refused',
  duration_ms: 12,
});

describe('the state database', () => {
  test('is readable by its owner alone, side files too', () => {
    const path = newFile();
    const database = openStateDatabase(path);
    cursorStore(database).save({ offset: rowOffset(1), guid: null, inode: '1' });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    database.close();
  });

  test('a file that is not a database is refused with a sentence and left alone', () => {
    const path = newFile();
    writeFileSync(path, 'not a database, but something of value to somebody'.repeat(100));
    expect(() => openStateDatabase(path)).toThrow(expect.objectContaining({ code: 'state_db_unusable' }));
    expect(existsSync(path)).toBe(true);
  });

  test('one written by a newer version is refused', () => {
    const path = newFile();
    const database = openStateDatabase(path);
    const version = Number(database.prepare('PRAGMA user_version').get()?.[0]);
    database.exec(`PRAGMA user_version = ${version + 1}`);
    database.close();
    expect(() => openStateDatabase(path)).toThrow(/newer version/);
  });
});

describe('the cursor', () => {
  test('survives a restart', () => {
    const path = newFile();
    const first = openStateDatabase(path);
    expect(cursorStore(first).load()).toBeUndefined();
    cursorStore(first).save({ offset: rowOffset(41), guid: 'A', inode: '7' });
    cursorStore(first).save({ offset: rowOffset(42), guid: null, inode: '18446744073709551615' });
    first.close();
    const second = openStateDatabase(path);
    expect(cursorStore(second).load()).toEqual({ offset: rowOffset(42), guid: null, inode: '18446744073709551615' });
    second.close();
  });

  test('starting over takes every webhook with it', () => {
    const database = openStateDatabase(newFile());
    const webhooks = webhookStore(database, new FakeClock());
    const { id } = webhooks.add(hook, rowOffset(900));
    webhooks.setHeld(id, { id: 'd', row_id: 901, attempts: 3, since: '2026-01-01T00:00:00Z', error: 'It failed.' });
    const removed = { kind: 'removed', rowId: 1, guid: '', conversationId: '' } as const;
    changeStore(database).record([removed], new Map(), 0);
    cursorStore(database).restart({ offset: rowOffset(12), guid: 'B', inode: '8' });
    expect(webhooks.get(id)).toMatchObject({ offset: { rowId: 12, change: 1 }, held: null });
    expect(cursorStore(database).load()?.offset.rowId).toBe(12);
    database.close();
  });
});

test('the outcome of a send names no row once chat.db was replaced, and its key stays used', () => {
  const database = openStateDatabase(newFile());
  const sends = idempotencyStore(database);
  const key: IdempotencyKey = { kind: 'client', key: 'k' };
  sends.claim(key, 'hash', 0);
  sends.finish(key, { state: 'confirmed', rowId: 7 });
  const cursors = cursorStore(database);
  cursors.restart({ offset: rowOffset(9), guid: 'A', inode: '7' });
  expect(sends.find(key, 0)?.outcome).toEqual({ state: 'confirmed', rowId: 7 });
  cursors.restart({ offset: rowOffset(12), guid: 'B', inode: '8' });
  expect(sends.claim(key, 'hash', 0)).toEqual({
    requestHash: 'hash',
    outcome: { state: 'provisional', part: undefined },
  });
  database.close();
});

describe('webhooks', () => {
  test('keep everything over a restart, in order of registration', () => {
    const path = newFile();
    const first = openStateDatabase(path);
    const store = webhookStore(first, new FakeClock(Date.UTC(2026, 1, 3, 4, 5, 6, 789)));
    const added = [
      store.add(hook, rowOffset(5)),
      store.add({ ...hook, secret: null, include: includeSet(['details']) }, rowOffset(6)),
    ];
    first.close();
    const second = openStateDatabase(path);
    expect(webhookStore(second, new FakeClock()).list()).toEqual(added);
    expect(added[0]).toMatchObject({ created_at: '2026-02-03T04:05:06Z', offset: rowOffset(5), secret: 's3cret' });
    expect(added[1]).toMatchObject({ secret: null, include: includeSet(['details']) });
    second.close();
  });

  test('the 65th is refused and not stored', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    for (let count = 0; count < 64; count += 1) store.add(hook, rowOffset(0));
    expect(() => store.add(hook, rowOffset(0))).toThrow(expect.objectContaining({ status: 409 }));
    expect(store.list()).toHaveLength(64);
    database.close();
  });

  test('removal takes records and position along, and says whether there was one', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    const { id } = store.add(hook, rowOffset(0));
    store.advance([{ id, offset: rowOffset(1), records: [record(1)] }]);
    expect(store.remove(id)).toBe(true);
    expect(store.remove(id)).toBe(false);
    store.advance([{ id, offset: rowOffset(2), records: [record(2)] }]); // from a worker that was just ending
    expect(store.deliveries(id)).toEqual([]);
    expect(store.get(id)).toBeUndefined();
    expect(database.prepare('SELECT name FROM consumer').all()).toEqual([]);
    database.close();
  });

  test('the last 100 records stay, newest first', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    const { id } = store.add(hook, rowOffset(0));
    for (let rowId = 1; rowId <= 260; rowId += 1) {
      store.advance([{ id, offset: rowOffset(rowId), records: [record(rowId)] }]);
    }
    const kept = store.deliveries(id);
    expect(kept).toHaveLength(100);
    expect(kept[0]).toEqual(record(260));
    expect(kept[99]).toEqual(record(161));
    expect(Number(database.prepare('SELECT count(*) FROM delivery').get()?.[0])).toBeLessThanOrEqual(150);
    expect(store.get(id)?.offset.rowId).toBe(260);
    database.close();
  });

  test('the newest 10,000 dropped events can be replayed', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    const { id } = store.add(hook, rowOffset(0));
    const records = Array.from({ length: 10_050 }, (_, at) => ({
      ...record(at + 1, 'dropped'),
      position: { rowId: at + 1, change: 0 },
    }));
    store.advance([{ id, offset: rowOffset(10_050), records }]);
    store.replayDropped(id);
    expect(store.nextReplayed(id)).toEqual({ rowId: 51, change: 0 });
    database.close();
  });

  test('a paused one stays paused when its held event ends and when its position is moved', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    const webhook = store.add(hook, rowOffset(0));
    store.update({ ...webhook, enabled: false });
    store.setHeld(webhook.id, null);
    store.seek(webhook.id, rowOffset(3));
    expect(store.get(webhook.id)).toMatchObject({ enabled: false, offset: rowOffset(3) });
    database.close();
  });

  test('failures count until a success', () => {
    const database = openStateDatabase(newFile());
    const store = webhookStore(database, new FakeClock());
    const { id } = store.add(hook, rowOffset(0));
    expect(store.health(id)).toEqual({ state: 'healthy', consecutive_failures: 0, last_success_at: null });
    store.advance([{ id, offset: rowOffset(1), records: [record(1, 'dropped')] }]);
    store.advance([{ id, offset: rowOffset(2), records: [record(2, 'dropped')] }]);
    store.advance([{ id, offset: rowOffset(3), records: [record(3, 'gone')] }]);
    expect(store.health(id)).toEqual({ state: 'failing', consecutive_failures: 2, last_success_at: null });
    store.advance([{ id, offset: rowOffset(4), records: [record(4)] }]);
    expect(store.health(id)).toEqual({ state: 'healthy', consecutive_failures: 0, last_success_at: record(4).at });
    database.close();
  });
});

describe('idempotency', () => {
  const HOUR = 60 * 60 * 1000;
  const key: IdempotencyKey = { kind: 'client', key: 'k' };

  test('a key is claimed once, and then has the outcome', () => {
    const database = openStateDatabase(newFile());
    const store = idempotencyStore(database);
    expect(store.claim(key, 'hash', 0)).toBe('claimed');
    expect(store.claim(key, 'hash', 1)).toEqual({ requestHash: 'hash', outcome: { state: 'running' } });
    store.finish(key, { state: 'confirmed', rowId: 77 });
    expect(store.claim(key, 'other', 2)).toEqual({ requestHash: 'hash', outcome: { state: 'confirmed', rowId: 77 } });
    store.finish(key, { state: 'problem', problem: '{"a":1}' });
    expect(store.claim(key, 'hash', 3)).toEqual({
      requestHash: 'hash',
      outcome: { state: 'problem', problem: '{"a":1}' },
    });
    database.close();
  });

  test('a key is forgotten after 24 hours', () => {
    const database = openStateDatabase(newFile());
    const store = idempotencyStore(database);
    store.claim(key, 'hash', 0);
    expect(store.claim(key, 'hash', 24 * HOUR)).not.toBe('claimed');
    expect(store.claim(key, 'hash', 24 * HOUR + 1)).toBe('claimed');
    database.close();
  });

  test('a request that a crash interrupted is known as interrupted', () => {
    const path = newFile();
    const crashed = openStateDatabase(path);
    idempotencyStore(crashed).claim(key, 'hash', 0);
    crashed.close();
    const database = openStateDatabase(path);
    expect(idempotencyStore(database).claim(key, 'hash', 1)).toEqual({
      requestHash: 'hash',
      outcome: { state: 'interrupted' },
    });
    database.close();
  });

  test("Postern's own keys have the stored form that they had before they had a kind, which no client's key can have", () => {
    const database = openStateDatabase(newFile());
    const store = idempotencyStore(database);
    store.claim({ kind: 'ask', key: 'one\0two' }, 'hash', 0);
    const hash = createHash('sha256').update('\0ask\0one\0two').digest('hex');
    expect(database.prepare('SELECT key_hash FROM send').all()).toEqual([[hash]]);
    expect(store.find({ kind: 'client', key: 'one\0two' }, 1)).toBeUndefined();
    database.close();
  });

  test('neither key nor text is stored', () => {
    const path = newFile();
    const database = openStateDatabase(path);
    idempotencyStore(database).claim({ kind: 'client', key: 'my-visible-key' }, 'hash', 0);
    const stored = database.prepare('SELECT * FROM send').all().flat().join(' ');
    expect(stored).not.toContain('my-visible-key');
    database.close();
  });
});

describe('the lock', () => {
  test('a folder belongs to one service at a time, and is free again when that ends', () => {
    const release = lockFolder(folder);
    expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: 'already_running' }));
    release();
    lockFolder(folder)();
    expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a folder', (path: string) => void mkdirSync(path)],
    ['no database', (path: string) => writeFileSync(path, 'something else'.repeat(100))],
  ])('a folder that cannot be locked, its lock being %s, is refused with a sentence', (_, make) => {
    const unusable = newFile();
    mkdirSync(unusable);
    make(join(unusable, 'lock.db'));
    expect(() => lockFolder(unusable)).toThrow(expect.objectContaining({ code: 'state_db_unusable' }));
  });
});
