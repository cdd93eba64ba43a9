import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { failed } from '../support/in-memory-messages.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MINUTE = 60_000;
let service: AccessSending;

async function start(): Promise<void> {
  await service.access.start();
  service.scheduler.start();
}
beforeEach(() => {
  service = new AccessSending(temporaryFolder());
  return start();
});
afterEach(async () => {
  await service.scheduler.close();
  await service.close();
});

async function pass(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await service.clock.advance(MINUTE);
    await idle();
    await service.clock.advance(0);
  }
}

/** Schedules a send that is due in a minute, and may be sent for an hour. */
async function schedule(keyId: string): Promise<string> {
  const sendAtMs = service.clock.now() + MINUTE;
  const request = { recipient: ANA, body: 'later', attachments: [], sendAtMs, sendUntilMs: sendAtMs + 60 * MINUTE };
  return (await service.scheduler.add(request, { keyId })).id;
}

test.each([
  ['the owner', () => 'owner'],
  ['a key, and counts once towards its caps', () => service.caller({ caps: { per_day: 1 } }).key?.id ?? ''],
])('a scheduled send is tried again while Messages is away, also after a restart, for %s', async (_, keyOf) => {
  const id = await schedule(keyOf());
  for (const _restart of [1, 2]) {
    service.messages.behave = () => failed(-1743);
    await pass(3);
    expect(service.messages.runs).toHaveLength(3);
    expect(service.scheduled.get(id)).toMatchObject({ state: 'scheduled', problem: null, text: 'later' });
    await service.scheduler.close();
    service = await service.restarted();
    await start();
  }
  await pass(1);
  expect(service.texts()).toEqual(['later']);
  expect(service.scheduled.get(id).state).toBe('sent');
});

test('a scheduled send is missed, with the reason, when Messages stays away until its time is over', async () => {
  const id = await schedule('owner');
  service.messages.behave = () => failed(-1743);
  await pass(62);
  expect(service.scheduled.get(id)).toMatchObject({ state: 'missed', problem: 'messages_unavailable', text: null });
  expect(service.messages.runs.length).toBeGreaterThan(50);
});

test('a scheduled send that waited for its turn when the service stopped is sent after the next start', async () => {
  const { behave } = service.messages;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  service.messages.behave = async (part, signal) => {
    await released;
    return behave(part, signal);
  };
  const direct = service.ownerSender.send({ recipient: ANA, body: 'direct', attachments: [] });
  const id = await schedule('owner');
  await pass(1);
  const stopped = service.sender.close();
  release();
  await Promise.all([direct, stopped]);
  expect(service.texts()).toEqual(['direct']);
  await service.scheduler.close();
  service = await service.restarted();
  await start();
  await pass(1);
  expect(service.texts()).toEqual(['later']);
  expect(service.scheduled.get(id).state).toBe('sent');
});

test('a scheduled send may leave at the last moment of its time, and its row names the request', async () => {
  const sendAtMs = service.clock.now() + MINUTE;
  const times = { sendAtMs, sendUntilMs: sendAtMs };
  const request = { recipient: ANA, body: 'later', attachments: [], requestId: 'request', ...times };
  await service.scheduler.add(request, { keyId: 'owner' });
  await pass(1);
  expect(service.texts()).toEqual(['later']);
  expect(service.state.prepare('SELECT request_id FROM sent_part').all()).toEqual([['request']]);
});
