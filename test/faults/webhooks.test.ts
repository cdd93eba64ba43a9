import { createHmac } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import type { WebhookStatus } from '../../src/core/model/webhook.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Delivery, Receiver } from '../support/receiver.ts';
import { seedOfForm } from '../support/seed.ts';
import { freePort } from '../support/service.ts';
import { Harness, rowsOf } from './harness.ts';

/**
 * Number of messages to write, not counting the further rows of a link or a night. Each takes seconds, because a
 * webhook attempts it several times.
 */
const MESSAGES = isLong ? 5 : 1;

/** A seed with an own message that is first written as an incoming one without a handle. */
const KINDS_SEED = 25;

let harness: Harness;
const receivers: Receiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
  await harness.end();
});

async function register(settings: object): Promise<string> {
  const { json } = await harness.service.post('/webhooks', { events: ROW_EVENT_TYPES, ...settings });
  return (json as { id: string }).id;
}

async function change(id: string, changes: object): Promise<void> {
  const answer = await harness.service.request('PATCH', `/webhooks/${id}`, {
    body: JSON.stringify(changes),
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(200);
}

async function statusOf(id: string): Promise<WebhookStatus> {
  return (await harness.service.get(`/webhooks/${id}`)).json as WebhookStatus;
}

async function receiverAt(port: number, answer?: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer, port);
  receivers.push(receiver);
  return receiver;
}

function signatures({ headers, body }: Delivery, ...secrets: readonly string[]): string {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body.toString()}`;
  return secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`).join(' ');
}

test('the service killed while it holds an event, after a rotation, and while it replays what it dropped', async () => {
  harness = new Harness();
  const service = await harness.start();
  const [holdPort, dropPort] = [await freePort(), await freePort()];
  const held = await register({ url: `http://127.0.0.1:${holdPort}/hook`, on_failure: 'hold', secret: 'old' });
  const dropping = await register({ url: `http://127.0.0.1:${dropPort}/hook` });
  const first = harness.newestRow();
  const immediate = await Receiver.start();
  await harness.webhook(immediate);
  await change(held, { secret: 'new', headers: { Authorization: 'Bearer x' } });
  process.kill(service.pid, 'SIGSTOP');
  const writer = harness.writer(50, { seed: seedOfForm('kinds of rows', KINDS_SEED), rows: MESSAGES });
  await waitFor(() => harness.newestRow() > first);
  process.kill(service.pid, 'SIGCONT');
  await writer.ended();
  const written = harness.rowsAfter(first);
  await eventually(async () => {
    expect(await statusOf(held)).toMatchObject({ state: 'held', row_id: first });
    expect(await statusOf(dropping)).toMatchObject({ state: 'failing', dropped: written.length, behind: 0 });
  }, 300_000);
  const attempts = (await statusOf(held)).held?.attempts ?? 0;
  expect(attempts).toBeGreaterThanOrEqual(3);
  expect(rowsOf(immediate)).toEqual(written);
  expect(harness.contradictions(immediate.deliveries.map(({ event }) => event))).toEqual([]);

  await service.stop('SIGKILL');
  const holding = await receiverAt(holdPort);
  let asked = 0;
  const receiver = await receiverAt(dropPort, () => {
    asked += 1;
  });
  await service.launch();
  // After the change, the service attempts the held delivery at once, continues its count, and signs with both secrets.
  await eventually(async () => expect(await statusOf(held)).toMatchObject({ state: 'healthy', held: null, behind: 0 }));
  expect(rowsOf(holding)).toEqual(written);
  expect(harness.contradictions(holding.deliveries.map(({ event }) => event))).toEqual([]);
  const [delivery] = holding.deliveries;
  if (delivery === undefined) throw new Error('nothing was delivered');
  expect(delivery.headers).toMatchObject({
    authorization: 'Bearer x',
    'webhook-signature': signatures(delivery, 'new', 'old'),
  });
  // The delivery may have been attempted again while the others failed.
  expect(Number(delivery.headers['x-webhook-attempt'])).toBeGreaterThan(attempts);

  expect(await statusOf(dropping)).toMatchObject({ dropped: written.length, behind: 0 });
  await service.post(`/webhooks/${dropping}/replay`, { dropped: true });
  await eventually(() => expect(asked).toBe(1));
  await service.stop('SIGKILL');
  receiver.answerWith((response) => void response.end());
  await service.launch();
  const next = harness.database.message({ chat: 1, text: 'what follows', handle_id: 1 });
  await eventually(async () => expect(await statusOf(dropping)).toMatchObject({ dropped: 0, behind: 0 }));
  await eventually(() => expect([...new Set(rowsOf(receiver))]).toEqual([...written, next]));
  expect(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(written.length + 1);
}, 600_000);
