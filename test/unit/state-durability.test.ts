import { test } from '@jest/globals';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { expectDurable } from '../support/durability.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const key = { kind: 'client', key: 'key' } as const;
const times = { id: 'id', nowMs: 0, untilMs: 0 };
const row = { requestId: undefined, idempotencyKey: undefined, afterRowId: 1 };
const part = { atMs: 0, chat: 'any', content: 'hash', ...row } as const;

test.each<[string, (database: Sqlite) => unknown]>([
  ['the claim of a send', (database) => idempotencyStore(database).claim(key, 'hash', 0)],
  ['the outcome of a send', (database) => idempotencyStore(database).finish(key, { state: 'provisional' })],
  ['the claim of a deferred send', (database) => idempotencyStore(database).defer(key, 'other', times, () => {})],
  ['a part that is about to be sent', (database) => sentPartStore(database).record(part)],
])('%s survives a power failure', (_, write) => expectDurable(folder, [], write));
