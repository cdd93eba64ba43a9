import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { DEFAULT_SETTINGS } from '../../src/core/model/webhook.ts';
import { openSqlite, type Sqlite } from '../../src/core/runtime/sqlite.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { assertOwnSchema, openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { approvalStore } from '../../src/features/access/state/approvals-store.ts';
import { auditStore } from '../../src/features/access/state/audit-store.ts';
import { keyStore } from '../../src/features/access/state/keys-store.ts';
import { FEATURES } from '../../src/features/list.ts';
import { oauthStore } from '../../src/features/oauth/oauth-store.ts';
import { selfChatStore } from '../../src/features/self-chat/store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

/** Writes a state.db in which the core still created the tables of features. */
function written(name: string): string {
  const path = join(folder, name);
  const old = openSqlite(path);
  old.exec(readFileSync(new URL('../support/state-version-24.sql', import.meta.url), 'utf8'));
  old.close();
  return path;
}

/** Opens it twice, as two starts do. */
function migrated(name: string): Sqlite {
  const path = written(name);
  openStateDatabase(path, FEATURES).close();
  return openStateDatabase(path, FEATURES);
}

test('a webhook and the cursor stay when features get tables of their own', () => {
  const database = migrated('core.db');
  expect(cursorStore(database).load()?.offset.rowId).toBe(12);
  const [webhook] = webhookStore(database, new FakeClock()).list();
  expect(webhook).toEqual({
    ...DEFAULT_SETTINGS,
    id: '44444444-4444-4444-8444-444444444444',
    url: 'http://127.0.0.1:9/agent',
    events: ['message.received', 'message.updated'],
    created_at: '2026-03-02T03:04:05Z',
    secret: 's',
    previousSecret: null,
    held: null,
    keyId: null,
    offset: { rowId: 12, change: 3 },
  });
  database.close();
});

test('so do keys, held sends, the audit log, proofs, subscriptions, counters and tokens', () => {
  const database = migrated('features.db');
  const keys = keyStore(database);
  expect(keys.list()).toMatchObject([{ id: '7f3a9c1e', send: [{ address: '+15550100' }], max_wait_s: 50 }]);
  expect(keys.secret('audit', () => 'another')).toBe('secret of the log');
  expect(approvalStore(database).list('held', 10)).toMatchObject([{ id: 'a-1', text: 'May I?', hasKey: true }]);
  expect(auditStore(database).list({ limit: 10 })).toMatchObject([{ target: '7f3a9c1e', outcome: 'created' }]);
  expect(selfChatStore(database).proof()).toMatchObject({ address: 'me@example.com' });
  expect(oauthStore(database).grantOfAccess('h1')).toMatchObject({ keyId: '7f3a9c1e' });
  const count = (table: string): unknown => database.prepare(`SELECT count(*) FROM ${table}`).get()?.[0];
  expect([count('subscription'), count('statistic'), count('statistic_time')].map(Number)).toEqual([1, 1, 1]);
  database.close();
});

test('its schema becomes that of a new database, so that its backup can be restored', () => {
  const database = migrated('schema.db');
  expect(() => assertOwnSchema(database, FEATURES)).not.toThrow();
  database.close();
});

test('a state.db from before the first release is refused, and stays as it is', () => {
  const path = written('early.db');
  const early = openSqlite(path);
  early.exec('PRAGMA user_version = 23');
  early.close();
  expect(() => openStateDatabase(path, FEATURES)).toThrow(/before the first release \(version 23\)/);
  const after = openSqlite(path);
  expect(Number(after.prepare('PRAGMA user_version').get()?.[0])).toBe(23);
  expect(after.prepare('SELECT count(*) FROM feature').get()?.map(Number)).toEqual([0]);
  after.close();
});
