import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
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

test('what was approved and waited for its turn is sent after a restart', async () => {
  const caller = service.caller(always);
  const { behave } = service.messages;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  service.messages.behave = async (part, signal) => {
    await released;
    return behave(part, signal);
  };
  const [running, waiting] = [await service.hold(caller), await service.hold(caller, { body: 'waits' })];
  await service.approve(running);
  await service.approve(waiting);
  await idle();
  const stopped = Promise.all([service.access.close(), service.sender.close()]);
  release();
  await stopped;
  expect(service.texts()).toEqual(['hello']);
  service = await service.restarted();
  await service.access.start();
  await eventually(async () => expect(await service.stateOf(waiting.id)).toBe('sent'));
  expect(service.texts()).toEqual(['waits']);
});

test('after a restart, what was approved and not begun is sent, what was begun is not sent again', async () => {
  const caller = service.caller(always);
  const [fresh, begun, done] = [
    await service.hold(caller, { body: 'fresh' }),
    await service.hold(caller, { body: 'begun' }),
    await service.hold(caller, { body: 'done' }),
  ];
  const decide = (id: string) =>
    service.state.prepare("UPDATE approval SET state = 'approved', decided_at = 'x' WHERE id = ?").run(id);
  // States left by a process that dies after the decision, after the claim, and after osascript.
  for (const { id } of [fresh, begun, done]) decide(id);
  const { idempotencyStore } = await import('../../src/core/state/idempotency-store.ts');
  const { requestHash } = await import('../../src/core/sender/idempotency.ts');
  const store = idempotencyStore(service.state);
  for (const [held, body] of [
    [begun, 'begun'],
    [done, 'done'],
  ] as const) {
    store.claim(
      { kind: 'approval', key: held.id },
      requestHash({ recipient: ANA, body, attachments: [] }),
      service.clock.now(),
    );
  }
  store.finish({ kind: 'approval', key: done.id }, { state: 'provisional' });
  service = await service.restarted();
  await service.access.start();
  await eventually(async () =>
    expect(await Promise.all([fresh, begun, done].map(({ id }) => service.stateOf(id)))).toEqual([
      'sent',
      'unknown',
      'pending',
    ]),
  );
  expect(service.texts()).toEqual(['fresh']);
});

test('what was scheduled stays scheduled over a restart, with its files, although its approval has expired meanwhile', async () => {
  const file = join(outbox, 'a.txt');
  writeFileSync(file, 'a');
  const sendAtMs = service.clock.now() + 30 * HOUR_MS;
  const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR_MS };
  const held = await service.hold(service.caller(always), { ...times, attachments: [file] });
  await service.approve(held);
  await eventually(async () => expect(await service.stateOf(held.id)).toBe('scheduled'));
  // As if the service had died before it stored that.
  service.state.prepare("UPDATE approval SET state = 'approved', text = 'hello' WHERE id = ?").run(held.id);
  await service.clock.advance(25 * HOUR_MS);
  service = await service.restarted();
  await service.access.start();
  await eventually(async () => expect(await service.stateOf(held.id)).toBe('scheduled'));
  expect(existsSync(join(folder, 'config', 'held', held.id))).toBe(true);
});

test('a repeated request finds its scheduled send, no matter how long that still waits', async () => {
  const caller = service.caller({ ...always, expires_at: null });
  const sendAtMs = service.clock.now() + 60 * 24 * HOUR_MS;
  const key = { kind: 'client', key: 'k' } as const;
  const request = { sendAtMs, sendUntilMs: sendAtMs, idempotencyKey: key };
  const held = await service.hold(caller, request);
  await service.approve(held);
  await eventually(async () => expect(await service.stateOf(held.id)).toBe('scheduled'));
  service.clock.pause(40 * 24 * HOUR_MS);
  await service.hold(caller, { body: 'another' });
  expect(await service.send(caller, request)).toMatchObject({ deferred: { told: { approval_id: held.id } } });
});

// An old claim is forgotten, so that a missing one no longer shows that nothing was sent.
test.each([
  ['a day', 25, 'void'],
  ['a day and a half', 36, 'unknown'],
  ['two months', 60 * 24, 'unknown'],
])('%s later nothing is sent that had not begun', async (_, hours, state) => {
  const held = await service.hold(service.caller({ ...always, expires_at: null }));
  service.state.prepare("UPDATE approval SET state = 'approved' WHERE id = ?").run(held.id);
  service.clock.pause(hours * HOUR_MS);
  service = await service.restarted();
  await service.access.start();
  await idle();
  expect(await service.stateOf(held.id)).toBe(state);
  await service.clock.advance(25 * HOUR_MS);
  expect(service.messages.runs).toEqual([]);
});
