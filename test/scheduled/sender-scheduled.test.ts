import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import { OWNER } from '../../src/core/model/owner.ts';
import type { SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { extractState, writeBackup } from '../../src/features/backup/backup-file.ts';
import { FEATURES } from '../../src/features/list.ts';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import type { ScheduledSend } from '../../src/features/scheduled/scheduled.ts';
import { scheduledStore } from '../../src/features/scheduled/store.ts';
import { AccessSending, ANA, codeOf } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { failed } from '../support/in-memory-messages.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
let folder: string;
let outbox: string;
let service: AccessSending;

async function start(): Promise<void> {
  await service.sender.start();
  await service.access.start();
  service.scheduler.start();
}
beforeEach(async () => {
  folder = temporaryFolder();
  outbox = join(folder, 'outbox');
  mkdirSync(outbox);
  service = new AccessSending(folder, { roots: [outbox] });
  await start();
});
afterEach(async () => {
  await service.scheduler.close();
  await service.close();
});

/** Restarts the service over the same files. */
async function restart(): Promise<void> {
  await service.scheduler.close();
  service = await service.restarted();
  await start();
}

/** Schedules a send in `inMs` milliseconds. */
async function schedule(inMs: number, more: Partial<SendRequest> = {}, by?: Caller): Promise<ScheduledSend> {
  const sendAtMs = service.clock.now() + inMs;
  const request = { body: 'later', sendAtMs, sendUntilMs: sendAtMs + HOUR, ...more };
  const asked = { recipient: ANA, attachments: [], ...request };
  const answer = by === undefined ? await service.ownerSender.send(asked) : await service.send(by, asked);
  if (answer.kind !== 'deferred') throw new Error(`It was ${answer.kind}.`);
  return (answer.deferred.body as { readonly scheduled: ScheduledSend }).scheduled;
}

const own = () => service.scheduled;
const now = ({ id }: { readonly id: string }): ScheduledSend => own().get(id);
async function pass(ms: number): Promise<void> {
  await service.clock.advance(ms);
  await idle();
  await service.clock.advance(0);
}
const cancelled = ({ id }: { readonly id: string }) => codeOf((async () => own().cancel(id))());

describe('a scheduled send', () => {
  test('goes out at its time and not before, once, and then keeps no text', async () => {
    const entry = await schedule(2 * HOUR);
    expect(entry).toMatchObject({ state: 'scheduled', source: 'postern', key_id: OWNER, to: ANA, text: 'later' });
    await pass(2 * HOUR - 1000);
    expect(service.texts()).toEqual([]);
    await pass(1000);
    expect(service.texts()).toEqual(['later']);
    await pass(DAY);
    expect(service.texts()).toEqual(['later']);
    const { message_id: row, ...end } = now(entry);
    expect(end).toMatchObject({ state: 'sent', text: null, problem: null });
    expect(row).toMatch(/^\d+$/);
    expect(service.state.prepare('SELECT text FROM scheduled').all()).toEqual([[null]]);
  });

  test('goes out in the order of the times, one after the other', async () => {
    await schedule(3 * MINUTE, { body: 'third' });
    await schedule(MINUTE, { body: 'first' });
    await schedule(2 * MINUTE, { body: 'second' });
    service.clock.pause(4 * MINUTE);
    await pass(0);
    expect(service.texts()).toEqual(['first', 'second', 'third']);
  });

  test('survives a restart, and goes out late while its time is not over', async () => {
    const entry = await schedule(MINUTE);
    const late = await schedule(MINUTE, { body: 'too late', sendUntilMs: service.clock.now() + 2 * MINUTE });
    await service.scheduler.close();
    service.clock.pause(30 * MINUTE);
    await restart();
    await pass(MINUTE);
    expect(service.texts()).toEqual(['later']);
    expect([now(entry).state, now(late).state]).toEqual(['sent', 'missed']);
    expect(now(late)).toMatchObject({ text: null, message_id: null });
  });

  test('is missed when the Mac slept beyond its time, and goes out when the clock was set forward to it', async () => {
    const missed = await schedule(MINUTE);
    const later = await schedule(10 * HOUR, { body: 'set forward' });
    service.clock.pause(2 * HOUR);
    await pass(0);
    expect(now(missed).state).toBe('missed');
    service.clock.step(8 * HOUR);
    await pass(15_000);
    expect([service.texts(), now(later).state]).toEqual([['set forward'], 'sent']);
    service.clock.step(-20 * HOUR);
    await pass(DAY);
    expect(service.texts()).toEqual(['set forward']);
  });

  test('that is cancelled is never sent; what was handed over cannot be cancelled', async () => {
    const entry = await schedule(MINUTE);
    expect(await cancelled(entry)).toBe('none');
    expect(now(entry)).toMatchObject({ state: 'cancelled', text: null });
    expect(await cancelled(entry)).toBe('too_late');
    expect(await cancelled({ id: 'nobody' })).toBe('scheduled_not_found');
    const sending = await schedule(MINUTE, { body: 'sending' });
    const seen: string[] = [];
    const usual = service.messages.behave;
    service.messages.behave = async (part, signal) => {
      seen.push(now(sending).state, await cancelled(sending));
      return usual(part, signal);
    };
    await pass(2 * MINUTE);
    expect(seen).toEqual(['sending', 'too_late']);
    expect(service.texts()).toEqual(['sending']);
    expect(now(sending).state).toBe('sent');
  });

  test.each([
    ['cancelled', 'This message was already cancelled: it will not be sent.'],
    ['sent', 'This message cannot be cancelled any more: it was sent.'],
    ['failed', 'There is nothing to cancel: this message could not be sent.'],
    ['missed', 'There is nothing to cancel: this message was not sent, because its time passed.'],
  ])('that is %s says so when it is cancelled', async (state, sentence) => {
    const entry = await schedule(MINUTE);
    service.state.prepare('UPDATE scheduled SET state = ? WHERE id = ?').run(state, entry.id);
    expect(() => own().cancel(entry.id)).toThrow(sentence);
  });

  test('that waits for its turn behind another send can still be cancelled, for certain', async () => {
    const entry = await schedule(MINUTE);
    let release = (): void => {};
    const usual = service.messages.behave;
    service.messages.behave = async (part, signal) => {
      if ('body' in part.content && part.content.body === 'before it') {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      return usual(part, signal);
    };
    const first = service.sender.send({ recipient: ANA, body: 'before it', attachments: [] });
    await pass(2 * MINUTE);
    expect(now(entry).state).toBe('scheduled');
    expect(await cancelled(entry)).toBe('none');
    release();
    await first;
    await pass(MINUTE);
    expect(service.texts()).toEqual(['before it']);
    expect(now(entry).state).toBe('cancelled');
  });

  test('that a crash interrupted is never sent again: it counts as sent if it has a row, else as unknown', async () => {
    const entries = [await schedule(MINUTE, { body: 'has a row' }), await schedule(MINUTE, { body: 'has none' })];
    const usual = service.messages.behave;
    // As if the process were killed while osascript runs: no answer comes.
    service.messages.behave = async (part, signal) => {
      if ('body' in part.content && part.content.body === 'has a row') await usual(part, signal);
      return { kind: 'killed' };
    };
    await pass(2 * MINUTE);
    expect(service.texts()).toEqual(['has a row', 'has none']);
    await restart();
    await pass(MINUTE);
    expect(now(entries[0] ?? { id: '' })).toMatchObject({ state: 'sent', message_id: expect.any(String) });
    expect(now(entries[1] ?? { id: '' }).state).toBe('sending');
    await pass(12 * MINUTE);
    expect(now(entries[1] ?? { id: '' })).toMatchObject({ state: 'unknown', problem: 'send_outcome_unknown' });
    expect(service.texts()).toEqual([]);
  });

  test('that was sent in part is unknown, and neither sent nor failed', async () => {
    writeFileSync(join(outbox, 'a.txt'), 'a');
    const entry = await schedule(MINUTE, { attachments: [join(outbox, 'a.txt')] });
    const usual = service.messages.behave;
    service.messages.behave = (part, signal) => ('body' in part.content ? usual(part, signal) : failed(-1743));
    await pass(2 * MINUTE);
    await eventually(() => pass(1000).then(() => expect(now(entry).state).toBe('unknown')));
    expect(now(entry)).toMatchObject({ problem: 'messages_unavailable', message_id: null });
  });

  test('that Messages refuses has failed, with the code of the problem', async () => {
    const entry = await schedule(MINUTE);
    service.messages.endWith(failed(-43));
    await pass(2 * MINUTE);
    expect(now(entry)).toMatchObject({ state: 'failed', problem: 'send_failed', text: null });
    expect(service.messages.runs).toHaveLength(1);
  });

  test('has the files as they were when it was requested', async () => {
    const file = join(outbox, 'plan.txt');
    writeFileSync(file, 'first');
    const entry = await schedule(MINUTE, { attachments: [file] });
    writeFileSync(file, 'second');
    expect(entry.attachments).toMatchObject([{ name: 'plan.txt', bytes: 5 }]);
    await restart();
    const contents: string[] = [];
    const usual = service.messages.behave;
    service.messages.behave = (part, signal) => {
      if ('attachment' in part.content) contents.push(readFileSync(part.content.attachment, 'utf8'));
      return usual(part, signal);
    };
    await pass(MINUTE);
    // Reading copies from the disk takes real time, and the send must begin before its time is over.
    await eventually(() => expect(service.texts()).toContain('later'));
    await eventually(async () => {
      await pass(MINUTE);
      expect(now(entry).state).toBe('sent');
    });
    expect(contents).toEqual(['first']);
  });

  test.each([
    ['in the past', { sendAtMs: 0, sendUntilMs: 1 }],
    ['in two years', { sendAtMs: Date.UTC(2028, 0, 1), sendUntilMs: Date.UTC(2028, 0, 1, 1) }],
    ['until before it', { sendUntilMs: 0 }],
    ['nothing to send', { body: '' }],
  ])('%s is refused at once', async (_name, more) => {
    expect(await codeOf(schedule(MINUTE, more))).toBe('invalid_request');
    expect(own().list({})).toEqual([]);
  });

  test('beyond 500 is refused', async () => {
    for (let n = 0; n < 500; n += 1) await schedule(HOUR, { body: `${n}` });
    expect(await codeOf(schedule(HOUR))).toBe('too_many_scheduled');
  });
});

describe('an Idempotency-Key of a scheduled send', () => {
  const key = { idempotencyKey: { kind: 'client', key: 'rent' } } as const;

  test('gives the same entry for its whole life, and nothing else', async () => {
    const sendAtMs = service.clock.now() + 40 * DAY;
    const same = { ...key, sendAtMs, sendUntilMs: sendAtMs + HOUR };
    const { id } = await schedule(0, same);
    // At once, as for a sleeping Mac.
    service.clock.pause(39 * DAY);
    await pass(MINUTE);
    expect(await schedule(0, same)).toMatchObject({ id, state: 'scheduled' });
    await restart();
    await pass(DAY + MINUTE);
    expect(await schedule(0, same)).toMatchObject({ id, state: 'sent' });
    expect(service.texts()).toEqual(['later']);
    const plain = { recipient: ANA, body: 'later', attachments: [], ...key };
    expect(await codeOf(service.ownerSender.send(plain))).toBe('idempotency_key_reused');
    expect(await codeOf(schedule(0, { ...same, body: 'another' }))).toBe('idempotency_key_reused');
  });

  test('of a plain send cannot schedule another', async () => {
    await service.ownerSender.send({ recipient: ANA, body: 'later', attachments: [], ...key });
    expect(await codeOf(schedule(HOUR, key))).toBe('idempotency_key_reused');
  });
});

describe('under a limited key', () => {
  const states = () => service.state.prepare('SELECT state, problem FROM scheduled ORDER BY number').all();

  test('a scheduled send is checked again at its time', async () => {
    const forbidden = service.caller();
    const strict = service.caller();
    const dry = service.caller();
    await schedule(MINUTE, { body: 'a' }, forbidden);
    await schedule(MINUTE, { body: 'b' }, strict);
    await schedule(MINUTE, { body: 'c' }, dry);
    service.access.keys.change(forbidden.key?.id ?? '', { send: [] });
    service.access.keys.change(strict.key?.id ?? '', { approval: 'always' });
    service.access.keys.change(dry.key?.id ?? '', { dry_run: true });
    await pass(2 * MINUTE);
    expect(states()).toEqual(Array.from({ length: 3 }, () => ['failed', 'recipient_not_allowed']));
    expect(service.texts()).toEqual([]);
  });

  test('revoking the key cancels what it scheduled, and nothing of others', async () => {
    const caller = service.caller();
    await schedule(MINUTE, { body: 'a' }, caller);
    await schedule(MINUTE, { body: 'b' });
    const { id = '' } = caller.key ?? {};
    expect(service.access.keys.revoke(id)).toEqual({ id, scheduled_cancelled: 1, approvals_voided: 0 });
    await pass(2 * MINUTE);
    expect(states().map(([state]) => state)).toEqual(['cancelled', 'sent']);
    expect(service.texts()).toEqual(['b']);
  });

  test('caps count when it is asked for, and again when it goes out: then it waits, or is missed with the reason', async () => {
    const minute = service.caller({ caps: { per_minute: 2 } });
    const day = service.caller({ caps: { per_day: 1 } });
    const at = (inMs: number) => service.clock.now() + inMs;
    const [dueMs, lateMs] = [at(DAY + 2 * MINUTE), at(DAY + 10 * MINUTE)];
    const until = (sendAtMs: number) => sendAtMs - service.clock.now();
    for (const body of ['a', 'b']) await schedule(until(dueMs), { body }, minute);
    await schedule(until(lateMs), { body: 'd' }, day);
    await expect(codeOf(schedule(until(dueMs), { body: 'c' }, minute))).resolves.toBe('cap_reached');
    await expect(codeOf(schedule(until(lateMs), { body: 'e' }, day))).resolves.toBe('cap_reached');
    await pass(DAY + MINUTE);
    await schedule(until(dueMs), { body: 'c' }, minute);
    await schedule(until(lateMs), { body: 'e' }, day);
    await pass(MINUTE + 30_000);
    expect(service.texts()).toEqual(['a', 'b']);
    await pass(MINUTE);
    expect(service.texts()).toEqual(['a', 'b', 'c']);
    await pass(2 * HOUR);
    expect(service.texts()).toEqual(['a', 'b', 'c', 'd']);
    expect(states().at(-1)).toEqual(['missed', 'cap_reached']);
    const direct = await codeOf(service.send(day, { body: 'f' }));
    expect(direct).toBe('cap_reached');
  });

  test('another key sees nothing of it, and cannot cancel it', async () => {
    const { id } = await schedule(HOUR, {}, service.caller());
    const other = service.caller({ read: '*', scopes: ['read', 'send'] });
    expect(other.port(SCHEDULED).list({})).toEqual([]);
    expect(await codeOf((async () => other.port(SCHEDULED).cancel(id))())).toBe('scheduled_not_found');
    expect(now({ id }).state).toBe('scheduled');
  });

  test('a held one is scheduled by the approval, with the files and the times that were shown', async () => {
    const file = join(outbox, 'plan.txt');
    writeFileSync(file, 'plan');
    const caller = service.caller({ approval: 'always' });
    const sendAtMs = service.clock.now() + 2 * DAY;
    const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR };
    const held = await service.hold(caller, { body: 'May I?', attachments: [file], ...times });
    expect(held).toMatchObject({ send_at: new Date(sendAtMs).toISOString().replace('.000', '') });
    await service.approve(held);
    await idle();
    expect(await service.approvals.get(held.id, 0)).toMatchObject({ state: 'scheduled', text: null });
    expect(caller.port(SCHEDULED).get(held.id)).toMatchObject({ state: 'scheduled', text: 'May I?' });
    await restart();
    await pass(2 * DAY - MINUTE);
    expect(service.texts()).toEqual([]);
    await pass(MINUTE);
    await eventually(() => expect(service.texts()).toContain('May I?'));
    await eventually(async () => {
      await pass(MINUTE);
      expect(now(held)).toMatchObject({ state: 'sent' });
    });
    expect(service.texts()).toEqual(['May I?', expect.stringMatching(/plan\.txt$/)]);
  });

  test('a held one expires when its time is over', async () => {
    const sendAtMs = service.clock.now() + HOUR;
    const held = await service.hold(service.caller({ approval: 'always' }), { sendAtMs, sendUntilMs: sendAtMs + HOUR });
    await pass(2 * HOUR + MINUTE);
    expect(await codeOf(service.approve(held))).toBe('approval_expired');
    expect(service.texts()).toEqual([]);
  });
});

test('after a restore, what was due before it is missed and named; what was being sent is unknown', async () => {
  const due = await schedule(MINUTE, { body: 'due' });
  const open = await schedule(DAY, { body: 'open' });
  const sending = await schedule(2 * MINUTE, { body: 'sending' });
  service.state.prepare("UPDATE scheduled SET state = 'sending' WHERE id = ?").run(sending.id);
  const [backup, restored] = [join(folder, 'backup.db'), join(folder, 'restored.db')];
  const about = { version: '1', createdAt: '2026-01-02T03:04:05Z', config: '' };
  writeBackup(join(folder, 'config/state.db'), backup, about);
  const { notes } = extractState(backup, restored, service.clock.now() + HOUR, FEATURES);
  expect(notes).toEqual([
    expect.stringContaining(`the message to ${ANA}, which was due at ${due.send_at}`),
    expect.stringContaining('Postern will send 1 scheduled message:'),
  ]);
  const database = openStateDatabase(restored, FEATURES);
  const states = [due, open, sending].map(({ id }) => scheduledStore(database).get(id));
  expect(states).toMatchObject([
    { state: 'missed', text: null, problem: 'restored' },
    { state: 'scheduled', text: 'open' },
    { state: 'unknown', text: null, problem: 'restored' },
  ]);
  database.close();
});
