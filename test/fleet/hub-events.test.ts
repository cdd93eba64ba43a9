import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { decodeOffset, encodeStreamOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import { Envelope, hubKeys, newFleetKeyLine } from '../../src/features/fleet/protocol/envelope.ts';
import { HEADERS } from '../../src/features/fleet/protocol/layout.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { nextOf } from '../support/next-page.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';

interface Shown {
  readonly type: string;
  readonly data: { readonly id: string; readonly mac: string };
  readonly offset: string;
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Numbers the tests, which share a server, so that each has its own epoch. */
let made = 0;

async function agentOf(server: NatsServer, mac: string, envelope?: Envelope): Promise<StandInAgent> {
  const agent = await StandInAgent.connect(server.url, mac, envelope, `e${made}`);
  closers.push(() => agent.close());
  return agent;
}

async function hubOf(server: NatsServer): Promise<HubFixture> {
  const hub = await HubFixture.start([server.url]);
  closers.push(() => hub.dispose());
  return hub;
}

async function eventsOf(hub: HubFixture, after = '0'): Promise<Shown[]> {
  const response = await hub.get(`/events?limit=1000&after=${after}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Shown[];
}

const idsOf = (events: readonly Shown[]): string[] => events.map(({ data }) => data.id);
const idsAfter = async (hub: HubFixture, after?: string): Promise<string[]> => idsOf(await eventsOf(hub, after));
/** Returns a hub's events once it has these ids. */
const has = (hub: HubFixture, ids: readonly string[]) =>
  eventually(async () => expect(await idsAfter(hub)).toEqual(ids));

/** Collects the ids that a WebSocket receives. An event may be listed before its frame arrives. */
async function listen(hub: HubFixture, query = ''): Promise<string[]> {
  const ids: string[] = [];
  const socket = new WebSocket(`${hub.api.replace('http', 'ws')}/ws?api_key=${KEY}${query}`);
  socket.on('message', (data) => ids.push((JSON.parse((data as Buffer).toString()) as Shown).data.id));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  closers.push(() => socket.terminate());
  return ids;
}

describeWithNats('the events of a hub', () => {
  let server: NatsServer;
  let m1: StandInAgent;
  let m2: StandInAgent;
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
  });
  afterAll(async () => {
    await server.dispose();
  });
  beforeEach(async () => {
    await server.purgeEvents();
    made += 1;
    m1 = await agentOf(server, 'm1');
    m2 = await agentOf(server, 'm2');
  });

  test('have their Mac, qualified ids and an offset, in the order of the stream', async () => {
    await m1.publish(1);
    await m2.publish(1);
    await m1.publish(2);
    const hub = await hubOf(server);
    await has(hub, ['m1~1', 'm2~1', 'm1~2']);
    const [first, second] = await eventsOf(hub);
    expect(first).toEqual({
      type: 'message.received',
      data: expect.objectContaining({ id: 'm1~1', conversation_id: 'm1~any;-;+15550100', mac: 'm1', body: 'row 1' }),
      offset: expect.stringMatching(/^[\w-]{40,}$/),
    });
    expect(decodeOffset(first?.offset ?? '')).toMatchObject({
      sequence: expect.any(Number),
      stream: expect.stringMatching(/^20/),
    });
    expect(await idsAfter(hub, first?.offset)).toEqual(['m2~1', 'm1~2']);

    const page = await hub.get(`/events?after=0&limit=2`);
    const next = nextOf(page) ?? '';
    expect(idsOf((await (await hub.get(next)).json()) as Shown[])).toEqual(['m1~2']);
    expect(new URL(next, 'http://x').searchParams.get('after')).toBe(second?.offset);
  });

  test.each(['max_age_s=1800', 'junk=false'])('with %s, which only a Mac knows, are refused', async (parameter) => {
    const hub = await hubOf(server);
    for (const accept of ['application/json', 'text/event-stream', 'application/x-ndjson']) {
      const answer = await hub.get(`/events?after=0&${parameter}`, { Accept: accept });
      expect([accept, answer.status]).toEqual([accept, 501]);
      expect(await answer.json()).toMatchObject({ code: 'not_at_a_hub' });
    }
    const socket = new WebSocket(`${hub.api.replace('http', 'ws')}/ws?api_key=${KEY}&${parameter}`);
    const [, { statusCode }] = (await once(socket, 'unexpected-response')) as [
      unknown,
      { readonly statusCode: number },
    ];
    // Ignores the error that it was closed before it opened.
    socket.on('error', () => {}).terminate();
    expect(statusCode).toBe(501);
    expect((await hub.get('/events?after=0&junk=true')).status).toBe(200);
  });

  test('are streamed with their offsets as ids, and a WebSocket resumes by one', async () => {
    const hub = await hubOf(server);
    await m1.publish(1, 3);
    await has(hub, ['m1~1', 'm1~2', 'm1~3']);
    const [first, second] = await eventsOf(hub);
    const abort = new AbortController();
    const stream = await fetch(`${hub.api}/events`, {
      headers: { 'X-API-Key': KEY, Accept: 'text/event-stream', 'Last-Event-ID': first?.offset ?? '' },
      signal: abort.signal,
    });
    const chunk = await stream.body?.getReader().read();
    expect(new TextDecoder().decode(chunk?.value as Uint8Array)).toContain(`id: ${second?.offset}\ndata: {"type"`);
    abort.abort();
    const resumed = await listen(hub, `&after=${first?.offset}`);
    await m2.publish(7);
    await eventually(() => expect(resumed).toEqual(['m1~2', 'm1~3', 'm2~7']));
  });

  test('have no gap and no repeat for a client that continues at a restarted hub, or at another hub', async () => {
    const hub = await hubOf(server);
    const other = await hubOf(server);
    await m1.publish(1, 5);
    await has(hub, ['m1~1', 'm1~2', 'm1~3', 'm1~4', 'm1~5']);
    const last = (await eventsOf(hub)).at(-1)?.offset;
    await hub.close();
    await m1.publish(6, 400);
    const expected = Array.from({ length: 395 }, (_, n) => `m1~${n + 6}`);
    // The other hub may not have copied what this one delivered.
    const there = await listen(other, `&after=${last}`);
    await hub.start();
    const here = await listen(hub, `&after=${last}`);
    await eventually(() => expect([there, here]).toEqual([expected, expected]));
  });

  test('have no row ids as offsets, and an offset before deleted events is refused', async () => {
    const hub = await hubOf(server);
    await m1.publish(1, 2);
    await has(hub, ['m1~1', 'm1~2']);
    const wrong = await hub.get('/events?after=1');
    expect([wrong.status, ((await wrong.json()) as { detail: string }).detail]).toEqual([
      400,
      'At a hub `after` must be an offset from a hub, or 0 for everything that is kept.',
    ]);
    const { stream, sequence, atMs } = decodeOffset((await eventsOf(hub))[0]?.offset ?? '') as StreamOffset;
    const long = { stream: '2020-01-01T00:00:00Z', sequence: 9, messageId: 'gone', atMs: atMs - 90_000_000 };
    const gone = await hub.get(`/events?after=${encodeStreamOffset(long)}`);
    expect([gone.status, await gone.json()]).toEqual([
      410,
      expect.objectContaining({ code: 'offset_expired', oldest: '0' }),
    ]);
    // Another message is at the place of the offset, so the client may lack earlier events.
    const unknown = encodeStreamOffset({ stream, sequence: sequence + 1, messageId: 'unknown', atMs });
    expect(await idsAfter(hub, unknown)).toEqual(['m1~1', 'm1~2']);
    expect((await hub.get('/events?after=0&include=details')).status).toBe(501);
  });

  test('arrive once when the stream was recreated and refilled, in the order that was seen first', async () => {
    const hub = await hubOf(server);
    await m1.publish(1, 3);
    await m2.publish(1, 2);
    const all = ['m1~1', 'm1~2', 'm1~3', 'm2~1', 'm2~2'];
    await has(hub, all);
    const live = await listen(hub);
    const before = await eventsOf(hub);

    await server.deleteStore();
    await server.launch();
    await server.createFleet(['m1', 'm2']);
    // Both publish their rows again as agents do, but in the other order.
    await m2.publish(1, 3, 0);
    await m1.publish(1, 4, 0);
    await has(hub, [...all, 'm2~3', 'm1~4']);
    await eventually(() => expect(live).toEqual(['m2~3', 'm1~4']));
    expect(await idsAfter(hub, before[2]?.offset)).toEqual(['m2~1', 'm2~2', 'm2~3', 'm1~4']);

    // A hub that never saw the old stream repeats events, but loses none.
    const fresh = await hubOf(server);
    await has(fresh, ['m2~1', 'm2~2', 'm2~3', 'm1~1', 'm1~2', 'm1~3', 'm1~4']);
    expect(await idsAfter(fresh, before[2]?.offset)).toEqual(await idsAfter(fresh));
    const now = (await eventsOf(hub))[1]?.offset;
    expect(await idsAfter(fresh, now)).toEqual(await idsAfter(fresh));
  });

  test('of a stream that lost its end arrive once too, although the stream reuses sequences', async () => {
    const hub = await hubOf(server);
    await m1.publish(1, 2);
    await has(hub, ['m1~1', 'm1~2']);
    await server.stop();
    const copy = `${server.storeFolder}-copy`;
    cpSync(server.storeFolder, copy, { recursive: true });
    await server.launch();
    await m1.publish(3, 4);
    await has(hub, ['m1~1', 'm1~2', 'm1~3', 'm1~4']);
    const before = await eventsOf(hub);
    const live = await listen(hub);

    await server.stop();
    rmSync(server.storeFolder, { recursive: true });
    cpSync(copy, server.storeFolder, { recursive: true });
    await server.launch();
    await m2.publish(1, 1, 0);
    await m1.publish(3, 5, 2);
    await has(hub, ['m1~1', 'm1~2', 'm1~3', 'm1~4', 'm2~1', 'm1~5']);
    await eventually(() => expect(live).toEqual(['m2~1', 'm1~5']));
    expect(await idsAfter(hub, before[3]?.offset)).toEqual(['m2~1', 'm1~5']);
    const fresh = await hubOf(server);
    await has(fresh, ['m1~1', 'm1~2', 'm2~1', 'm1~3', 'm1~4', 'm1~5']);
    expect(await idsAfter(fresh, before[2]?.offset)).toEqual(await idsAfter(fresh));
  });

  test('are copied again after hub.db was deleted', async () => {
    const hub = await hubOf(server);
    await m1.publish(1, 2);
    await has(hub, ['m1~1', 'm1~2']);
    const [first] = await eventsOf(hub);
    await hub.close();
    rmSync(hub.databasePath);
    await hub.start();
    await has(hub, ['m1~1', 'm1~2']);
    expect(await idsAfter(hub, first?.offset)).toEqual(['m1~2']);
  });

  test('are only new ones for a client that starts to listen at a new hub', async () => {
    await m1.publish(1, 300);
    const hub = await hubOf(server);
    await hub.close();
    rmSync(hub.databasePath);
    await hub.start();
    const live = await waitFor(() => listen(hub));
    await m1.publish(301);
    await eventually(() => expect(live).toContain('m1~301'));
    expect(live).toEqual(['m1~301']);
  });

  test('continue after messages that no agent wrote, which are counted and not quoted', async () => {
    const hub = await hubOf(server);
    await m1.publish(1);
    const fine = {
      [HEADERS.version]: '1',
      [HEADERS.row]: '2',
      [HEADERS.previousRow]: '1',
      [HEADERS.epoch]: m1.epoch,
      [HEADERS.type]: 'message.received',
    };
    await m1.publishRaw('secret words');
    await m1.publishRaw('{"type":"message.received","data":{}} secret words', { ...fine, [HEADERS.messageId]: 'a' });
    await m1.publishRaw('{"type":"nonsense","data":{}}', {
      ...fine,
      [HEADERS.row]: '3',
      [HEADERS.previousRow]: '2',
      [HEADERS.messageId]: 'b',
    });
    await m1.publishRaw('{}', { ...fine, [HEADERS.version]: '2', [HEADERS.row]: '4', [HEADERS.messageId]: 'c' });
    await m1.publishRaw('{}', { ...fine, [HEADERS.row]: '-4', [HEADERS.messageId]: 'd', More: 'of it' });
    const sealed = new Envelope(hubKeys(newFleetKeyLine()));
    await (await agentOf(server, 'm2', sealed)).publish(5, 5, 0);
    await m1.supply({ without: [2, 3] });
    await m1.publish(6, 6, 3);
    await has(hub, ['m1~1', 'm1~6']);
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_fleet_rejected_total 6$/m);
    expect(hub.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    const warnings = hub.log.lines.filter(({ message }) => message.includes('not an event'));
    expect(warnings.length).toBeGreaterThan(0);
    expect(JSON.stringify(hub.log.lines)).not.toContain('secret');
  });
});
