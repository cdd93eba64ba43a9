import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { includeSet, NO_INCLUDES } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { DEFAULT_SETTINGS } from '../../src/core/model/webhook.ts';
import { openSqlite, type Sqlite } from '../../src/core/runtime/sqlite.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { assertOwnSchema, openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

/** Opens a state.db of 0.1.0, or of another version, with the current one. */
function migrated(name: string, from = 'state-0.1.0.sql'): Sqlite {
  const path = join(folder, name);
  const old = openSqlite(path);
  old.exec(readFileSync(new URL(`../support/${from}`, import.meta.url), 'utf8'));
  old.close();
  return openStateDatabase(path);
}

test('webhooks of 0.1.0 keep their offset, their includes and their deliveries', () => {
  const database = migrated('webhooks.db');
  const store = webhookStore(database, new FakeClock());
  const [plain, behind] = store.list();
  expect(plain).toEqual({
    id: '11111111-1111-4111-8111-111111111111',
    url: 'http://127.0.0.1:9/plain',
    events: ['message.received'],
    created_at: '2026-01-02T03:04:05Z',
    secret: null,
    include: NO_INCLUDES,
    name: null,
    enabled: true,
    headers: {},
    on_failure: 'drop',
    filter: null,
    previousSecret: null,
    held: null,
    keyId: null,
    offset: rowOffset(900),
  });
  expect(behind).toMatchObject({ include: includeSet(['details']), offset: rowOffset(17), secret: 'whsec_c2VjcmV0' });
  const id = behind?.id ?? '';
  expect(store.health(id)).toMatchObject({ state: 'failing', consecutive_failures: 2 });
  expect(store.deliveries(id)).toMatchObject([{ id: 'd17', row_id: 17, outcome: 'dropped', status: 500 }]);
  store.advance(id, rowOffset(18));
  expect(store.get(id)?.offset).toEqual(rowOffset(18));
  database.close();
});

test('a webhook from before webhooks could be changed stays as it is, and can be changed', () => {
  const database = migrated('version-5.db', 'state-version-5.sql');
  const store = webhookStore(database, new FakeClock());
  const [webhook] = store.list();
  expect(webhook).toEqual({
    ...DEFAULT_SETTINGS,
    id: '33333333-3333-4333-8333-333333333333',
    url: 'http://127.0.0.1:9/agent',
    events: ['message.received', 'message.updated'],
    created_at: '2026-03-02T03:04:05Z',
    secret: 's',
    include: includeSet(['details', 'contacts']),
    previousSecret: null,
    held: null,
    keyId: '7f3a9c1e',
    offset: { rowId: 880, change: 11 },
  });
  if (webhook === undefined) throw new Error('there is no webhook');
  expect(store.health(webhook.id)).toMatchObject({ state: 'failing', consecutive_failures: 1 });
  expect(store.deliveries(webhook.id)).toMatchObject([{ id: 'd880', outcome: 'dropped' }]);
  expect(store.droppedCount(webhook.id)).toBe(0);
  const held = {
    id: 'd881',
    row_id: 881,
    attempts: 3,
    since: '2026-03-02T05:00:00Z',
    error: 'The receiver answered 503.',
  };
  const changed = {
    ...webhook,
    name: 'agent',
    enabled: false,
    headers: { Authorization: 'x' },
    on_failure: 'hold' as const,
    filter: { conversation_ids: ['any;-;+15550100'], is_from_me: false },
    previousSecret: { secret: 's', untilMs: 4e12 },
    secret: 't',
    held,
  };
  store.update(changed);
  expect(store.get(webhook.id)).toEqual(changed);
  database.close();
});

test('the cursor of 0.1.0 is where publishing continues, and a replaced database still moves every webhook', () => {
  const database = migrated('cursor.db');
  const cursors = cursorStore(database);
  expect(cursors.load()).toEqual({ offset: rowOffset(900), guid: 'G900', inode: '18446744073709551615' });
  cursors.restart({ offset: rowOffset(3), guid: 'N3', inode: '5' });
  const offsets = webhookStore(database, new FakeClock())
    .list()
    .map(({ offset }) => offset);
  expect(offsets).toEqual([rowOffset(3), rowOffset(3)]);
  database.close();
});

test('where a message of 0.1.0 was sent is not known: recording begins where the service says', () => {
  const database = migrated('sent-parts.db');
  const store = sentPartStore(database);
  expect(store.completeSince()).toBeUndefined();
  store.begin(901);
  expect([store.completeSince(), store.ofRow(77), store.open()]).toEqual([901, undefined, []]);
  database.close();
});

test('a send of 0.1.0 with an Idempotency-Key is still known', () => {
  const database = migrated('sends.db');
  expect(idempotencyStore(database).find({ kind: 'client', key: 'k-1' }, 1_767_000_000_001)).toEqual({
    requestHash: 'hash',
    outcome: { state: 'confirmed', rowId: 77 },
  });
  database.close();
});

test.each(['state-0.1.0.sql', 'state-version-5.sql', 'state-version-8.sql'])(
  'the schema of %s becomes that of a new database, so that its backup can be restored',
  (from) => {
    const database = migrated(`schema-of-${from}.db`, from);
    expect(() => assertOwnSchema(database)).not.toThrow();
    database.close();
  },
);
