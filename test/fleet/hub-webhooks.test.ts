import { cpSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EVENTS } from '../../src/features/fleet/protocol/subjects.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, type Hub, type Mac } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

describeWithNats('the webhooks of a fleet', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let receiver: Receiver;
  let hubs: readonly [Hub, Hub];
  let mac: Mac;

  beforeEach(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
    receiver = await Receiver.start();
    hubs = [await fleet.hub(), await fleet.hub()];
    mac = await fleet.mac('m1');
  });
  afterEach(async () => {
    await fleet.stop();
    await receiver.close();
    await server.dispose();
  });

  async function register(settings: object = {}): Promise<string> {
    const body = { url: receiver.url, events: ['message.received'], ...settings };
    const answer = await hubs[0].post('/api/v1/webhooks', body);
    const { id } = (await answer.json()) as { id: string };
    expect(answer.status).toBe(201);
    await waitFor(async () => (await hubs[1].get(`/api/v1/webhooks/${id}`)).status === 200);
    return id;
  }
  const change = (id: string, changes: object): Promise<Response> =>
    fetch(`${hubs[1].url}/api/v1/webhooks/${id}`, {
      method: 'PATCH',
      headers: { 'x-api-key': hubs[1].key, 'content-type': 'application/json' },
      body: JSON.stringify(changes),
    });
  async function consumers(): Promise<readonly string[]> {
    const nc = await connect({ servers: server.url });
    const found = await (await jetstreamManager(nc)).consumers.list(EVENTS).next();
    await nc.close();
    return found.map(({ name }) => name).filter((name) => name.startsWith('wh_'));
  }
  const hasDropped = (id: string, dropped: number) =>
    eventually(async () => {
      expect(await (await hubs[0].get(`/api/v1/webhooks/${id}`)).json()).toMatchObject({ dropped });
    });
  const texts = (): unknown[] => receiver.deliveries.map(({ event }) => event.data.body);
  const ids = (): unknown[] => receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
  function write(...all: readonly string[]): void {
    for (const text of all) mac.write(text, `G-${text}`);
  }
  const numbered = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `t${String(from + index)}`);

  test('deliver each event once and in order, whichever hub does it, and every hub shows the deliveries', async () => {
    const id = await register();
    write(...numbered(1, 30));
    await eventually(() => expect(texts()).toEqual(numbered(1, 30)));
    expect(new Set(ids()).size).toBe(30);
    expect(ids()[0]).toMatch(/^ev\.m1\./);
    for (const hub of hubs) {
      await eventually(async () => {
        const deliveries = (await (await hub.get(`/api/v1/webhooks/${id}/deliveries`)).json()) as { id: string }[];
        expect(deliveries.map((one) => one.id)).toEqual(ids().toReversed());
      });
      expect(await (await hub.get(`/api/v1/webhooks/${id}`)).json()).toMatchObject({ state: 'healthy', behind: 0 });
    }
  });

  test('are 503 broker_away while the broker is away, as are Macs, and the status of the hub still says why', async () => {
    const id = await register();
    await waitFor(async () => (await hubs[0].get('/macs/m1/api/v1/messages')).status === 200);
    await server.stop();
    await waitFor(async () => (await hubs[0].get('/ready')).status === 503);
    for (const path of [`webhooks/${id}`, `webhooks/${id}/deliveries`, 'conversations']) {
      const answer = await hubs[0].get(`/api/v1/${path}`);
      expect([path, answer.status, await answer.json()]).toMatchObject([path, 503, { code: 'broker_away' }]);
    }
    expect(await (await hubs[0].get('/macs/m1/api/v1/messages')).json()).toMatchObject({ code: 'broker_away' });
    const status = await hubs[0].get('/api/v1/status');
    expect([status.status, await status.json()]).toMatchObject([200, { backend: { connected: false }, webhooks: [] }]);
    await server.launch();
  });

  test('continue at the other hub when one ends', async () => {
    await register();
    write('one');
    await eventually(() => expect(texts()).toEqual(['one']));
    await hubs[0].stop();
    write('two', 'three');
    await eventually(() => expect(texts()).toEqual(['one', 'two', 'three']));
  });

  test('hold an event until the receiver takes it, keep the order, and retry at once when asked', async () => {
    receiver.answerWith((response) => void response.writeHead(500).end());
    const id = await register({ on_failure: 'hold' });
    write('one', 'two');
    await eventually(async () =>
      expect(await (await hubs[1].get(`/api/v1/webhooks/${id}`)).json()).toMatchObject({ state: 'held' }),
    );
    receiver.answerWith((response) => void response.writeHead(204).end());
    expect((await hubs[1].post(`/api/v1/webhooks/${id}/retry`, {})).status).toBe(202);
    await eventually(() => expect(texts().slice(-2)).toEqual(['one', 'two']));
    expect(new Set(ids()).size).toBe(2);
    const attempts = texts().length - 1;
    expect(attempts).toBeGreaterThan(3);
    expect(receiver.deliveries.at(-2)?.headers['x-webhook-attempt']).toBe(String(attempts));
    await eventually(async () =>
      expect(await (await hubs[0].get(`/api/v1/webhooks/${id}/deliveries`)).json()).toMatchObject([
        { outcome: 'delivered', attempts: 1 },
        { outcome: 'delivered', attempts },
      ]),
    );
    expect(await consumers()).toEqual([`wh_${id}_2`]);
  });

  test('give up a held event when replayed from the latest, though it is being attempted', async () => {
    let attempts = 0;
    const answers: (() => void)[] = [];
    receiver.answerWith((response) => {
      attempts += 1;
      const answer = () => void response.writeHead(500).end();
      if (attempts === 4) answers.push(answer);
      else answer();
    });
    const id = await register({ on_failure: 'hold' });
    const path = `/api/v1/webhooks/${id}`;
    const shown = async (): Promise<unknown> => (await hubs[1].get(path)).json();
    write('one');
    await eventually(async () => expect(await shown()).toMatchObject({ state: 'held' }));
    await hubs[1].post(`${path}/retry`, {});
    await waitFor(() => answers.length === 1);
    expect((await hubs[1].post(`${path}/replay`, { after: 'latest' })).status).toBe(202);
    expect(await shown()).toMatchObject({ held: null });
    answers[0]?.();
    receiver.answerWith((response) => void response.writeHead(204).end());
    for (let round = 0; round < 5; round += 1) {
      await hubs[0].post(`${path}/test`, {});
      expect(await shown()).toMatchObject({ held: null });
    }
    const before = receiver.deliveries.length;
    write('two');
    await eventually(() => expect(texts().slice(before)).toEqual(['two']));
  });

  test('pause when the receiver answers 410, and go on with the same event afterwards', async () => {
    receiver.answerWith((response) => void response.writeHead(410).end());
    const id = await register({ on_failure: 'hold' });
    write('one');
    await eventually(async () =>
      expect(await (await hubs[1].get(`/api/v1/webhooks/${id}`)).json()).toMatchObject({ state: 'paused' }),
    );
    receiver.answerWith((response) => void response.writeHead(204).end());
    const before = receiver.deliveries.length;
    expect((await change(id, { enabled: true })).status).toBe(200);
    await eventually(() => expect(texts().slice(before)).toEqual(['one']));
  });

  test('lose nothing when the store of the broker is restored from an old copy', async () => {
    const copy = temporaryFolder();
    await register();
    write(...numbered(1, 3));
    await eventually(() => expect(texts()).toEqual(numbered(1, 3)));
    await server.stop();
    cpSync(server.storeFolder, copy, { recursive: true });
    await server.launch();
    write(...numbered(4, 12));
    await eventually(() => expect(texts()).toContain('t12'));
    await server.stop();
    rmSync(server.storeFolder, { recursive: true });
    cpSync(copy, server.storeFolder, { recursive: true });
    await server.launch();
    write(...numbered(13, 20));
    await eventually(() => expect(new Set(texts())).toEqual(new Set(numbered(1, 20))));
  });

  test('lose nothing when the store of the broker is deleted', async () => {
    await register();
    write(...numbered(1, 3));
    await eventually(() => expect(texts()).toEqual(numbered(1, 3)));
    await server.deleteStore();
    await server.launch();
    await server.createFleet();
    write(...numbered(4, 8));
    await eventually(() => expect(new Set(texts())).toEqual(new Set(numbered(1, 8))));
  });

  test('lose nothing if just added when an old copy is restored', async () => {
    const copy = temporaryFolder();
    const other = await fleet.mac('m2');
    write('one');
    await hubs[0].texts(1);
    await server.stop();
    cpSync(server.storeFolder, copy, { recursive: true });
    await server.launch();
    write(...numbered(1, 5));
    await hubs[0].texts(6);
    await register();
    await mac.stop();
    await server.stop();
    rmSync(server.storeFolder, { recursive: true });
    cpSync(copy, server.storeFolder, { recursive: true });
    await server.launch();
    other.write('two');
    await eventually(() => expect(texts()).toContain('two'));
  });

  test('replay the dropped events that the stream still has, and record the others as gone', async () => {
    const other = await fleet.mac('m2');
    receiver.answerWith((response) => void response.writeHead(500).end());
    const id = await register();
    const path = `/api/v1/webhooks/${id}`;
    write('one');
    await hasDropped(id, 1);
    other.write('two');
    await hasDropped(id, 2);
    expect((await change(id, { enabled: false })).status).toBe(200);
    await mac.stop();
    await server.deleteStream();
    await server.createFleet();
    await eventually(async () => expect(await hubs[0].texts(1)).toEqual(['two']));
    receiver.answerWith((response) => void response.writeHead(204).end());
    const before = receiver.deliveries.length;
    expect((await hubs[0].post(`${path}/replay`, { dropped: true })).status).toBe(202);
    await hasDropped(id, 0);
    expect(texts().slice(before)).toEqual(['two']);
    expect(await (await hubs[0].get(`${path}/deliveries?outcome=gone`)).json()).toMatchObject([{ event: 'gone' }]);
  });

  test('replay dropped events, each once, although a test is running and the replay is asked for twice', async () => {
    receiver.answerWith((response) => void response.writeHead(500).end());
    const id = await register();
    const path = `/api/v1/webhooks/${id}`;
    write('one');
    await hasDropped(id, 1);
    let endTest = (): void => {};
    const isTesting = new Promise<void>((resolve) => {
      receiver.answerWith((response, { event }) => {
        const end = (): void => void response.writeHead(204).end();
        if (event.type !== 'webhook.test') return end();
        endTest = end;
        resolve();
      });
    });
    const before = receiver.deliveries.length;
    const tested = hubs[0].post(`${path}/test`, {});
    await isTesting;
    for (const _ of ['first', 'second']) {
      expect((await hubs[0].post(`${path}/replay`, { dropped: true })).status).toBe(202);
      // By then the replay has found that a test is running.
      await hubs[0].get(`${path}/deliveries`);
    }
    endTest();
    expect(await (await tested).json()).toMatchObject({ delivered: true });
    await hasDropped(id, 0);
    expect(texts().slice(before)).toEqual([undefined, 'one']);
  });

  test('are removed at every hub, and replayed from an offset', async () => {
    const id = await register();
    write('one', 'two');
    await eventually(() => expect(texts()).toEqual(['one', 'two']));
    const { events } = await hubs[1].events('after=0');
    expect((await hubs[1].post(`/api/v1/webhooks/${id}/replay`, { after: events[0]?.offset })).status).toBe(202);
    await eventually(() => expect(texts()).toEqual(['one', 'two', 'two']));
    const test = await hubs[1].post(`/api/v1/webhooks/${id}/test`, {});
    expect(await test.json()).toMatchObject({ delivered: true });
    const headers = { 'x-api-key': hubs[1].key };
    expect((await fetch(`${hubs[1].url}/api/v1/webhooks/${id}`, { method: 'DELETE', headers })).status).toBe(204);
    await waitFor(async () => (await hubs[0].get(`/api/v1/webhooks/${id}`)).status === 404);
  });
});
