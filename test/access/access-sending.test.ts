import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AppError } from '../../src/core/model/errors.ts';
import { AccessSending, ANA, BEN, codeOf, GARDEN, ME, SELF_CHAT } from '../support/access-sending.ts';
import { failed } from '../support/in-memory-messages.ts';
import { temporaryFolder } from '../support/temporary.ts';

let folder: string;
let service: AccessSending;
beforeEach(() => {
  folder = temporaryFolder();
  service = new AccessSending(folder);
});
afterEach(() => service.close());

describe('a send under a limited key', () => {
  test('goes only to people on the list, in any spelling of their addresses', async () => {
    const caller = service.caller();
    for (const [index, recipient] of [ANA, '+1 (555) 01-00', `any;-;${ANA}`, `SMS;-;${ANA}`].entries()) {
      expect(await service.send(caller, { recipient, body: `to Ana ${index}` })).toMatchObject({ confirmed: true });
    }
    for (const recipient of [BEN, GARDEN, 'chat77', '15550100', '+15559999', `any;-;${BEN}`]) {
      expect([recipient, await codeOf(service.send(caller, { recipient }))]).toEqual([
        recipient,
        'recipient_not_allowed',
      ]);
    }
    expect(service.texts()).toEqual(['to Ana 0', 'to Ana 1', 'to Ana 2', 'to Ana 3']);
  });

  test('that was sent in part is not sent again by the same request', async () => {
    const outbox = join(folder, 'outbox');
    service = await service.restarted({ roots: [outbox] });
    mkdirSync(outbox);
    writeFileSync(join(outbox, 'a.txt'), 'a');
    const caller = service.caller();
    const usual = service.messages.behave;
    service.messages.behave = (part, signal) => ('body' in part.content ? usual(part, signal) : failed(-1743));
    const ask = () => codeOf(service.send(caller, { recipient: ANA, attachments: [join(outbox, 'a.txt')] }));
    expect([await ask(), service.texts().length]).toEqual(['messages_unavailable', 2]);
    service.messages.behave = usual;
    expect([await ask(), service.texts().length]).toEqual(['messages_unavailable', 2]);
  });

  test('is answered as sent although the audit log cannot be written any more', async () => {
    const callers = [service.caller(), undefined];
    service.state.exec(`CREATE TRIGGER full BEFORE INSERT ON audit WHEN NEW.outcome <> 'asked'
      BEGIN SELECT RAISE(ABORT, 'full'); END`);
    for (const caller of callers) {
      const request = { recipient: ANA, body: 'once', attachments: [] };
      const answer = caller === undefined ? service.ownerSender.send(request) : service.send(caller, request);
      expect(await answer).toMatchObject({ kind: 'sent', confirmed: true });
    }
    expect(service.log.lines.map(({ message }) => message).join()).toContain('audit log');
  });

  test.each(['Ana Silva', 'Ana', 'Ångström 2', 'AMZN', 'Garden group'])(
    'to the name %s is not called forbidden: the answer says what to use',
    async (recipient) => {
      const rights = [service.caller(), service.caller({ send: '*' }), service.owner];
      for (const caller of rights) {
        for (const dryRun of [false, true]) {
          expect(await codeOf(service.send(caller, { recipient, dryRun }))).toBe('recipient_is_name');
        }
      }
      expect(service.messages.runs).toEqual([]);
    },
  );

  test('never begins the conversation in which the owner decides, whoever the list names', async () => {
    const self = new AccessSending(join(folder, 'self'), { selfAddress: ME });
    const caller = self.caller({ send: '*' });
    for (const recipient of [ME, SELF_CHAT]) {
      expect(await codeOf(self.send(caller, { recipient }))).toBe('recipient_not_allowed');
    }
    expect(self.texts()).toEqual([]);
    await self.close();
  });

  test('to an alphanumeric sender is refused, although chat.db has the conversation', async () => {
    service.chats.chat('any;-;AMZN', ['AMZN']);
    for (const caller of [service.owner, service.caller({ send: '*' })]) {
      for (const dryRun of [false, true]) {
        expect(await codeOf(service.send(caller, { recipient: 'AMZN', dryRun }))).toBe('recipient_is_name');
        expect(await codeOf(service.send(caller, { recipient: 'any;-;AMZN', dryRun }))).toBe('invalid_request');
      }
    }
    expect(service.messages.runs).toEqual([]);
  });

  test('goes to one group in every spelling of its id, and to no person that has its name', async () => {
    service.chats.chat('iMessage;-;chat77', ['chat77']);
    const listed = service.caller({ send: [GARDEN] });
    const spellings = ['chat77', 'iMessage;+;chat77', 'any;-;chat77', 'iMessage;-;chat77', 'SMS;-;CHAT77'];
    for (const recipient of spellings) {
      expect(await service.send(listed, { recipient, body: recipient })).toMatchObject({
        message: { conversation_id: GARDEN },
      });
      const owners = { recipient, body: `owner ${recipient}`, attachments: [] };
      expect(await service.ownerSender.send(owners)).toMatchObject({ message: { conversation_id: GARDEN } });
    }
    expect(service.messages.runs.every(({ chatId }) => chatId?.endsWith(';+;chat77'))).toBe(true);
  });

  test('to an unknown group never reaches Messages, and only a key that may write to everyone learns that it is unknown', async () => {
    for (const recipient of ['chat999', 'iMessage;-;chat999', 'any;-;chat999', 'SMS;-;chat999']) {
      const sends = [
        service.send(service.caller(), { recipient }),
        service.send(service.caller({ send: '*' }), { recipient }),
        service.ownerSender.send({ recipient, body: 'x', attachments: [] }),
      ];
      expect([recipient, ...(await Promise.all(sends.map(codeOf)))]).toEqual([
        recipient,
        'recipient_not_allowed',
        'unknown_conversation',
        'unknown_conversation',
      ]);
    }
    expect(await codeOf(service.send(service.caller({ send: '*' }), { recipient: 'any;+;chat999' }))).toBe(
      'unknown_conversation',
    );
    expect(service.messages.runs).toEqual([]);
  });

  test('is refused in the same words whether the recipient exists or not', async () => {
    const caller = service.caller();
    const [there, never] = await Promise.allSettled([
      service.send(caller, { recipient: BEN }),
      service.send(caller, { recipient: '+15559999' }),
    ]);
    expect(String((there as PromiseRejectedResult).reason)).toBe(String((never as PromiseRejectedResult).reason));
  });

  test('a message says "forward this to +1…": a client that obeys runs no osascript, and the audit log tells', async () => {
    const caller = service.caller();
    await codeOf(service.send(caller, { recipient: '+15559999', body: 'the secret' }));
    await codeOf(service.send(caller, { recipient: '+15559999', body: 'the secret' }));
    expect(service.messages.runs).toEqual([]);
    const refusals = service.access.audit.list({ limit: 10 }).filter(({ action }) => action === 'refused');
    expect(refusals).toMatchObject([{ outcome: 'recipient_not_allowed', target: '+15559999', count: 2 }]);
    expect(JSON.stringify(service.access.audit.list({ limit: 10 }))).not.toContain('the secret');
  });

  test('a file outside the listed folders is refused in the same way whether it exists or not, and any file if no folder is listed', async () => {
    const outbox = join(folder, 'outbox');
    service = await service.restarted({ roots: [outbox] });
    mkdirSync(outbox);
    writeFileSync(join(outbox, 'a.txt'), 'fine');
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    const caller = service.caller();
    const attach = (path: string) => codeOf(service.send(caller, { attachments: [path] }));
    expect(await attach('/etc/hosts')).toBe('attachment_not_allowed');
    expect(await attach('/etc/not-there')).toBe('attachment_not_allowed');
    expect(await attach(join(outbox, '../secret.txt'))).toBe('attachment_not_allowed');
    expect(await attach(join(outbox, 'none.txt'))).toBe('invalid_request');
    expect(await attach(join(outbox, 'a.txt'))).toBe('none');
    symlinkSync(folder, join(outbox, 'link'));
    const told = (path: string) =>
      service.send(caller, { attachments: [join(outbox, 'link', path)] }).catch(({ mistakes }: AppError) => mistakes);
    const nothing = [{ pointer: '/attachments/0', message: 'There is no such file.' }];
    for (const path of ['secret.txt', 'not-there.txt', '.']) expect(await told(path)).toEqual(nothing);
    const other = new AccessSending(join(folder, 'without'));
    expect(await codeOf(other.send(other.caller(), { attachments: [join(outbox, 'a.txt')] }))).toBe(
      'attachment_not_allowed',
    );
    await other.close();
  });

  test('somebody joins a group while another send holds the queue: nothing goes there', async () => {
    const caller = service.caller({ send: [ANA, GARDEN] });
    const { behave } = service.messages;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    service.messages.behave = async (part, signal) => {
      await held;
      return behave(part, signal);
    };
    const first = service.send(caller, { body: 'first' });
    const second = codeOf(service.send(caller, { recipient: GARDEN, body: 'for the garden' }));
    const garden = service.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(GARDEN)?.[0];
    service.chats.participant(Number(garden), service.chats.handle('+15550166'));
    release();
    await first;
    expect(await second).toBe('recipient_not_allowed');
    expect(service.texts()).toEqual(['first']);
  });

  test('a key that is revoked while its send waits sends nothing', async () => {
    const caller = service.caller();
    const { behave } = service.messages;
    service.messages.behave = async (part, signal) => {
      if ('body' in part.content && part.content.body === 'first') service.access.keys.revoke(caller.key?.id ?? '');
      return behave(part, signal);
    };
    const first = service.send(caller, { body: 'first' });
    const second = codeOf(service.send(caller, { body: 'second' }));
    await first;
    expect(await second).toBe('recipient_not_allowed');
    expect(service.texts()).toEqual(['first']);
  });

  test('mass sending stops at the caps, also when all requests come at once, and over a restart', async () => {
    const caller = service.caller();
    const codes = await Promise.all(
      Array.from({ length: 200 }, (_, index) => codeOf(service.send(caller, { body: `spam ${index}` }))),
    );
    expect(codes.filter((code) => code === 'none').length).toBe(10);
    expect(new Set(codes)).toEqual(new Set(['none', 'cap_reached']));
    await expect(service.send(caller, { body: 'again' })).rejects.toMatchObject({ headers: { 'Retry-After': '60' } });
    const { key } = caller;
    service = await service.restarted();
    const again = service.access.callerOf(key?.id ?? '');
    if (again === undefined) throw new Error('the key is gone');
    expect(await codeOf(service.send(again, { body: 'after the restart' }))).toBe('cap_reached');
    await service.clock.advance(60_001);
    expect(await codeOf(service.send(again, { body: 'a minute later' }))).toBe('none');
  });

  test('new people have a cap of their own, and one person counts once', async () => {
    const people = Array.from({ length: 7 }, (_, index) => `+1555020${index}`);
    const caller = service.caller({ send: people, caps: { new_contacts_per_day: 2, per_minute: 60 } });
    const codes: string[] = [];
    for (const recipient of [people[0], people[0], people[1], people[2]]) {
      codes.push(await codeOf(service.send(caller, { recipient: recipient ?? '', body: `${codes.length}` })));
    }
    expect(codes).toEqual(['none', 'none', 'none', 'cap_reached']);
    // Held sends leave people new, and each of those people still counts once.
    const asking = service.caller({ send: people, approval: 'always', caps: { new_contacts_per_day: 2 } });
    for (const recipient of [people[3], people[4], people[5], people[3]]) {
      codes.push(await codeOf(service.send(asking, { recipient: recipient ?? '', body: `${codes.length}` })));
    }
    expect(codes.slice(4)).toEqual(['none', 'none', 'cap_reached', 'none']);
  });

  test('all limited keys together stop at 200 a day', async () => {
    const callers = [0, 1, 2].map(() => service.caller({ caps: { per_minute: 60, per_day: 200 } }));
    let sent = 0;
    for (let round = 0; round < 8; round += 1) {
      for (const caller of callers) {
        for (let index = 0; index < 10; index += 1) {
          if ((await codeOf(service.send(caller, { body: `${round} ${index}` }))) === 'none') sent += 1;
        }
      }
      await service.clock.advance(61_000);
    }
    expect(sent).toBe(200);
    const { key } = service.caller();
    expect(service.access.keys.get(key?.id ?? '').remaining?.per_day).toBe(0);
  });
});

describe('a dry run', () => {
  test('of the key or of the request says what would happen, sends nothing and counts nothing', async () => {
    const [always, dry] = [service.caller({ approval: 'always' }), service.caller({ dry_run: true })];
    const answer = { to: ANA, members: [ANA], text: 'hello' };
    expect(await service.send(always, { dryRun: true })).toEqual({
      kind: 'dry_run',
      dryRun: { would: 'hold', ...answer },
    });
    expect(await service.send(dry)).toEqual({ kind: 'dry_run', dryRun: { would: 'send', ...answer } });
    expect(await codeOf(service.send(dry, { recipient: BEN }))).toBe('recipient_not_allowed');
    expect(service.messages.runs).toEqual([]);
    expect(service.access.keys.get(dry.key?.id ?? '').remaining).toEqual({
      per_minute: 10,
      per_day: 100,
      new_contacts_per_day: 5,
    });
    expect(await service.approvals.list({ waitMs: 0 })).toEqual([]);
  });

  test('works for the owner', async () => {
    expect(await service.ownerSender.send({ recipient: ANA, body: 'hi', attachments: [], dryRun: true })).toEqual({
      kind: 'dry_run',
      dryRun: { would: 'send', to: ANA, members: [ANA], text: 'hi' },
    });
    for (const recipient of ['chat999', 'iMessage;-;chat999', 'any;+;chat999']) {
      const run = service.ownerSender.send({ recipient, body: 'hi', attachments: [], dryRun: true });
      expect([recipient, await codeOf(run)]).toEqual([recipient, 'unknown_conversation']);
    }
    const withoutFile = { recipient: ANA, body: 'hi', attachments: ['/no/such/file'], dryRun: true };
    expect(await codeOf(service.ownerSender.send(withoutFile))).toBe('invalid_request');
    expect(service.messages.runs).toEqual([]);
  });
});

describe('the same ask', () => {
  test('within 10 minutes neither sends nor counts again; later it is another one', async () => {
    const caller = service.caller();
    expect(await service.send(caller)).toMatchObject({ confirmed: true, replayed: false });
    expect(await service.send(caller)).toMatchObject({ confirmed: true, replayed: true });
    expect(service.access.keys.get(caller.key?.id ?? '').remaining?.per_minute).toBe(9);
    await service.clock.advance(10 * 60_000 + 1);
    expect(await service.send(caller)).toMatchObject({ confirmed: true, replayed: false });
    expect(service.texts()).toEqual(['hello', 'hello']);
  });

  test('is by Idempotency-Key another one for each limited key, and another body under it is 422', async () => {
    const [one, two] = [service.caller(), service.caller()];
    await service.send(one, { idempotencyKey: { kind: 'client', key: 'k' }, body: 'one' });
    await service.send(two, { idempotencyKey: { kind: 'client', key: 'k' }, body: 'two' });
    await service.sender.send({
      recipient: ANA,
      body: 'owner',
      attachments: [],
      idempotencyKey: { kind: 'client', key: 'k' },
    });
    expect(service.texts()).toEqual(['one', 'two', 'owner']);
    expect(await codeOf(service.send(one, { idempotencyKey: { kind: 'client', key: 'k' }, body: 'other' }))).toBe(
      'idempotency_key_reused',
    );
  });

  test('may be tried again after a failure that sent nothing', async () => {
    const caller = service.caller();
    const { behave } = service.messages;
    service.messages.behave = () => ({ kind: 'failed', number: -43, message: 'no' });
    expect(await codeOf(service.send(caller))).toBe('send_failed');
    service.messages.behave = behave;
    expect(await codeOf(service.send(caller))).toBe('none');
  });
});

describe('the audit log', () => {
  test('has each send of a limited key twice and those of the owner, with a keyed hash and no text', async () => {
    await service.ownerSender.send({ recipient: ANA, body: 'before any key', attachments: [] });
    const caller = service.caller();
    await service.send(caller, { body: 'yes' });
    await service.ownerSender.send({ recipient: BEN, body: 'yes', attachments: [] });
    const lines = service.access.audit.list({ limit: 100 });
    expect(lines.map(({ key_id, action, outcome }) => [key_id, action, outcome])).toEqual([
      ['owner', 'key', 'created'],
      [caller.key?.id, 'send', 'asked'],
      [caller.key?.id, 'send', 'sent'],
      ['owner', 'send', 'sent'],
    ]);
    const hashes = lines.slice(1).map(({ text_hmac }) => text_hmac);
    expect(new Set(hashes)).toEqual(new Set([service.access.audit.hmac('yes')]));
    const { createHash } = await import('node:crypto');
    expect(hashes[0]).not.toBe(createHash('sha256').update('yes').digest('hex'));
    service.messages.behave = () => ({ kind: 'failed', number: -43, message: 'no' });
    await codeOf(service.ownerSender.send({ recipient: BEN, body: 'no', attachments: [] }));
    const owners = service.access.audit.list({ keyId: 'owner', limit: 100 });
    expect(owners.map(({ outcome }) => outcome)).toEqual(['created', 'sent', 'send_failed']);
    expect(service.access.audit.list({ after: lines[2]?.id, limit: 100 })).toHaveLength(2);
  });

  test('a loop of refusals is one line a minute', async () => {
    const caller = service.caller();
    for (let index = 0; index < 500; index += 1) {
      await codeOf(service.send(caller, { recipient: BEN, body: `${index}` }));
    }
    const counts = (): readonly number[] =>
      service.access.audit.list({ action: 'refused', limit: 1000 }).map(({ count }) => count);
    expect(counts()).toEqual([500]);
    await service.clock.advance(60_000);
    await codeOf(service.send(caller, { recipient: BEN }));
    // A line is not continued from before its minute, after the clock was set back.
    service.clock.step(-3_600_000);
    for (const _ of [1, 2, 3]) await codeOf(service.send(caller, { recipient: BEN }));
    expect(counts()).toEqual([500, 1, 3]);
    await codeOf(service.send(caller, { recipient: BEN }));
    service = await service.restarted();
    expect(counts()).toEqual([500, 1, 4]);
  });

  test('keeps 90 days and no more', async () => {
    const caller = service.caller({ expires_at: null });
    await service.send(caller);
    service.clock.pause(91 * 24 * 3_600_000);
    service = await service.restarted();
    expect(service.access.audit.list({ limit: 100 })).toEqual([]);
  });
});
