import { connect } from 'node:net';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { BlueBubbles } from '../../src/features/bluebubbles/blue-bubbles.ts';
import { lazyMcpService } from '../../src/features/mcp/lazy-service.ts';
import { ANY_KEY, LIMITED_KEY } from '../support/any-key.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { KEY } from '../support/http-gateway.ts';
import { collectingLog } from '../support/log.ts';
import { listenForWire } from '../support/wire.ts';
import { ANY, type Entrance, HEADER, inHeader } from './entrances.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const MCP_TYPES = { ...JSON_TYPE, accept: 'application/json, text/event-stream' };
const ignoring = async (answer: Promise<unknown>): Promise<void> => void (await answer.catch(() => undefined));

/** Starts a real server in this process and returns its entrances. */
export async function doors(): Promise<{
  readonly entrances: readonly Entrance[];
  readonly close: () => Promise<void>;
}> {
  const mcp = lazyMcpService({
    clock: systemClock,
    log: collectingLog(),
    counters: new Counters(),
    features: [],
    version: '1',
    timeZone: () => 'UTC',
  });
  const gateway = await FeatureGateway.start({
    mcp: { mcp, settings: { allowOwnerKey: true } },
    settings: { rateLimitPerMinute: 1_000_000 },
    limited: ANY_KEY,
  });
  const wire = new BlueBubbles({ version: '1', counters: new Counters() });
  const wireUrl = await listenForWire(gateway.server, wire);
  const atWire = (path: string, init: RequestInit = {}): Promise<void> =>
    ignoring(fetch(`${wireUrl}/api/v1/${path}?password=${LIMITED_KEY}`, init).then((answer) => answer.text()));
  const postAtWire = (path: string, body: string): Promise<void> =>
    atWire(path, { method: 'POST', headers: JSON_TYPE, body });
  const get = (path: string, headers = {}): Promise<void> => ignoring(gateway.get(path, { headers }));
  const post = (path: string, body: string, headers: object = JSON_TYPE): Promise<void> =>
    ignoring(gateway.call('POST', path, { body, headers: { ...headers } }));
  const api = '/api/v1';
  const header = (name: string, wanted: readonly [string, ...string[]], path = `${api}/messages/7`): Entrance => ({
    name: `the header ${name}`,
    limit: HEADER,
    wanted,
    take: (text) => get(path, { [name]: inHeader(text) }),
  });
  const bytes = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?')).slice(0, HEADER);
  const call = (name: string, given: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } });
  const askForEvents = (method: string, text: string): string => {
    const asked = { conversation_id: text, sender: text, [text.slice(0, 200)]: text };
    const delivery = { mode: text, url: text, secret: text };
    const params = { name: 'message.received', arguments: asked, cursor: text, delivery };
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: `events/${method}`, params });
  };
  const entrances: readonly Entrance[] = [
    {
      name: 'a path',
      limit: 5000,
      wanted: ['messages/7/attachments/1', 'guide/index.html'],
      take: (text) => get(`${api}/${bytes(text)}`),
    },
    {
      name: 'a path of slashes',
      limit: HEADER,
      wanted: ['/guide/../'],
      take: (text) => get(`/${inHeader(text).replace(/[^!-~]/g, '/')}`),
    },
    {
      name: 'a query string',
      limit: HEADER,
      wanted: ['limit=1&since=2026-01-01T00:00:00Z'],
      take: (text) =>
        get(
          `${api}/messages?${inHeader(text)
            .replace(/[^!-~]/g, '%20')
            .slice(0, HEADER)}`,
        ),
    },
    ...['since', 'conversation_id', 'cursor', 'include', 'after'].map(
      (name): Entrance => ({
        name: `the parameter ${name}`,
        limit: 5000,
        wanted: ['2026-01-01T00:00:00.5+01:00', 'any;-;+15550100'],
        take: (text) => get(`${api}/${name === 'after' ? 'events' : 'messages'}?${name}=${bytes(text)}`),
      }),
    ),
    {
      name: 'the parameter q',
      limit: 5000,
      wanted: ['from:"Ana" in:b -a*'],
      take: (text) => get(`${api}/search?q=${bytes(text)}`),
    },
    header('prefer', ['handling=strict; a=b, respond-async']),
    header('range', ['bytes=0-1', 'bytes=-1']),
    header('accept-encoding', ['gzip;q=0.5, br;q=0']),
    header('accept', ['text/event-stream;q=0.5, */*'], `${api}/events`),
    header('if-none-match', ['W/"a", "b"'], '/console'),
    header('origin', ['http://127.0.0.1:80']),
    header('host', ['127.0.0.1:80']),
    header('authorization', ['Bearer postern_00000000_']),
    header('content-type', ['application/json; charset="utf-8"']),
    {
      name: 'a body of a send',
      limit: ANY,
      wanted: ['{"recipient":"+15550100","body":"a"}'],
      take: (text) => post(`${api}/messages`, text),
    },
    {
      name: 'a text to send',
      limit: ANY,
      wanted: ['a'],
      take: (text) => post(`${api}/messages`, JSON.stringify({ recipient: '+15550100', body: text })),
    },
    {
      name: 'a recipient',
      limit: ANY,
      wanted: ['a@example.org', 'any;-;+1555'],
      take: (text) =>
        post(`${api}/messages`, JSON.stringify({ recipient: text, body: 'a', attachments: [text], [text]: text })),
    },
    {
      name: 'a webhook',
      limit: ANY,
      wanted: ['http://127.0.0.1:9/'],
      take: (text) =>
        post(
          `${api}/webhooks`,
          JSON.stringify({
            url: text,
            events: [text],
            secret: text,
            name: text,
            headers: { [text.slice(0, 200)]: text },
          }),
        ),
    },
    {
      name: 'a body of MCP',
      limit: ANY,
      wanted: ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'],
      take: (text) => post('/mcp', text, MCP_TYPES),
    },
    {
      name: 'arguments of a tool',
      limit: ANY,
      wanted: ['{"query":"'],
      take: (text) => post('/mcp', call('messages_search', { query: text, conversation: text }), MCP_TYPES),
    },
    {
      name: 'a poll of events',
      limit: ANY,
      wanted: ['+15550100', 'any;-;+15550100', 'whsec_AAAA'],
      take: (text) => post('/mcp', askForEvents('poll', text), MCP_TYPES),
    },
    {
      name: 'a subscription to events',
      limit: ANY,
      wanted: ['https://hooks.example/x', 'whsec_AAAA', 'http://127.0.0.1'],
      take: (text) => post('/mcp', askForEvents('subscribe', text), MCP_TYPES),
    },
    {
      name: 'a message of MCP',
      limit: ANY,
      wanted: ['a'],
      take: (text) => post('/mcp', call('messages_send', { to: text, text, dry_run: true }), MCP_TYPES),
    },
    {
      name: 'a path of BlueBubbles',
      limit: 5000,
      wanted: ['chat/any%3B-%3B+1555/typing', 'attachment/at_0_1/download'],
      take: (text) => atWire(bytes(text)),
    },
    ...['message/text', 'chat/new', 'chat/query', 'webhook'].map(
      (path): Entrance => ({
        name: `a body of BlueBubbles, ${path}`,
        limit: ANY,
        wanted: ['{"chatGuid":"any;-;+1555","message":"'],
        take: (text) => postAtWire(path, text),
      }),
    ),
    {
      name: 'a text of BlueBubbles',
      limit: ANY,
      wanted: ['any;-;+1555'],
      take: (text) =>
        postAtWire('message/text', JSON.stringify({ chatGuid: text, message: text, tempGuid: text, [text]: text })),
    },
    {
      name: 'bytes at the port',
      limit: ANY,
      wanted: [`GET / HTTP/1.1\r\nHost: a\r\n`, 'POST /api/v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'],
      take: (text) => bytesAt(gateway.port, text),
    },
    {
      name: 'a handshake of a WebSocket',
      limit: HEADER,
      wanted: ['dGhlIHNhbXBsZSBub25jZQ=='],
      take: (text) =>
        get(`${api}/ws?after=${bytes(text).slice(0, 4000)}&api_key=${encodeURIComponent(KEY)}`, {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': inHeader(text).slice(0, 5000),
          'sec-websocket-extensions': inHeader(text).slice(0, 5000),
        }),
    },
  ];
  return { entrances, close: () => gateway.close() };
}

/** Writes bytes to a port. Resolves when the server closes the connection or has read everything. */
function bytesAt(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(Buffer.from(text)));
    socket.setTimeout(60, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve());
    socket.resume();
  });
}
