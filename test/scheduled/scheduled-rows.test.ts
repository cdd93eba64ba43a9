import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MINUTE = 60_000;
let folder: string;
let service: AccessSending;
beforeEach(() => {
  folder = temporaryFolder();
  service = new AccessSending(folder);
});
afterEach(() => service.close());

async function pass(ms: number): Promise<void> {
  await service.clock.advance(ms);
  await idle();
  await service.clock.advance(0);
}

test.each([
  ['fails later', 'error = 22', 'failed'],
  ['is sent later', 'is_sent = 1', 'sent'],
  ['stays pending', 'is_sent = 0', 'sent'],
])('a scheduled send whose row %s ends as that row does, or after a minute', async (_, later, state) => {
  const setNewest = (columns: string): void =>
    service.chats.sqlite.exec(`UPDATE message SET ${columns} WHERE ROWID = (SELECT max(ROWID) FROM message)`);
  const { behave } = service.messages;
  service.messages.behave = (...run) => {
    const outcome = behave(...run);
    setNewest('is_sent = 0');
    return outcome;
  };
  const sendAtMs = service.clock.now() + MINUTE;
  const request = { recipient: ANA, body: 'later', attachments: [], sendAtMs, sendUntilMs: sendAtMs + MINUTE };
  const { id } = await service.scheduler.add(request, { keyId: 'owner' });
  service.scheduler.start();
  await pass(MINUTE);
  await pass(10_000);
  // For a while chat.db cannot be read.
  const message = service.lookup.message.bind(service.lookup);
  service.lookup.message = () => {
    throw new Error('chat.db is away');
  };
  await pass(10_000);
  service.lookup.message = message;
  expect(service.scheduled.get(id).state).toBe('sending');
  setNewest(later);
  await pass(MINUTE);
  expect(service.scheduled.get(id).state).toBe(state);
  await service.scheduler.close();
});

test('a scheduled send that a crash interrupted between its text and its file is unknown, not sent', async () => {
  const file = join(folder, 'a.txt');
  writeFileSync(file, 'a');
  const { behave } = service.messages;
  service.messages.behave = async (...run) => {
    await behave(...run);
    return { kind: 'killed' };
  };
  const sendAtMs = service.clock.now() + MINUTE;
  const request = {
    recipient: ANA,
    body: 'see the file',
    attachments: [file],
    sendAtMs,
    sendUntilMs: sendAtMs + MINUTE,
  };
  const { id } = await service.scheduler.add(request, { keyId: 'owner' });
  service.scheduler.start();
  await service.clock.advance(MINUTE);
  // Reading the copy from the disk takes real time.
  await eventually(async () => expect(service.texts()).toEqual(['see the file']));
  await service.scheduler.close();
  service = await service.restarted();
  await service.sender.start();
  service.scheduler.start();
  await pass(MINUTE);
  expect(service.scheduled.get(id).state).toBe('sending');
  await pass(12 * MINUTE);
  expect(service.scheduled.get(id)).toMatchObject({ state: 'unknown', message_id: null });
  await service.scheduler.close();
});

test('a scheduled send whose parts were all handed over is sent, although Messages has renamed its file', async () => {
  const file = join(folder, 'a.txt');
  writeFileSync(file, 'a');
  const { behave } = service.messages;
  service.messages.behave = async (part, signal) => {
    if ('attachment' in part.content) return { kind: 'done' };
    const outcome = await behave(part, signal);
    service.chats.sqlite.exec('UPDATE message SET is_sent = 0 WHERE is_from_me = 1');
    return outcome;
  };
  const sendAtMs = service.clock.now() + MINUTE;
  const times = { sendAtMs, sendUntilMs: sendAtMs + MINUTE };
  const { id } = await service.scheduler.add(
    { recipient: ANA, body: 'see the file', attachments: [file], ...times },
    { keyId: 'owner' },
  );
  service.scheduler.start();
  await pass(MINUTE);
  // Reading the copy from the disk takes real time, and the send must begin before its time is over.
  await eventually(() => expect(service.texts()).toContain('see the file'));
  await eventually(async () => {
    await pass(MINUTE);
    expect(service.scheduled.get(id).state).toBe('sent');
  });
  await service.scheduler.close();
});
