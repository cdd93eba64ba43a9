import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import type { AppError } from '../../src/core/model/errors.ts';
import type { EventType } from '../../src/core/model/event.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { NewWebhook } from '../../src/core/model/ports/webhooks-ports.ts';
import { TestHub, until } from '../support/hub-webhooks-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { type Delivery, Receiver } from '../support/receiver.ts';

const received: readonly EventType[] = ['message.received'];
const hook = ({ url }: Receiver, others: Partial<NewWebhook> = {}): NewWebhook => ({
  url,
  events: received,
  ...others,
});
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const rowsAt = ({ deliveries }: Receiver): number[] => deliveries.map(({ event }) => Number(event.data.id));
const ids = (deliveries: readonly Delivery[]): unknown[] =>
  deliveries.map(({ headers }) => headers['x-webhook-delivery']);

describeWithNats('webhooks of a fleet', () => {
  let server: NatsServer;
  let hubs: TestHub[] = [];
  const receivers: Receiver[] = [];
  let published = 0;

  beforeAll(async () => {
    server = await NatsServer.forFleet([]);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    published = 0;
    hubs = [await TestHub.start(server.port), await TestHub.start(server.port)];
    await elected();
  });
  afterEach(async () => {
    await Promise.all(hubs.map((hub) => hub.close()));
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
    const nc = await connect({ servers: server.url });
    await (await new Kvm(nc).open('webhooks')).destroy();
    await nc.close();
    await server.createFleet([]);
  });

  /** Waits until exactly one of these hubs delivers. */
  const elected = (among = hubs): Promise<void> =>
    until(among, () => expect(among.filter(({ webhooks }) => webhooks.isDelivering)).toHaveLength(1));

  async function newReceiver(answer?: (response: ServerResponse, delivery: Delivery) => void): Promise<Receiver> {
    const receiver = await Receiver.start(answer);
    receivers.push(receiver);
    return receiver;
  }

  /** Publishes new rows to every hub. */
  function publish(count: number): void {
    for (const hub of hubs) hub.publish(published + 1, published + count);
    published += count;
  }

  const hubAt = (index: number): TestHub => hubs[index] as TestHub;
  const delivering = (): TestHub => hubs.find(({ webhooks }) => webhooks.isDelivering) as TestHub;
  const otherThan = (holder: TestHub): TestHub => hubs.find((hub) => hub !== holder) as TestHub;

  test('are served by one hub only, and both hubs know them and answer for them', async () => {
    const [one, two] = [hubAt(0), hubAt(1)];
    const [first, second] = [await newReceiver(), await newReceiver()];
    const a = await one.webhooks.add(hook(first, { secret: 'hunter2', headers: { Authorization: 'Bearer x' } }));
    const b = await two.webhooks.add(hook(second, { name: 'Büro' }));
    publish(100);
    await until(hubs, () => {
      expect(rowsAt(first)).toEqual(range(1, 100));
      expect(rowsAt(second)).toEqual(range(1, 100));
    });
    for (const hub of hubs) {
      await until(hubs, () =>
        expect(
          hub.webhooks
            .list()
            .map(({ id }) => id)
            .sort(),
        ).toEqual([a.id, b.id].sort()),
      );
      await until(hubs, async () => {
        expect(await hub.webhooks.status(a.id)).toMatchObject({ behind: 0, state: 'healthy', has_secret: true });
        expect(await hub.webhooks.deliveries(a.id)).toHaveLength(100);
      });
      expect(await hub.webhooks.lastDelivery(b.id)).toMatchObject({ row_id: 100, outcome: 'delivered' });
      expect(await hub.webhooks.test(b.id)).toMatchObject({ delivered: true, status: 204 });
    }
    const unknown = { code: 'webhook_not_found', status: 404 };
    await expect(two.webhooks.status('6f1c2f0e-7e0e-4c7e-9d55-2b1f8f6f0a11')).rejects.toMatchObject(unknown);
    expect(await two.webhooks.remove('6f1c2f0e-7e0e-4c7e-9d55-2b1f8f6f0a11')).toBe(false);
    // No secret, header or address is readable at the broker.
    const nc = await connect({ servers: server.url });
    const stored = await (await new Kvm(nc).open('webhooks')).get('lease');
    await nc.close();
    expect(stored?.string()).not.toMatch(/hunter2|Bearer|127\.0\.0\.1|message/);
  });

  test('are answered as stored when the asking hub cannot read them afterwards', async () => {
    const asking = otherThan(delivering());
    const receiver = await newReceiver();
    Object.assign(asking.connection, { kv: () => Promise.reject(new Error('no answer in time')) });
    const { id } = await asking.webhooks.add(hook(receiver, { name: 'once' }));
    expect(await asking.webhooks.change(id, { name: 'twice' })).toMatchObject({ id, name: 'twice', enabled: true });
    expect(await asking.webhooks.replay(id, { rowId: 0 })).toMatchObject({ id, name: 'twice' });
    expect(delivering().webhooks.list()).toMatchObject([{ id, name: 'twice' }]);
    expect(await asking.webhooks.remove(id)).toBe(true);
    await expect(asking.webhooks.change(id, {})).rejects.toMatchObject({ code: 'webhook_not_found' });
  });

  test('are changed, paused, replayed and removed from any hub', async () => {
    const receiver = await newReceiver();
    const { id } = await hubAt(0).webhooks.add(hook(receiver, { secret: 'first' }));
    const other = otherThan(delivering());
    publish(5);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 5)));
    expect(await other.webhooks.change(id, { enabled: false, secret: 'second', name: 'paused' })).toMatchObject({
      name: 'paused',
      previousSecret: { secret: 'first' },
    });
    expect(other.webhooks.get(id)).toMatchObject({ enabled: false });
    publish(5);
    await until(hubs, async () =>
      expect(await other.webhooks.status(id)).toMatchObject({ state: 'paused', behind: 5 }),
    );
    await other.webhooks.change(id, { enabled: true, filter: { conversation_ids: ['any;-;+15550100'] } });
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 10)));
    const again = receiver.deliveries.at(-1)?.headers['webhook-signature'];
    expect(String(again).split(' ')).toHaveLength(2);
    await other.webhooks.replay(id, { rowId: 7 });
    await until(hubs, () => expect(rowsAt(receiver)).toEqual([...range(1, 10), 8, 9, 10]));
    await expect(other.webhooks.replay(id, { rowId: 999 })).rejects.toMatchObject({ status: 410 });
    await expect(other.webhooks.change(id, { include: includeSet(['details']) })).rejects.toMatchObject({
      status: 501,
    });
    expect(await other.webhooks.remove(id)).toBe(true);
    publish(5);
    await until(hubs, () => expect(hubs.flatMap((hub) => hub.webhooks.list())).toEqual([]));
    expect(rowsAt(receiver)).toHaveLength(13);
    await expect(other.webhooks.status(id)).rejects.toMatchObject({ status: 404 });
  });

  test('continue in order at another hub when theirs is killed, with the same delivery ids', async () => {
    let holdBack: ServerResponse | undefined;
    const receiver = await newReceiver((response, { event }) => {
      if (event.data.id === '50' && holdBack === undefined) holdBack = response;
      else response.writeHead(204).end();
    });
    await hubAt(0).webhooks.add(hook(receiver));
    const holder = delivering();
    publish(100);
    await until(hubs, () => expect(holdBack).toBeDefined());
    await holder.kill();
    holdBack?.destroy();
    const other = otherThan(holder);
    await until([other], () => expect(rowsAt(receiver)).toContain(100));
    const rows = rowsAt(receiver);
    const repeats = rows.length - 100;
    // Deliveries whose position was not written yet are repeated, in order and with the same ids.
    expect(rows).toEqual([...range(1, 50), ...range(51 - repeats, 100)]);
    expect(new Set(ids(receiver.deliveries)).size).toBe(100);
    expect(other.webhooks.isDelivering).toBe(true);
  });

  test('repeat at most one delivery when a hub was paused for longer than its lease', async () => {
    const held: ServerResponse[] = [];
    const receiver = await newReceiver((response, { event }) => {
      if (event.data.id === '50' && held.length === 0) held.push(response);
      else response.writeHead(204).end();
    });
    const { id } = await hubAt(0).webhooks.add(hook(receiver));
    const holder = delivering();
    const other = otherThan(holder);
    publish(49);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 49)));
    await until(hubs, async () => expect((await other.webhooks.status(id)).behind).toBe(0));
    publish(51);
    await until(hubs, () => expect(held).toHaveLength(1));
    // The positions are written, so the deliveries before the pause are certain.
    await until(hubs, () => expect(holder.clock.pending).toBeLessThan(4));
    holder.line.stall(true);
    await until([other], () => expect(rowsAt(receiver)).toEqual([...range(1, 50), ...range(50, 100)]));
    publish(20);
    // The hub resumes: time has passed, the answer has arrived, and it does not know yet that it lost its lease.
    holder.clock.pause(30_000);
    held[0]?.writeHead(204).end();
    await until([other], () => expect(rowsAt(receiver)).toHaveLength(121));
    holder.line.stall(false);
    await elected();
    expect(rowsAt(receiver)).toEqual([...range(1, 50), ...range(50, 120)]);
    expect(new Set(ids(receiver.deliveries)).size).toBe(120);
  });

  test('are given up at once by a hub that stops, and nothing is delivered twice', async () => {
    const receiver = await newReceiver();
    const { id } = await hubAt(0).webhooks.add(hook(receiver));
    const holder = delivering();
    publish(50);
    await until(hubs, () => expect(rowsAt(receiver).length).toBeGreaterThan(10));
    await holder.webhooks.close();
    const other = otherThan(holder);
    let seconds = 0;
    await until([other], () => {
      seconds += 0.5;
      expect(other.webhooks.isDelivering).toBe(true);
    });
    // Otherwise the lease would end only after 6 s. The hub's clock does not advance while the receiver answers.
    expect(seconds).toBeLessThan(4);
    await until([other], () => expect(rowsAt(receiver)).toEqual(range(1, 50)));
    await until([other], async () => expect(await other.webhooks.status(id)).toMatchObject({ behind: 0 }));
  });

  test('are written to the broker again after it lost everything, and continue', async () => {
    const receiver = await newReceiver();
    const { id } = await hubAt(0).webhooks.add(hook(receiver, { name: 'kept' }));
    const gone = await hubAt(1).webhooks.add(hook(receiver));
    await hubAt(0).webhooks.remove(gone.id);
    // The webhook does not change, so its hub has no other reason to write it again.
    const idle = await hubAt(1).webhooks.add(hook(receiver, { enabled: false }));
    publish(20);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 20)));
    await until(hubs, async () => expect((await hubAt(1).webhooks.status(id)).behind).toBe(0));
    await server.deleteStore();
    publish(20);
    const asking = otherThan(delivering());
    const refused = expect(asking.webhooks.status(id)).rejects.toMatchObject({ status: 503 });
    await asking.pass(2000);
    await refused;
    await server.launch();
    await server.createFleet([]);
    await until(hubs, () => {
      expect(hubs.filter(({ webhooks }) => webhooks.isDelivering)).toHaveLength(1);
      expect([...new Set(rowsAt(receiver))]).toEqual(range(1, 40));
    });
    await until(hubs, async () => {
      for (const hub of hubs) expect(await hub.webhooks.status(id)).toMatchObject({ name: 'kept', behind: 0 });
      for (const hub of hubs) expect(await hub.webhooks.status(idle.id)).toMatchObject({ state: 'paused', behind: 40 });
    });
    for (const hub of hubs) expect(hub.webhooks.get(gone.id)).toBeUndefined();
  });

  test('wait while the broker is away for longer than a lease, and lose nothing', async () => {
    const receiver = await newReceiver();
    const { id } = await hubAt(0).webhooks.add(hook(receiver));
    publish(10);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 10)));
    await server.stop();
    await until(hubs, () => expect(delivering()).toBeUndefined());
    publish(10);
    await server.launch();
    await until(hubs, () => {
      expect(hubs.filter(({ webhooks }) => webhooks.isDelivering)).toHaveLength(1);
      expect(rowsAt(receiver)).toContain(20);
    });
    expect([...new Set(rowsAt(receiver))]).toEqual(range(1, 20));
    await until(hubs, async () => expect(await hubAt(1).webhooks.status(id)).toMatchObject({ behind: 0 }));
  });

  test('hold a delivery at the next hub as at the previous hub', async () => {
    let isUp = false;
    const receiver = await newReceiver((response) => void response.writeHead(isUp ? 204 : 500).end());
    const { id } = await hubAt(0).webhooks.add(hook(receiver, { on_failure: 'hold' }));
    const holder = delivering();
    const other = otherThan(holder);
    publish(3);
    await until(hubs, () => expect(other.webhooks.get(id)?.held).toMatchObject({ attempts: 3 }));
    await holder.webhooks.close();
    await until([other], () => expect(receiver.deliveries).toHaveLength(4));
    expect(receiver.deliveries.at(-1)?.headers['x-webhook-attempt']).toBe('4');
    expect(await other.webhooks.status(id)).toMatchObject({ state: 'held', row_id: 0 });
    isUp = true;
    await other.webhooks.change(id, { name: 'attempted again' });
    await until([other], () => expect(rowsAt(receiver).slice(4)).toEqual([1, 2, 3]));
  });

  test('number at most 64, even after a hundred simultaneous registrations at two hubs', async () => {
    const receiver = await newReceiver();
    const answers = await Promise.allSettled(
      range(1, 100).map((n) => hubAt(n % 2).webhooks.add(hook(receiver, { name: `number ${n}` }))),
    );
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as AppError] : []));
    expect(refused.map(({ code }) => code)).toEqual(range(1, 36).map(() => 'too_many_webhooks'));
    for (const hub of hubs) await until(hubs, () => expect(hub.webhooks.list()).toHaveLength(64));
    publish(1);
    await until(hubs, () => expect(rowsAt(receiver)).toHaveLength(64));
  });

  test('move to another hub when theirs can no longer serve events', async () => {
    const receiver = await newReceiver();
    await hubAt(0).webhooks.add(hook(receiver));
    const holder = delivering();
    publish(10);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 10)));
    holder.isReady = false;
    const other = otherThan(holder);
    await until(hubs, () => expect(other.webhooks.isDelivering).toBe(true));
    publish(10);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 20)));
    expect(holder.webhooks.isDelivering).toBe(false);
  });

  test('are not changed by a hub that lost the lease, whose client gets an error', async () => {
    const receiver = await newReceiver();
    const { id } = await hubAt(0).webhooks.add(hook(receiver, { name: 'before' }));
    const holder = delivering();
    const other = otherThan(holder);
    holder.line.stall(true);
    const changed = holder.webhooks.change(id, { name: 'too late' });
    const added = holder.webhooks.add(hook(receiver, { name: 'too late' }));
    const failures = Promise.allSettled([changed, added]);
    await until([other], () => expect(other.webhooks.isDelivering).toBe(true));
    holder.line.stall(false);
    await until(hubs, () => expect(holder.webhooks.isDelivering).toBe(false));
    expect((await failures).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    for (const hub of hubs) {
      await until(hubs, () => expect(hub.webhooks.list().map(({ name }) => name)).toEqual(['before']));
    }
  });

  test('are refused if all of them together are too large for the broker, and the others continue', async () => {
    const receiver = await newReceiver();
    const senders = Array.from({ length: 200 }, (_, place) => `${'x'.repeat(4000)}${place}@example.org`);
    const large = hook(receiver, { filter: { senders } });
    const { id } = await hubAt(0).webhooks.add(hook(receiver));
    const refused = { code: 'invalid_request', status: 400 };
    await expect(hubAt(0).webhooks.add(large)).rejects.toMatchObject(refused);
    await expect(hubAt(1).webhooks.change(id, { filter: { senders } })).rejects.toMatchObject(refused);
    publish(5);
    await until(hubs, () => expect(rowsAt(receiver)).toEqual(range(1, 5)));
    for (const hub of hubs) expect(hub.webhooks.list()).toHaveLength(1);
  });
});
