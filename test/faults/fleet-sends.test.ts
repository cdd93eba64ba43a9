import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nanos, type Subscription } from '@nats-io/nats-core';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import type { SendOutcome } from '../../src/features/fleet/protocol/fleet-records-schema.ts';
import { outcomeSubject, SENDS, sendConsumer, sendSubject } from '../../src/features/fleet/protocol/layout.ts';
import { encodeOrder, keyHash, unpackOutcome } from '../../src/features/fleet/protocol/sends.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf } from '../support/fleet-mac.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const plain = new Envelope();

describeWithNats('sends of a fleet when the agent dies', () => {
  let server: NatsServer;
  let nc: NatsConnection;
  let mac: Awaited<ReturnType<typeof simulatedMac>>;
  let service: Service;

  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1']);
    nc = await clientOf(server);
    // A shorter time than a fleet's, so that the test need not wait until a send is handed out again.
    const jsm = await jetstreamManager(nc);
    await jsm.consumers.update(SENDS.stream, sendConsumer('m1'), { ack_wait: nanos(1000) });
  });
  afterAll(async () => {
    await nc.close();
    await server.dispose();
  });
  beforeEach(async () => {
    mac = await simulatedMac();
    service = await Service.start({
      chatDbPath: mac.chatDbPath,
      osascriptPath: mac.osascriptPath,
      settings: { fleet: { servers: [server.url], mac: 'm1' } },
    });
  });
  afterEach(async () => {
    await service.dispose();
    await mac.dispose();
  });

  /** Queues a send whose text is also its key. */
  async function queue(key: string): Promise<Subscription> {
    const outcomes = nc.subscribe(outcomeSubject('m1', keyHash(key)));
    const request = { recipient: '+15550123', body: key };
    const order = { key, deadlineMs: Date.now() + 60_000, request };
    const { headers, body } = encodeOrder('m1', order, `${key} ${Math.random()}`, plain);
    await (await jetstreamManager(nc)).jetstream().publish(sendSubject('m1'), body, { headers });
    return outcomes;
  }
  async function outcomeOf(key: string, outcomes: Subscription): Promise<SendOutcome['reply']> {
    for await (const { data } of outcomes) return unpackOutcome(plain, 'm1', key, data).reply;
    throw new Error('no outcome');
  }
  const sends = (body: string): number => mac.calls.filter(({ values }) => values.BODY === body).length;

  test('killed while osascript runs: the outcome is unknown as it is locally, and it is never sent again', async () => {
    await mac.command({ do: 'scenario', name: 'hang', times: 1 });
    const outcomes = await queue('is being sent');
    await eventually(() => expect(sends('is being sent')).toBe(1));
    await service.stop('SIGKILL');
    await service.launch();
    const reply = await outcomeOf('is being sent', outcomes);
    expect(reply).toMatchObject({ problem: { code: 'send_outcome_unknown' } });
    const body = { recipient: '+15550123', body: 'is being sent' };
    const local = await service.post('/messages', body, { 'idempotency-key': 'is being sent' });
    expect((reply as { problem: { status: number } }).problem.status).toBe(local.status);
    expect(sends('is being sent')).toBe(1);
  });

  test('stopped in good order: the send that runs is told, the one behind it is sent after the start', async () => {
    // Less than the 8 s within which a stop waits for a running send.
    await mac.command({ do: 'scenario', name: 'slow', delayMs: 5000 });
    const first = await queue('runs');
    const second = await queue('waits');
    await eventually(() => expect(sends('runs')).toBe(1));
    await service.stop('SIGTERM');
    expect(await outcomeOf('runs', first)).toMatchObject({ result: { confirmed: true } });
    expect(sends('waits')).toBe(0);
    await service.launch();
    expect(await outcomeOf('waits', second)).toMatchObject({ result: { confirmed: true } });
    expect([sends('runs'), sends('waits')]).toEqual([1, 1]);
  });
});
