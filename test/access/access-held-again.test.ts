import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Approval } from '../../src/client/access-types.ts';
import { heldAnswer } from '../../src/features/access/held-answer.ts';
import type { StoredApproval } from '../../src/features/access/ports.ts';
import { approvalStore } from '../../src/features/access/state/approvals-store.ts';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import { AccessSending, ANA, approvalsOf, codeOf } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { SelfChatFixture } from '../support/self-chat.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const always = { approval: 'always' } as const;
let folders = 0;
let folder: string;
beforeEach(() => {
  folders += 1;
  folder = join(root, String(folders));
});

describe('ask, take back and ask again', () => {
  let service: AccessSending;
  beforeEach(() => {
    service = new AccessSending(folder);
  });
  afterEach(() => service.close());

  test('passes the caps in a loop: the third ask of a cap of two is refused', async () => {
    const caller = service.caller({ ...always, caps: { per_minute: 2, per_day: 3 } });
    const askAndTakeBack = async (): Promise<void> => {
      const { id } = await service.hold(caller);
      await approvalsOf(caller).withdraw(id);
    };
    const loop = (): Promise<string> => codeOf(askAndTakeBack());
    expect([await loop(), await loop(), await loop()]).toEqual(['none', 'none', 'cap_reached']);
    await service.clock.advance(MINUTE_MS + 1);
    expect([await loop(), await loop()]).toEqual(['none', 'cap_reached']);
    expect(service.access.keys.get(caller.key?.id ?? '').remaining).toMatchObject({ per_minute: 0, per_day: 0 });
  });

  test('holds one of two equal asks that come at once after it', async () => {
    const caller = service.caller(always);
    await approvalsOf(caller).withdraw((await service.hold(caller)).id);
    const [one, two] = await Promise.all([service.hold(caller), service.hold(caller)]);
    expect(one.id).toBe(two.id);
    expect(service.access.keys.get(caller.key?.id ?? '').remaining?.per_minute).toBe(8);
  });

  test('refuses another content under the same Idempotency-Key, also while the files of the first are copied', async () => {
    const caller = service.caller(always);
    const idempotencyKey = { kind: 'client', key: 'k' } as const;
    const ask = (body: string) => codeOf(service.send(caller, { idempotencyKey, body }));
    expect(await Promise.all([ask('one'), ask('one'), ask('another')])).toEqual([
      'none',
      'none',
      'idempotency_key_reused',
    ]);
    expect(await ask('another')).toBe('idempotency_key_reused');
  });

  test('sends the same text twice once approval is off: a repeat of the sent one is a repeat', async () => {
    const caller = service.caller(always);
    await approvalsOf(caller).withdraw((await service.hold(caller)).id);
    service.access.keys.change(caller.key?.id ?? '', { approval: 'never' });
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(service.send(caller))));
    expect(codes).toEqual(['none', 'send_in_progress', 'send_in_progress']);
    expect(await service.send(caller)).toMatchObject({ replayed: true });
    expect(service.texts()).toEqual(['hello']);
  });

  test.each(['never', 'always'] as const)('schedules again what was cancelled, with approval %s', async (approval) => {
    const caller = service.caller({ approval });
    const sendAtMs = service.clock.now() + HOUR_MS;
    const schedule = async (): Promise<string> => {
      const answer = await service.send(caller, { sendAtMs, sendUntilMs: sendAtMs + HOUR_MS });
      if (answer.kind !== 'deferred') throw new Error(`It was ${answer.kind}.`);
      const { id } = answer.deferred;
      const [held] = await service.approvals.list({ state: 'held', waitMs: 0 });
      if (held !== undefined) await service.approvals.approve(id, held.shown ?? '');
      await idle();
      return id;
    };
    const first = await schedule();
    expect(await schedule()).toBe(first);
    caller.port(SCHEDULED).cancel(first);
    const second = await schedule();
    expect(second).not.toBe(first);
    expect(caller.port(SCHEDULED).get(second).state).toBe('scheduled');
    expect(await schedule()).toBe(second);
  });

  test('tells a repeat with an Idempotency-Key that the scheduled send was cancelled', async () => {
    const caller = service.caller();
    const sendAtMs = service.clock.now() + HOUR_MS;
    const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR_MS };
    const ask = () => service.send(caller, { ...times, idempotencyKey: { kind: 'client', key: 'k' } });
    const first = await ask();
    expect(first).toMatchObject({ deferred: { told: { state: 'scheduled' } } });
    if (first.kind === 'deferred') caller.port(SCHEDULED).cancel(first.deferred.id);
    const text = expect.stringMatching(/is cancelled\. It was not scheduled again/);
    expect(await ask()).toMatchObject({ replayed: true, deferred: { told: { state: 'cancelled', text } } });
  });

  test('is the same ask for an Idempotency-Key, which was decided', async () => {
    const caller = service.caller(always);
    await approvalsOf(caller).withdraw(
      (await service.hold(caller, { idempotencyKey: { kind: 'client', key: 'k' } })).id,
    );
    expect(await codeOf(service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' } }))).toBe(
      'already_decided',
    );
  });
});

describe('the answer to a repeated ask', () => {
  let service: AccessSending;
  beforeEach(() => {
    service = new AccessSending(folder);
  });
  afterEach(() => service.close());

  test('says that nothing was sent only while the send waits for the owner', async () => {
    const { id } = await service.hold(service.caller(always));
    const stored = approvalStore(service.state).get(id) as StoredApproval;
    const answered = (state: StoredApproval['state']) => {
      const answer = heldAnswer({ ...stored, state });
      if (answer.kind !== 'deferred') throw new Error('the send was not deferred');
      const { told, notice } = answer.deferred;
      return [told.state, told.approval_id, /nothing was sent/.test(told.text), /is held/.test(notice ?? '')];
    };
    expect(answered('held')).toEqual(['held', id, true, true]);
    expect(answered('scheduled')).toEqual(['scheduled', id, false, false]);
    for (const state of ['approved', 'pending', 'sent'] as const) {
      expect([state, ...answered(state)]).toEqual([state, 'pending', id, false, false]);
    }
  });
});

describe('in the self-chat', () => {
  let self: SelfChatFixture;
  beforeEach(async () => {
    self = new SelfChatFixture(folder);
    await self.prove();
  });
  afterEach(() => self.service.close());

  const written = (): number => self.service.texts().filter((text) => text.startsWith('Postern asks')).length;
  const settled = async (): Promise<void> => {
    for (let round = 0; round < 30; round += 1) await self.published();
  };
  /** Asks with several keys, because one may have at most 20 held sends. */
  const ask = async (count: number, what: string): Promise<void> => {
    for (let held = 0; held < count; held += 1) {
      const caller = self.service.caller({ ...always, caps: { per_minute: 60, per_day: 200 } });
      await self.service.hold(caller, { body: `${what} ${held}` });
    }
    await settled();
  };

  test('a key that asks on and on has Postern write 20 messages an hour there and no more', async () => {
    await ask(25, 'now');
    // One was the code.
    expect(written()).toBe(19);
    expect(await self.service.approvals.list({ state: 'held', waitMs: 0 })).toHaveLength(25);
    expect(self.service.log.lines.filter(({ message }) => /too many messages/.test(message))).toHaveLength(6);
    await self.service.clock.advance(HOUR_MS);
    await ask(2, 'later');
    expect(written()).toBe(21);
  });

  test('a restart neither begins another 20 nor counts the earlier messages again', async () => {
    await ask(18, 'before');
    expect(written()).toBe(18);
    await self.restart();
    await self.service.access.start();
    await ask(3, 'after');
    expect(written()).toBe(1);
  });

  test('codes count too, and the next one is refused with the time', async () => {
    await ask(25, 'now');
    await expect(self.service.selfChat.sendCode()).rejects.toMatchObject({
      code: 'self_chat_full',
      headers: { 'Retry-After': expect.stringMatching(/^3[56]\d\d$/) },
    });
    await self.service.clock.advance(HOUR_MS);
    await idle();
    expect(await codeOf(self.service.selfChat.sendCode())).toBe('none');
  });
});

describe('approvals that ended', () => {
  let service: AccessSending;
  beforeEach(() => {
    service = new AccessSending(folder);
  });
  afterEach(() => service.close());

  const rows = (): number => Number(service.state.prepare('SELECT count(*) FROM approval').get()?.[0]);

  /** Adds ended approvals without an Idempotency-Key, as a loop would leave them. */
  function fill(count: number, like: Approval): void {
    const store = approvalStore(service.state);
    const stored = store.get(like.id) as StoredApproval;
    service.state.transaction(() => {
      for (let number = 0; number < count; number += 1) {
        store.add({ ...stored, id: `old-${number}`, ask: 'x', hasKey: false, state: 'withdrawn', text: null });
      }
    });
  }

  test('are gone 30 days after their time was over, and what waits stays', async () => {
    const caller = service.caller({ ...always, expires_at: null });
    const { id } = await service.hold(caller);
    await service.approvals.deny(id);
    service.clock.pause(31 * DAY_MS - 1);
    await service.hold(caller, { body: 'still there' });
    expect(rows()).toBe(2);
    await service.clock.advance(2);
    await service.hold(caller, { body: 'gone' });
    expect(rows()).toBe(2);
    expect(await codeOf(service.approvals.get(id, 0))).toBe('approval_not_found');
  });

  test('are at most 10,000, and the oldest go first', async () => {
    const caller = service.caller(always);
    const held = await service.hold(caller);
    fill(10_005, held);
    await service.hold(caller, { body: 'another' });
    expect(rows()).toBe(10_001);
    expect((await service.approvals.get(held.id, 0)).state).toBe('held');
    expect(await codeOf(service.approvals.get('old-5', 0))).toBe('approval_not_found');
    expect((await service.approvals.get('old-6', 0)).state).toBe('withdrawn');
  });

  test('are pruned at the start too', async () => {
    const held = await service.hold(service.caller(always));
    fill(10_002, held);
    await service.access.start();
    expect(rows()).toBe(10_000);
  });

  test('with an Idempotency-Key answer it for 30 days, whatever else is pruned', async () => {
    const caller = service.caller({ ...always, expires_at: null });
    const held = await service.hold(caller, { idempotencyKey: { kind: 'client', key: 'k' } });
    await service.approvals.deny(held.id);
    fill(10_005, held);
    await service.hold(caller, { body: 'another' });
    service.clock.pause(30 * DAY_MS - 1);
    await service.hold(caller, { body: 'and another' });
    expect(await codeOf(service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' } }))).toBe('send_denied');
    expect(
      await codeOf(
        service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' }, recipient: ANA, body: 'other' }),
      ),
    ).toBe('idempotency_key_reused');
  });
});

test('an approved send has failed if Messages marks its row as failed', async () => {
  const service = new AccessSending(folder);
  const { behave } = service.messages;
  service.messages.behave = async (...run) => {
    const outcome = await behave(...run);
    service.chats.sqlite.exec('UPDATE message SET error = 22 WHERE is_from_me = 1');
    return outcome;
  };
  const { id, shown } = await service.hold(service.caller(always));
  await service.approvals.approve(id, shown);
  const end = { state: 'failed', problem: 'send_failed', message_id: expect.stringMatching(/^\d+$/) };
  await eventually(async () => expect(await service.approvals.get(id, 0)).toMatchObject(end));
  await service.close();
});
