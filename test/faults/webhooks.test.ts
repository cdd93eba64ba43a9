import { createHmac } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import type { WebhookStatus } from '../../src/domain/webhook.ts';
import { isLong } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { type Delivery, Receiver } from '../support/receiver.ts';
import { freePort } from '../support/service.ts';
import { Harness, rowsOf } from './harness.ts';

const ROWS = isLong ? 5 : 1;

let harness: Harness;
const receivers: Receiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
  await harness.end();
});

async function register(settings: object): Promise<string> {
  const { json } = await harness.service.post('/webhooks', { events: ['message.received'], ...settings });
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
  await change(held, { secret: 'new', headers: { Authorization: 'Bearer x' } });
  const first = harness.newestRow();
  for (let row = 0; row < ROWS; row += 1) harness.database.message({ chat: 1, text: 'a row', handle_id: 1 });
  const written = harness.rowsAfter(first);
  await eventually(async () => {
    expect(await statusOf(held)).toMatchObject({ state: 'held', row_id: first, held: { attempts: 3 } });
    expect(await statusOf(dropping)).toMatchObject({ state: 'failing', dropped: ROWS, behind: 0 });
  }, 60_000);

  await service.stop('SIGKILL');
  const holding = await receiverAt(holdPort);
  let asked = 0;
  const receiver = await receiverAt(dropPort, () => {
    asked += 1;
  });
  await service.launch();
  // It attempts at once what it held, counts on, and signs with both secrets.
  await eventually(async () => expect(await statusOf(held)).toMatchObject({ state: 'healthy', held: null, behind: 0 }));
  expect(rowsOf(holding)).toEqual(written);
  const [delivery] = holding.deliveries;
  if (delivery === undefined) throw new Error('nothing was delivered');
  expect(delivery.headers).toMatchObject({
    'x-webhook-attempt': '4',
    authorization: 'Bearer x',
    'webhook-signature': signatures(delivery, 'new', 'old'),
  });

  expect(await statusOf(dropping)).toMatchObject({ dropped: ROWS, behind: 0 });
  await service.post(`/webhooks/${dropping}/replay`, { dropped: true });
  await eventually(() => expect(asked).toBe(1));
  await service.stop('SIGKILL');
  receiver.answerWith((response) => void response.end());
  await service.launch();
  const next = harness.database.message({ chat: 1, text: 'what follows', handle_id: 1 });
  await eventually(async () => expect(await statusOf(dropping)).toMatchObject({ dropped: 0, behind: 0 }));
  await eventually(() => expect([...new Set(rowsOf(receiver))]).toEqual([...written, next]));
  expect(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(ROWS + 1);
});
