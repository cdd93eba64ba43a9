import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AccessSending, ANA, approvalsOf, codeOf, GARDEN } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { seededChance } from '../support/seed.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const HOUR_MS = 3_600_000;
let folder: string;
let outbox: string;
let service: AccessSending;
beforeEach(() => {
  folder = temporaryFolder();
  outbox = join(folder, 'outbox');
  mkdirSync(outbox);
  service = new AccessSending(folder, { roots: [outbox] });
});
afterEach(() => service.close());

const always = { approval: 'always' } as const;

describe('a held send', () => {
  test('expires with the send that it is about', async () => {
    const sendAtMs = service.clock.now() + HOUR_MS;
    const held = await service.hold(service.caller(always), { sendAtMs, sendUntilMs: sendAtMs + HOUR_MS });
    expect(Date.parse(held.expires_at)).toBe(sendAtMs + HOUR_MS);
    await service.clock.advance(2 * HOUR_MS);
    expect(await service.stateOf(held.id)).toBe('expired');
  });

  test('sends nothing until it is approved, then exactly what was shown, once', async () => {
    const held = await service.hold(service.caller(always), { body: 'May I?' });
    expect(held).toMatchObject({
      state: 'held',
      to: ANA,
      members: [ANA],
      text: 'May I?',
      attachments: [],
      decided_by: null,
    });
    await idle();
    expect(service.messages.runs).toEqual([]);
    expect(await service.approve(held)).toMatchObject({ state: 'approved', decided_by: 'owner' });
    const end = await service.approvals.get(held.id, 0).then(async (now) => {
      if (now.state === 'sent') return now;
      await idle();
      return service.approvals.get(held.id, 0);
    });
    expect(end).toMatchObject({ state: 'sent', text: null, message_id: expect.stringMatching(/^\d+$/) });
    expect(service.texts()).toEqual(['May I?']);
  });

  test('goes by the service that was asked for, which the owner is shown', async () => {
    const asker = service.caller(always);
    const plain = await service.hold(asker, { body: 'By which?' });
    const held = await service.hold(asker, { body: 'By which?', service: 'sms' });
    expect(plain).not.toHaveProperty('service');
    expect(held).toMatchObject({ service: 'sms' });
    expect(held.shown).not.toBe(plain.shown);
    service = await service.restarted();
    await service.approve(held);
    await eventually(() => expect(service.messages.runs.map((run) => run.service)).toEqual(['SMS']));
  });

  test('is approved only as it was shown', async () => {
    const held = await service.hold(service.caller(always));
    expect(await codeOf(service.approvals.approve(held.id, 'x'.repeat(64)))).toBe('approval_changed');
    expect(await service.stateOf(held.id)).toBe('held');
  });

  test('replaying an approval does nothing more', async () => {
    const held = await service.hold(service.caller(always));
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect(await codeOf(service.approve(held))).toBe('already_decided');
    expect(await codeOf(service.approvals.deny(held.id))).toBe('already_decided');
    expect(service.texts()).toEqual(['hello']);
  });

  test('and then sent is a decision of the owner and a send of the key in the audit log', async () => {
    const caller = service.caller(always);
    const held = await service.hold(caller);
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).toBe('sent'));
    const { id = '' } = caller.key ?? {};
    const lines = service.access.audit.list({ limit: 10 }).slice(-2);
    expect(lines.map(({ key_id: by, action, outcome, target }) => [by, action, outcome, target])).toEqual([
      ['owner', 'approval', 'approved', held.id],
      [id, 'send', 'sent', held.to],
    ]);
  });

  test('is listed in the order in which it expires', async () => {
    const texts = ['first', 'second'];
    for (const body of texts) await service.hold(service.caller(always), { body }).then(() => service.clock.advance(1));
    const listed = await service.approvals.list({ state: 'held', waitMs: 0 });
    expect(listed.map(({ text }) => text)).toEqual(texts);
  });

  test('is the same one for a repeated request, and tells the asker the decision', async () => {
    const caller = service.caller(always);
    const held = await service.hold(caller);
    expect(await service.send(caller)).toMatchObject({ deferred: { id: held.id } });
    expect(await service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' } })).not.toMatchObject({
      deferred: { id: held.id },
    });
    await service.approvals.deny(held.id);
    expect(await codeOf(service.send(caller))).toBe('send_denied');
    const keyed = (await service.approvals.list({ state: 'held', waitMs: 0 }))[0];
    await service.approvals.approve(keyed?.id ?? '', keyed?.shown ?? '');
    await idle();
    expect(await service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' } })).toMatchObject({
      confirmed: true,
      replayed: true,
    });
    expect(await codeOf(service.send(caller, { idempotencyKey: { kind: 'client', key: 'k' }, body: 'other' }))).toBe(
      'idempotency_key_reused',
    );
    expect(service.texts()).toEqual(['hello']);
  });

  test('expires after 24 hours, and its text is erased', async () => {
    const caller = service.caller(always);
    const request = { body: 'between us '.repeat(300), idempotencyKey: { kind: 'client', key: 'k' } } as const;
    const held = await service.hold(caller, request);
    await service.clock.advance(24 * HOUR_MS);
    expect(await codeOf(service.approve(held))).toBe('approval_expired');
    expect(await service.approvals.get(held.id, 0)).toMatchObject({ state: 'expired', text: null });
    expect(await codeOf(service.send(caller, request))).toBe('approval_expired');
    expect(service.messages.runs).toEqual([]);
    service = await service.restarted();
    expect(readFileSync(join(folder, 'config/state.db')).includes('between us')).toBe(false);
  });

  test('of a revoked key is void', async () => {
    const caller = service.caller(always);
    const held = await service.hold(caller);
    service.access.keys.revoke(caller.key?.id ?? '');
    expect(await codeOf(service.approve(held))).toBe('already_decided');
    expect(await service.stateOf(held.id)).toBe('void');
  });

  test.each([0, 1])('at most 20 of one key wait, also when all are asked at once with %d files', async (count) => {
    const file = join(outbox, 'a.txt');
    writeFileSync(file, 'a');
    const caller = service.caller({ ...always, caps: { per_minute: 60 } });
    const attachments = Array<string>(count).fill(file);
    const codes = await Promise.all(
      Array.from({ length: 25 }, (_, index) => codeOf(service.send(caller, { body: `${index}`, attachments }))),
    );
    expect(codes.filter((code) => code === 'none').length).toBe(20);
    expect(new Set(codes)).toEqual(new Set(['none', 'too_many_held']));
  });

  test('only a first message to somebody is held under approval "new"', async () => {
    const caller = service.caller({ approval: 'new', send: [ANA, '+15559999'] });
    const held = await service.hold(caller, { recipient: ANA, body: 'one' });
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect(await service.send(caller, { recipient: ANA, body: 'two' })).toMatchObject({ confirmed: true });
    expect(await service.send(caller, { recipient: '+15559999', body: 'three' })).toMatchObject({
      deferred: { told: { state: 'held' } },
    });
  });
});

describe('somebody joins between the approval and the send', () => {
  test('and the send is void', async () => {
    const caller = service.caller({ ...always, send: [GARDEN] });
    const held = await service.hold(caller, { recipient: GARDEN });
    expect(held.members).toHaveLength(2);
    const garden = Number(service.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(GARDEN)?.[0]);
    service.chats.participant(garden, service.chats.handle('+15550166'));
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect(await service.approvals.get(held.id, 0)).toMatchObject({
      state: 'void',
      problem: 'recipient_not_allowed',
    });
    expect(service.messages.runs).toEqual([]);
    expect(service.access.keys.get(caller.key?.id ?? '').closed).toEqual([
      { conversation_id: GARDEN, joined: ['+15550166'] },
    ]);
  });

  test('a send is void, too, if somebody left: its readers are not those that were shown', async () => {
    const held = await service.hold(service.caller({ ...always, send: [GARDEN] }), { recipient: GARDEN });
    service.chats.sqlite.exec(
      "DELETE FROM chat_handle_join WHERE handle_id = (SELECT ROWID FROM handle WHERE id = '+15550101')",
    );
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect(await service.stateOf(held.id)).toBe('void');
  });
});

describe('a file of a held send', () => {
  let file: string;
  beforeEach(() => {
    file = join(outbox, 'a.txt');
    writeFileSync(file, 'the old bytes');
  });

  test('that is exchanged after the hold: the old bytes go', async () => {
    const held = await service.hold(service.caller(always), { attachments: [file] });
    expect(held.attachments).toMatchObject([{ name: 'a.txt', bytes: 13 }]);
    writeFileSync(file, 'the new bytes, which nobody approved');
    const sent: string[] = [];
    const { behave } = service.messages;
    service.messages.behave = (part, signal) => {
      if ('attachment' in part.content) sent.push(readFileSync(part.content.attachment, 'utf8'));
      return behave(part, signal);
    };
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect([await service.stateOf(held.id), sent]).toEqual(['sent', ['the old bytes']]);
    await eventually(() => expect(readdirSync(join(folder, 'config/held'))).toEqual([]));
  });

  test('whose copy was altered makes it void', async () => {
    const held = await service.hold(service.caller(always), { attachments: [file] });
    writeFileSync(join(folder, 'config/held', held.id, '0/a.txt'), 'other bytes');
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
    expect(await service.stateOf(held.id)).toBe('void');
    expect(service.messages.runs).toEqual([]);
  });

  test.each(['denied', 'withdrawn', 'expired'])('is removed once the send is %s', async (state) => {
    const caller = service.caller(always);
    const { id } = await service.hold(caller, { attachments: [file] });
    expect(readdirSync(join(folder, 'config/held'))).toEqual([id]);
    if (state === 'denied') await service.approvals.deny(id);
    else if (state === 'withdrawn') await approvalsOf(caller).withdraw(id);
    else await service.clock.advance(24 * HOUR_MS);
    expect(await service.stateOf(id)).toBe(state);
    await eventually(() => expect(readdirSync(join(folder, 'config/held'))).toEqual([]));
  });

  test('needs room beside all uploads, of which its own only change their place', async () => {
    const caller = service.caller(always);
    async function* content(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('13 characters');
    }
    const { id } = await caller.uploads.add({ name: 'b.txt', mimeType: undefined, content: content() });
    await service.hold(caller, { attachments: [file], body: 'earlier' });
    service.state.exec("UPDATE approval SET attachments = json_set(attachments, '$[0].bytes', 499999987)");
    expect(await codeOf(service.hold(caller, { attachments: [file] }))).toBe('storage_full');
    expect((await service.hold(caller, { uploads: caller.uploads.files([id]) })).state).toBe('held');
    await caller.uploads.discard([id]);
    const again = { body: 'again', uploads: caller.uploads.files([id]) };
    expect(await codeOf(service.hold(caller, again))).toBe('upload_not_found');
  });

  test('takes room until the send has ended, also while it is being sent', async () => {
    const caller = service.caller(always);
    const { id } = await service.hold(caller, { attachments: [file] });
    const kept = [{ keyId: caller.key?.id, bytes: 13 }];
    expect(service.access.keptBytes()).toEqual(kept);
    service.state.prepare("UPDATE approval SET state = 'approved' WHERE id = ?").run(id);
    expect(service.access.keptBytes()).toEqual(kept);
    service.state.prepare("UPDATE approval SET state = 'sent' WHERE id = ?").run(id);
    expect(service.access.keptBytes()).toEqual([]);
  });
});

describe('approving', () => {
  test('100 racing decisions by three ways: one send', async () => {
    const held = await service.hold(service.caller(always));
    const { key } = service.access.keys.add({ name: 'phone', scopes: ['approve'], settings: {} });
    const phone = service.access.find(key);
    if (phone === undefined) throw new Error('the key is not known');
    const ways = [
      () => service.approve(held),
      () => approvalsOf(phone).approve(held.id, held.shown),
      () => service.approvals.deny(held.id),
    ];
    const codes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => codeOf(ways[index % 3]?.() ?? Promise.resolve())),
    );
    await idle();
    expect(codes.filter((code) => code === 'none').length).toBe(1);
    expect(new Set(codes)).toEqual(new Set(['none', 'already_decided']));
    expect(service.texts()).toEqual(['hello']);
  });

  test('is refused to the key that asked, which sees nothing of the sends of others, and no "shown" of its own', async () => {
    const [asker, other] = [service.caller(always), service.caller(always)];
    const held = await service.hold(asker);
    expect(await approvalsOf(asker).get(held.id, 0)).not.toHaveProperty('shown');
    expect(await codeOf(approvalsOf(asker).approve(held.id, held.shown))).toBe('approval_not_found');
    expect(await codeOf(approvalsOf(asker).deny(held.id))).toBe('approval_not_found');
    expect(await codeOf(approvalsOf(other).get(held.id, 0))).toBe('approval_not_found');
    expect(await codeOf(approvalsOf(other).withdraw(held.id))).toBe('approval_not_found');
    expect(await approvalsOf(other).list({ waitMs: 0 })).toEqual([]);
    await approvalsOf(asker).withdraw(held.id);
    expect(await service.stateOf(held.id)).toBe('withdrawn');
    expect(service.messages.runs).toEqual([]);
  });

  test('answers a waiting request at once, or when its time is up', async () => {
    const caller = service.caller(always);
    const held = await service.hold(caller);
    const waiting = approvalsOf(caller).get(held.id, 50_000);
    await service.approvals.deny(held.id);
    expect(await waiting).toMatchObject({ state: 'denied' });
    const second = await service.hold(caller, { body: 'second' });
    const timed = approvalsOf(caller).get(second.id, 50_000);
    await service.clock.advance(50_000);
    expect(await timed).toMatchObject({ state: 'held' });
    const expiring = approvalsOf(caller).get(second.id, 50_000);
    await service.clock.advance(1000);
    service = await service.restarted();
    expect(await expiring).toMatchObject({ state: 'held' });
  });
});

test('the text approved is byte for byte what osascript gets, whatever it is made of', async () => {
  const chance = seededChance('texts that are approved');
  const random = (): number => chance.next();
  const caller = service.caller({ ...always, caps: { per_minute: 60, per_day: 200 } });
  const special = [
    '\u202e',
    '\u200b',
    '\u0000'.replace('\0', '\u0001'),
    '\n',
    '\r\n',
    '\u2028',
    '"',
    '\\',
    '$(id)',
    '`',
    "'",
    '👩‍👩‍👧',
    '\ufeff',
    '\u0301',
    '%s',
    '</messages>',
    '\t',
  ];
  const made = Array.from({ length: 15 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 40) }, () =>
      random() < 0.5
        ? (special[Math.floor(random() * special.length)] ?? '')
        : String.fromCodePoint(0x20 + Math.floor(random() * 0xd7df)),
    ).join(''),
  );
  // An equal text would be a repetition.
  const texts = [...new Set(made)];
  for (const body of texts) {
    const held = await service.hold(caller, { body });
    expect(held.text).toBe(body);
    await service.approve(held);
    await eventually(async () => expect(await service.stateOf(held.id)).not.toBe('approved'));
  }
  expect(service.texts().map((text) => Buffer.from(text).toString('hex'))).toEqual(
    texts.map((text) => Buffer.from(text).toString('hex')),
  );
});
