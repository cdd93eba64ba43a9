import { test } from '@jest/globals';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import { approvalStore } from '../../src/features/access/state/approvals-store.ts';
import { canaryStore } from '../../src/features/canary/store.ts';
import { FEATURES } from '../../src/features/list.ts';
import { scheduledStore } from '../../src/features/scheduled/store.ts';
import { selfChatStore } from '../../src/features/self-chat/store.ts';
import { expectDurable } from '../support/durability.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const decision = { at: '2026-01-01T00:00:00Z', by: 'owner', nowMs: 0 };
const ended = { messageId: null, problem: null };
const sent = { address: 'me@example.com', number: '1', sentMs: 0, outcome: 'waiting', lost: 0 } as const;
const canary = { ...sent, problem: null, arrivedMs: null, delayMs: null, deadSinceMs: null };

test.each<[string, (database: Sqlite) => unknown]>([
  ['a decision about a held send', (database) => approvalStore(database).decide('id', 'approved', decision)],
  ['the end of an approved send', (database) => approvalStore(database).finish('id', 'sent', ended)],
  ['a scheduled send that begins', (database) => scheduledStore(database).begin('id', 0)],
  ['a scheduled send that is tried again', (database) => scheduledStore(database).putBack('id')],
  ['the end of a scheduled send', (database) => scheduledStore(database).end('id', 'sending', 'sent', { atMs: 0 })],
  ['a message to oneself', (database) => canaryStore(database).save(canary)],
  ['the end of a proof', (database) => selfChatStore(database).forget()],
])('%s survives a power failure', (_, write) => expectDurable(folder, FEATURES, write));
