import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AccessSending, ANA } from '../support/access-sending.ts';
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

test('the row of a scheduled send is still looked for after state.db could not be read', async () => {
  const { behave } = service.messages;
  let write = (): unknown => undefined;
  service.messages.behave = (...run) => {
    write = () => behave(...run);
    return { kind: 'done' };
  };
  const sendAtMs = service.clock.now() + MINUTE;
  const request = { recipient: ANA, body: 'later', attachments: [], sendAtMs, sendUntilMs: sendAtMs + MINUTE };
  const { id } = await service.scheduler.add(request, { keyId: 'owner' });
  service.scheduler.start();
  await service.clock.advance(MINUTE);
  await idle();
  await service.clock.advance(2000);
  expect(service.scheduled.get(id).state).toBe('sending');
  service.state.exec('ALTER TABLE sent_part RENAME TO away');
  await service.clock.advance(4000);
  service.state.exec('ALTER TABLE away RENAME TO sent_part');
  write();
  await service.clock.advance(4000);
  expect(service.scheduled.get(id).state).toBe('sent');
  await service.scheduler.close();
});

test('what is due is still sent after state.db could not be read when its time came', async () => {
  const sendAtMs = service.clock.now() + MINUTE;
  const request = { recipient: ANA, body: 'due', attachments: [], sendAtMs, sendUntilMs: sendAtMs + 10 * MINUTE };
  const { id } = await service.scheduler.add(request, { keyId: 'owner' });
  service.scheduler.start();
  service.state.exec('ALTER TABLE scheduled RENAME TO away');
  await service.clock.advance(2 * MINUTE);
  service.state.exec('ALTER TABLE away RENAME TO scheduled');
  await service.clock.advance(MINUTE);
  await idle();
  await service.clock.advance(4000);
  expect(service.scheduled.get(id).state).toBe('sent');
  await service.scheduler.close();
});

test('copies of files whose send was never stored are removed at the next start, though nobody has a limited key', async () => {
  const kept = join(folder, 'config', 'held');
  mkdirSync(join(kept, 'of-a-process-that-died', '0'), { recursive: true });
  await service.access.start();
  expect(readdirSync(kept)).toEqual([]);
});
