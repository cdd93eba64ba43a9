import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { IdempotencyKey } from '../../src/core/model/idempotency-key.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { FEATURES } from '../../src/features/list.ts';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const idempotencyKey: IdempotencyKey = { kind: 'client', key: 'k' };
let service: AccessSending;
beforeEach(() => {
  service = new AccessSending(temporaryFolder());
});
afterEach(() => service.close());

const idOf = (answer: object): string => (answer as { readonly message: { readonly id: string } }).message.id;
/** Gives the row of a sent message the content of another one, as in a chat.db that has replaced the first. */
const replaceRow = (id: string, columns: string): void =>
  service.chats.sqlite.exec(`UPDATE message SET text = 'A secret', ${columns} WHERE ROWID = ${id}`);

describe('after chat.db was replaced', () => {
  test('no approval and no scheduled send names a row of the old one', async () => {
    const caller = service.caller({ approval: 'always' });
    const held = await service.hold(caller, { idempotencyKey });
    await service.approve(held);
    const stored = () => service.approvals.get(held.id, 0);
    await eventually(async () => expect(await stored()).toMatchObject({ message_id: expect.any(String) }));
    const nowMs = service.clock.now();
    const later = { sendAtMs: nowMs + 60_000, sendUntilMs: nowMs + 120_000 };
    const { id } = await service.scheduler.add(
      { recipient: ANA, body: 'later', attachments: [], ...later },
      { keyId: 'owner' },
    );
    service.scheduler.start();
    await service.clock.advance(60_000);
    await eventually(() => expect(service.scheduled.get(id)).toMatchObject({ message_id: expect.any(String) }));
    cursorStore(service.state, FEATURES).restart({ offset: rowOffset(1), guid: 'B', inode: '8' });
    expect(await stored()).toMatchObject({ state: 'sent', message_id: null });
    expect(service.scheduled.get(id)).toMatchObject({ state: 'sent', message_id: null });
    expect(await service.send(caller, { idempotencyKey })).toMatchObject({ kind: 'deferred' });
    await service.scheduler.close();
  });
});

describe('a repeated request whose row id has become another message', () => {
  const incoming = 'is_from_me = 0';

  test.each(['never', 'always'] as const)('shows nothing of it to a limited key with approval %s', async (approval) => {
    const caller = service.caller({ approval });
    const ask = () => service.send(caller, { idempotencyKey });
    const first = await ask();
    if (first.kind === 'deferred') {
      const held = await service.approvals.get(first.deferred.id, 0);
      await service.approvals.approve(held.id, held.shown ?? '');
      await eventually(async () => expect(await ask()).toMatchObject({ confirmed: true, replayed: true }));
    }
    const id = idOf(await ask());
    expect(id).not.toBe('');
    replaceRow(id, incoming);
    expect(JSON.stringify(await ask())).not.toContain('A secret');
    replaceRow(id, 'is_from_me = 1');
    service.chats.sqlite.exec(`UPDATE chat_message_join SET chat_id = 2 WHERE message_id = ${id}`);
    expect(JSON.stringify(await ask())).not.toContain('A secret');
    expect(service.texts()).toEqual(['hello']);
  });
});
