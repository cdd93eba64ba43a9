import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Ended, postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const chats = new ChatFixture(join(temporaryFolder(), 'chat.db'));
let service: Service;
let receiver: Receiver;
let id: string;

beforeAll(async () => {
  const chat = chats.chat('any;-;+15550100', ['+15550100']);
  service = await Service.here({ chatDbPath: chats.path });
  receiver = await Receiver.start((response) => void response.writeHead(503).end());
  // Counting begins with the first look.
  expect((await service.get('/overview')).status).toBe(200);
  const webhook = { url: receiver.url, events: ['message.received'], name: 'Home', on_failure: 'hold' };
  ({ id } = (await service.post('/webhooks', webhook)).json as { id: string });
  chats.message({ chat, text: 'Light', handle_id: chats.handle('+15550100') });
  await eventually(async () => expect((await service.get(`/webhooks/${id}`)).json).toMatchObject({ state: 'held' }));
});
afterAll(async () => {
  await service.dispose();
  await receiver.close();
});

function run(...args: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, ...args]);
}

/** Returns how often the held delivery has been tried. It is also tried without being asked to. */
async function attempts(): Promise<number> {
  return ((await service.get(`/webhooks/${id}`)).json as { held: { attempts: number } }).held.attempts;
}

test('doctor names retry first for a held webhook, before the command that discards its backlog', async () => {
  const { stdout } = await run('doctor');
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /When it works again, \S*.* webhooks retry [\da-f]{8} .*delivers at once\. To skip all waiting events: .* webhooks replay [\da-f]{8} --latest/,
  );
});

test('webhooks deliveries lists the held delivery', async () => {
  const { stdout } = await run('webhooks', 'deliveries', 'Home');
  expect(stdout).toMatch(/^LAST TRY .*\n.* message\.received +\d+ +held +\d+ +503 /);
  expect(JSON.parse((await run('webhooks', 'deliveries', 'Home', '--json')).stdout)).toMatchObject([
    { outcome: 'held' },
  ]);
});

test('webhooks show has the time of the next attempt', async () => {
  // It is absent during an attempt.
  await eventually(async () =>
    expect((await run('webhooks', 'show', 'Home')).stdout).toMatch(
      /State +held\n +row \d+ since \S+, \d+ attempts: .*\n +next attempt at \d/,
    ),
  );
});

test('webhooks retry exits with 1 while the receiver refuses, and says so', async () => {
  const before = await attempts();
  const { exitCode, stdout } = await run('webhooks', 'retry', 'Home');
  expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/^It was not delivered: .*503.* webhooks show /)]);
  expect(await attempts()).toBeGreaterThan(before);
});

test('webhooks retry does not try while the webhook is paused, and says so', async () => {
  const before = await attempts();
  await run('webhooks', 'pause', 'Home');
  const { exitCode, stdout } = await run('webhooks', 'retry', 'Home');
  expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/ is paused\. First: .* webhooks resume [\da-f]{8}/)]);
  await run('webhooks', 'resume', 'Home');
  await eventually(async () => expect(await attempts()).toBeGreaterThan(before));
});

test('status says 100 % once everything has arrived, whatever attempts failed before', async () => {
  receiver.answerWith((response) => void response.writeHead(204).end());
  expect(await run('webhooks', 'retry', 'Home')).toMatchObject({
    exitCode: 0,
    stdout: 'The receiver accepted the delivery. Nothing is waiting.\n',
  });
  expect((await run('status')).stdout).toMatch(/^WEBHOOK +DELIVERED .*\nHome +100 % /m);
});
