import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import type { Message } from '../../src/core/model/message.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp } from '../support/mcp-clients.ts';
import { startPostern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let receiver: Receiver;
let keptBy: Receiver;
/** The newest row at the first start, the last old message, and a new one after them. */
let start: number;
let lastOld: number;
let young: number;

async function register(at: Receiver, filter: unknown): Promise<void> {
  const events = ['message.received'];
  const answer = await service.post('/webhooks', { url: at.url, events, ...(filter === undefined ? {} : { filter }) });
  expect(answer.status).toBe(201);
}

const rowOf = (answer: unknown): number => (answer as { readonly row: number }).row;

const textsOf = (at: Receiver): readonly string[] => at.deliveries.map(({ event }) => String(event.data.body));

beforeAll(async () => {
  mac = await simulatedMac();
  const { chatDbPath, osascriptPath } = mac;
  const dateMs = Date.now() - 48 * 3_600_000;
  start = rowOf(await mac.command({ do: 'receive', from: ANA, text: 'first', dateMs }));
  service = await Service.here({ chatDbPath, osascriptPath });
  receiver = await Receiver.start();
  keptBy = await Receiver.start();
  await register(receiver, { max_age_s: 1800 });
  await register(keptBy, undefined);
  const answer = await mac.command({ do: 'backfill', from: ANA, count: 2, again: [start] });
  lastOld = (answer as { readonly newest: number }).newest;
  young = rowOf(await mac.command({ do: 'receive', from: ANA, text: 'now' }));
  await eventually(() => expect(textsOf(keptBy)).toHaveLength(4));
});
afterAll(async () => {
  await receiver.close();
  await keptBy.close();
  await service.dispose();
  await mac.dispose();
});

const rowsOf = (events: unknown): readonly number[] =>
  (events as readonly { readonly data: { readonly id: string } }[]).map(({ data }) => Number(data.id));

async function lines(query: string, accept: string, isEnough: (text: string) => boolean): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(`${service.url}/events?${query}`, {
    headers: { 'X-API-Key': KEY, Accept: accept },
    signal: stop.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    if (isEnough(text)) break;
  }
  stop.abort();
  return text;
}

describe('history that iCloud fills in', () => {
  test('is late in details and in events with details, and what came just now is not', async () => {
    const details = async (row: number): Promise<unknown> =>
      ((await service.get(`/messages/${row}?include=details`)).json as Message).details;
    expect(await details(lastOld)).toMatchObject({ late: true });
    expect(await details(young)).not.toHaveProperty('late');
    const events = (await service.get(`/events?after=${start}&include=details`)).json as readonly { data: Message }[];
    expect(events.map(({ data }) => data.details?.late)).toEqual([true, true, true, undefined]);
    const first = (await service.get(`/messages/${start}`)).json as Message;
    const { body, timestamp } = first;
    expect(events[2]?.data).toMatchObject({ body, timestamp, guid: expect.not.stringMatching(first.guid) });
  });

  test('is skipped by GET /events with max_age_s, and its Link continues behind it with the same limit of age', async () => {
    const answer = await service.get(`/events?after=${start}&max_age_s=1800`);
    expect(rowsOf(answer.json)).toEqual([young]);
    expect(answer.headers.get('link')).toContain(`max_age_s=1800&after=${young}`);
    expect(rowsOf((await service.get(`/events?after=${start}&max_age_s=864000`)).json)).toHaveLength(4);
  });

  test.each(['text/event-stream', 'application/x-ndjson'])('is skipped by a stream of %s', async (accept) => {
    const text = await lines(`after=${start}&max_age_s=1800`, accept, (read) => read.includes('now'));
    expect(text).toContain('now');
    expect(text).not.toContain('backfill');
  });

  test('is skipped by a WebSocket, also one that was connected before', async () => {
    const socket = await service.socket(`&max_age_s=1800&after=${start}`);
    const answer = await mac.command({ do: 'backfill', from: ANA, count: 2 });
    const row = rowOf(await mac.command({ do: 'receive', from: ANA, text: 'live' }));
    await eventually(() => expect(rowsOf(socket.events)).toEqual([young, row]));
    expect((answer as { readonly newest: number }).newest).toBe(row - 1);
    await socket.close();
  });

  test.each(['http', 'websocket'] as const)('is skipped by the typed client over %s', async (over) => {
    const client = new PosternClient({ url: service.url, key: KEY });
    for await (const { data } of client.listen({ after: start, maxAgeS: 1800, over })) {
      expect(data).toMatchObject({ id: String(young) });
      break;
    }
    const after = String(start);
    const { events } = await client.trackedEvents({ after, maxAgeS: 1800, limit: young - start });
    expect(rowsOf(events)[0]).toBe(young);
    expect(rowsOf((await client.trackedEvents({ after, limit: young - start })).events)).toContain(lastOld);
  });

  test.each([
    ['30m', () => [young]],
    ['3d', () => [start + 1, start + 2, lastOld, young]],
  ] as const)('is printed by postern tail --max-age %s as far as it is that old', async (age, expected) => {
    const tail = startPostern([
      'tail',
      '--config-dir',
      service.configFolder,
      '--after',
      String(start),
      '--json',
      '--max-age',
      age,
    ]);
    const printed = (): readonly number[] =>
      rowsOf(
        tail.stdout
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as unknown),
      );
    await eventually(() => expect(printed()).toContain(young)).finally(() => tail.child.kill('SIGKILL'));
    expect(printed().filter((row) => row <= young)).toEqual(expected());
  });

  test('is skipped by a webhook with max_age_s, whose position moves over it', async () => {
    await eventually(() => expect(textsOf(receiver)).toContain('now'));
    const { newest } = await mac.command<{ readonly newest: number }>({ do: 'backfill', from: ANA, count: 2 });
    const rowOfWebhook = async (): Promise<unknown> => {
      const [{ id = '' } = {}] = (await service.get('/webhooks')).json as readonly { readonly id?: string }[];
      return ((await service.get(`/webhooks/${id}`)).json as { readonly row_id: number }).row_id;
    };
    await eventually(async () => expect(await rowOfWebhook()).toBe(newest));
    expect(textsOf(receiver).filter((text) => text.startsWith('backfill') || text === 'first')).toEqual([]);
  });

  test('is left out by the tools of agents, which say so, unless they are asked for it', async () => {
    const { key } = await limitedKey(service, { preset: 'reader', read: [ANA] });
    const client = await connectMcp('2026 over HTTP', service, key);
    const after = String(start);
    const polled = await client.call('events_poll', { after });
    expect(polled.text).toContain('now');
    expect(polled.text).not.toContain('backfill');
    expect(polled.text).toMatch(/\n\d events that came late were left out; late=true shows them\.\n</);
    expect((await client.call('events_wait', { after, timeout_s: 1, late: true })).text).toContain('backfill 0');
    await client.close();
  });

  test('stays late for those who read it after a restart', async () => {
    await service.stop();
    await service.launch();
    await eventually(async () => {
      const rows = rowsOf((await service.get(`/events?after=${start}&max_age_s=60`)).json);
      expect(rows).toContain(young);
      expect(rows).not.toContain(lastOld);
    });
  });
});
