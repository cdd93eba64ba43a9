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
const BEN = '+15550101';
const NUMBERS = { 'an ordinary one': 0, allowed: 1, 'you won': 2, offer: 3, code: 4, strange: 9 };

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let receiver: Receiver;
let keptBy: Receiver;
/** Row ids by text. */
const rows = new Map<string, number>();

async function register(at: Receiver, filter: unknown): Promise<void> {
  const answer = await service.post('/webhooks', { url: at.url, events: ['message.received'], filter });
  expect(answer.status).toBe(201);
}

async function receive(text: string, code: number): Promise<void> {
  const answer = await mac.command({ do: 'receive', from: ANA, text, filter: { code, subCode: code * 10 } });
  rows.set(text, (answer as { readonly row: number }).row);
}

beforeAll(async () => {
  mac = await simulatedMac({ macosVersion: '27' });
  const { chatDbPath, osascriptPath } = mac;
  service = await Service.here({ chatDbPath, osascriptPath, settings: { search: { enabled: true } } });
  receiver = await Receiver.start();
  keptBy = await Receiver.start();
  await register(receiver, { junk: false });
  await register(keptBy, { junk: true });
  for (const [text, code] of Object.entries(NUMBERS)) await receive(text, code);
  await eventually(() => expect(textsOf(keptBy)).toEqual(Object.keys(NUMBERS)));
});
afterAll(async () => {
  await receiver.close();
  await keptBy.close();
  await service.dispose();
  await mac.dispose();
});

const SHOWN = Object.keys(NUMBERS).filter((text) => text !== 'you won');

const textsOf = (at: Receiver): readonly string[] => at.deliveries.map(({ event }) => String(event.data.body));

const bodiesOf = (events: unknown): readonly string[] =>
  (events as readonly { readonly data: { readonly body: string } }[]).map(({ data }) => data.body);

async function stream(query: string, accept: string): Promise<string> {
  const stop = new AbortController();
  const headers = { 'X-API-Key': KEY, Accept: accept };
  const response = await fetch(`${service.url}/events?${query}`, { headers, signal: stop.signal });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.includes('strange')) break;
  }
  stop.abort();
  return text;
}

describe('what macOS 27 filed as junk', () => {
  test.each([
    ['an ordinary one', undefined],
    ['allowed', { action: 'allowed', code: 1, sub_code: 10 }],
    ['you won', { action: 'junk', code: 2, sub_code: 20 }],
    ['offer', { action: 'promotion', code: 3, sub_code: 30 }],
    ['code', { action: 'transaction', code: 4, sub_code: 40 }],
    ['strange', { action: 'other', code: 9, sub_code: 90 }],
  ])('%j has its filing in details', async (text, filter) => {
    const message = (await service.get(`/messages/${rows.get(text)}?include=details`)).json as Message;
    expect(message.details?.filter).toEqual(filter);
  });

  test('is in lists and events of those who do not narrow them', async () => {
    const listed = (await service.get('/messages?order=asc')).json as readonly Message[];
    expect(listed.map(({ body }) => body)).toEqual(Object.keys(NUMBERS));
    expect(bodiesOf((await service.get('/events?after=0')).json)).toEqual(Object.keys(NUMBERS));
    expect(bodiesOf((await service.get('/events?after=0&junk=true')).json)).toEqual(Object.keys(NUMBERS));
  });

  test('is skipped by GET /events with junk=false, and its Link continues in the same way', async () => {
    const answer = await service.get('/events?after=0&junk=false');
    expect(bodiesOf(answer.json)).toEqual(SHOWN);
    expect(answer.headers.get('link')).toContain(`junk=false&after=${rows.get('strange')}`);
  });

  test.each(['text/event-stream', 'application/x-ndjson'])('is skipped by a stream of %s', async (accept) => {
    expect(await stream('after=0', accept)).toContain('you won');
    expect(await stream('after=0&junk=false', accept)).not.toContain('you won');
  });

  test('is skipped by a WebSocket', async () => {
    const socket = await service.socket('&junk=false&after=0');
    await eventually(() => expect(bodiesOf(socket.events)).toEqual(SHOWN));
    await socket.close();
  });

  test.each(['http', 'websocket'] as const)('is skipped by the typed client over %s', async (over) => {
    const client = new PosternClient({ url: service.url, key: KEY });
    const bodies: unknown[] = [];
    for await (const { data } of client.listen({ after: 0, junk: false, over })) {
      bodies.push('body' in data && data.body);
      if (bodies.length === SHOWN.length) break;
    }
    expect(bodies).toEqual(SHOWN);
    const all = await client.trackedEvents({ after: '0' });
    expect(bodiesOf(all.events)).toEqual(Object.keys(NUMBERS));
    const { events, offset } = await client.trackedEvents({ after: '0', junk: false });
    expect([bodiesOf(events), offset]).toEqual([SHOWN, all.offset]);
  });

  test('is printed by postern tail, but not with --no-junk', async () => {
    const printedBy = async (...more: readonly string[]): Promise<readonly string[]> => {
      const tail = startPostern(['tail', '--config-dir', service.configFolder, '--after', '0', '--json', ...more]);
      const isEnough = (): void => expect(tail.stdout).toContain('strange');
      await eventually(isEnough).finally(() => tail.child.kill('SIGKILL'));
      return bodiesOf(
        tail.stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      );
    };
    expect(await printedBy()).toEqual(Object.keys(NUMBERS));
    expect(await printedBy('--no-junk')).toEqual(SHOWN);
  });

  test('is skipped by a webhook with junk: false', async () => {
    await eventually(() => expect(textsOf(receiver)).toEqual(SHOWN));
  });

  test.each([
    ['messages_read', {}, 'message'],
    ['messages_read', { limit: 1, before: undefined }, undefined],
    ['events_poll', { after: '0' }, 'event'],
    ['events_wait', { after: '0', timeout_s: 1 }, 'event'],
  ])('is left out by %s %j unless it is asked for', async (tool, parameters, noun) => {
    const { key } = await limitedKey(service, { preset: 'reader', read: [ANA] });
    const client = await connectMcp('2026 over HTTP', service, key);
    const { text } = await client.call(tool, parameters);
    expect(text).toContain('strange');
    expect(text).not.toContain('you won');
    if (noun === undefined) expect(text).not.toContain('left out');
    else {
      expect(text).toMatch(
        new RegExp(`^(.+\n)+1 ${noun} that macOS filed as junk was left out; junk=true shows them\\.\n<`),
      );
    }
    const asked = await client.call(tool, { ...parameters, limit: 50, timeout_s: undefined, junk: true });
    expect(asked.text).toContain('you won');
    expect(asked.text).not.toContain('left out');
    await client.close();
  });

  test('is left out by messages_search unless it is asked for, which says so when nothing else is found', async () => {
    const { key } = await limitedKey(service, { preset: 'reader', read: [ANA] });
    const client = await connectMcp('2026 over HTTP', service, key);
    await eventually(async () => {
      const { text } = await client.call('messages_search', { query: 'won', junk: true });
      expect(text).toContain('you won');
      expect(text).not.toContain('still being indexed');
    });
    const { text } = await client.call('messages_search', { query: 'won' });
    expect(text).toMatch(/^Nothing found\.\n1 message that macOS filed as junk was left out; junk=true shows them\.$/);
    await client.close();
  });
});

describe('with a second conversation that is nothing but junk', () => {
  const id = `any;-;${BEN}`;
  let key: string;
  beforeAll(async () => {
    await mac.command({ do: 'receive', from: BEN, text: 'click here', filter: { code: 2 } });
    await mac.command({ do: 'receive', from: BEN, text: 'click now', filter: { code: 2 } });
    ({ key } = await limitedKey(service, { preset: 'reader', read: [ANA, BEN] }));
  });

  test('a page of that conversation says how many messages were left out, and continues', async () => {
    const client = await connectMcp('2026 over HTTP', service, key);
    const first = await client.call('messages_read', { conversation_id: id, limit: 1 });
    expect(first.text).toMatch(
      /^No messages\.\nThere are older .+\n1 message that macOS filed as junk was left out; junk=true shows them\.$/,
    );
    const second = await client.call('messages_read', { conversation_id: id, limit: 1, cursor: first.next });
    expect(second.text).toContain('1 message that macOS filed as junk was left out');
    expect(second.next).toBe('');
    await client.close();
  });

  test('its resource says how many were left out, and that of another shows all but junk', async () => {
    const client = await connectMcp('2026 over HTTP', service, key);
    const { raw } = client as unknown as { readonly raw: Record<string, (request?: object) => Promise<never>> };
    const textOf = async (conversation: string): Promise<string> => {
      const answer: unknown = await raw.readResource?.({
        uri: `postern://conversations/${encodeURIComponent(conversation)}`,
      });
      return String((answer as { contents: readonly { text: string }[] }).contents[0]?.text);
    };
    expect(await textOf(id)).toBe('No messages.\nLeft out as junk: 2; messages_read with junk=true shows them.');
    const other = await textOf(`any;-;${ANA}`);
    expect(other).toContain('an ordinary one');
    expect(other).not.toContain('you won');
    expect(other).toMatch(/^\d+ messages?\.\nLeft out as junk: 1;/);
    await client.close();
  });

  test('a change of a junk message is skipped too', async () => {
    const client = new PosternClient({ url: service.url, key: KEY });
    const { offset: after } = await client.trackedEvents();
    const row = rows.get('you won') ?? 0;
    await mac.command({ do: 'edit', row, text: 'you lost' });
    await eventually(async () =>
      expect(bodiesOf((await client.trackedEvents({ after })).events)).toEqual(['you lost']),
    );
    expect((await client.trackedEvents({ after, junk: false })).events).toEqual([]);
  });
});

test.each(['0', 'no', '', 'False'])('a junk of %j is refused by name', async (value) => {
  const answer = await service.get(`/events?after=0&junk=${value}`);
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('"?junk"');
});

test.each([0, 'false', null])('a junk of %j in the filter of a webhook is refused by name', async (value) => {
  const body = { url: 'http://127.0.0.1:9/', events: ['message.received'], filter: { junk: value } };
  const answer = await service.post('/webhooks', body);
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('`junk` must be true or false');
});
