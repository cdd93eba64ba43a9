import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BlueBubblesClient, type Enveloped } from '../support/bluebubbles-client.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CHAT = `any;-;${ANA}`;
const CLIENT = { scopes: ['read', 'events', 'send', 'webhooks'], read: [ANA], send: [ANA], approval: 'never' };

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let client: BlueBubblesClient;
let port: number;
let secret: string;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'Kettle is on' });
  await mac.command({ do: 'receive', from: BEN, text: 'A secret of Ben' });
  port = await freePort();
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { bluebubbles: { port } },
  });
  secret = (await limitedKey(service, { ...CLIENT, caps: { per_minute: 60 } })).key;
  client = new BlueBubblesClient(port, secret);
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const sent = () => mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));
const iMessageError = (words: RegExp) => ({
  status: 500,
  envelope: { status: 500, error: { type: 'iMessage Error', message: expect.stringMatching(words) } },
});

test('a key that may not send stores nothing of a file, not even for a moment', async () => {
  const reader = await limitedKey(service, { scopes: ['read'], read: [ANA] });
  const sent = request(`http://127.0.0.1:${port}/api/v1/message/attachment?password=${reader.key}`, {
    agent: false,
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 60_000_000 },
  });
  sent.on('error', () => {});
  sent.write('--x\r\nContent-Disposition: form-data; name="attachment"; filename="a.bin"\r\n\r\nbeginning');
  // The rest of the file never arrives.
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(403);
  const folder = join(service.configFolder, 'uploads');
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  sent.destroy();
});

describe('a client that connects', () => {
  test('as Hermes does finds a server without the private API', async () => {
    expect(await client.get('ping')).toMatchObject({ status: 200, envelope: { status: 200, data: 'pong' } });
    expect((await client.get('server/info')).envelope.data).toMatchObject({
      private_api: false,
      helper_connected: false,
      server_version: expect.any(String),
    });
  });

  test.each(['password', 'guid', 'token'])('gives its key as %s', async (name) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/ping?${name}=${encodeURIComponent(secret)}`);
    expect(answer.status).toBe(200);
  });

  test('finds its conversations, newest first, and no other', async () => {
    const { envelope } = await client.post('chat/query', { limit: 100, offset: 0, with: ['participants'] });
    expect(envelope).toMatchObject({ metadata: { count: 1, offset: 0, limit: 100 } });
    expect(envelope.data).toEqual([
      expect.objectContaining({
        guid: CHAT,
        chatIdentifier: ANA,
        displayName: '',
        participants: [expect.objectContaining({ address: ANA })],
      }),
    ]);
    expect((await client.post('chat/query', { limit: '100', offset: '0' })).envelope.metadata).toMatchObject({
      count: 1,
    });
    expect((await client.get(`chat/${encodeURIComponent(CHAT)}?with=participants`)).envelope.data).toMatchObject({
      guid: CHAT,
    });
    expect(await client.get(`chat/${encodeURIComponent(`any;-;${BEN}`)}`)).toMatchObject({ status: 404 });
  });
});

describe('a key', () => {
  const refusal = async (query: string): Promise<Enveloped> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/server/info${query}`);
    return { status: answer.status, envelope: (await answer.json()) as Enveloped['envelope'] };
  };

  test('that is the owner’s is refused in the same words as any other text', async () => {
    const [wrong, owners, none, two] = await Promise.all([
      refusal('?password=wrong'),
      refusal(`?password=${KEY}`),
      refusal(''),
      refusal(`?password=${secret}&token=other`),
    ]);
    expect(wrong).toEqual({
      status: 401,
      envelope: {
        status: 401,
        message: 'The limited key is missing or unknown, has expired, or was revoked.',
        error: { type: 'Authentication Error', message: expect.stringContaining('postern keys add') },
      },
    });
    expect([owners, none, two]).toEqual([wrong, wrong, wrong]);
  });

  test('may do what its scopes allow, and the log names neither it nor an address', async () => {
    const reader = new BlueBubblesClient(port, (await limitedKey(service, { preset: 'reader', read: [ANA] })).key);
    for (const [path, body] of [
      ['message/text', { chatGuid: CHAT, message: 'x' }],
      ['webhook', { url: 'http://127.0.0.1:9/', events: ['new-message'] }],
    ] as const) {
      expect(await reader.post(path, body)).toMatchObject({ status: 403, envelope: { status: 403 } });
    }
    expect(service.output).toContain('"route":"bluebubbles/chat/*"');
    expect(service.output).not.toContain(secret);
    expect(service.output).not.toContain(encodeURIComponent(CHAT));
  });

  test('comes from no web page, and to no foreign name', async () => {
    const headers = { origin: 'https://evil.example' };
    expect((await fetch(`http://127.0.0.1:${port}/api/v1/ping?password=${secret}`, { headers })).status).toBe(403);
    expect((await client.raw('GET', 'ping', { host: 'evil.example' })).status).toBe(403);
  });
});

describe('a text', () => {
  test('of Hermes goes out once, however often its tempGuid comes', async () => {
    const body = { chatGuid: CHAT, message: 'From Hermes', tempGuid: 'temp-1' };
    const first = await client.post('message/text', body);
    expect(first).toMatchObject({
      status: 200,
      envelope: { status: 200, data: { guid: expect.any(String), text: 'From Hermes', isFromMe: true } },
    });
    expect((await client.post('message/text', body)).envelope.data).toMatchObject({
      guid: (first.envelope.data as { guid: string }).guid,
    });
    expect(sent().filter((text) => text === 'From Hermes')).toHaveLength(1);
    expect((await client.post('message/text', { ...body, message: 'Another' })).status).toBe(200);
    expect(sent()).toContain('Another');
  });

  test('that Home Assistant sends as a new conversation goes out, and the answer names the conversation', async () => {
    const { envelope } = await client.post('chat/new', {
      addresses: [ANA],
      message: 'From the house',
      method: 'apple-script',
    });
    expect(envelope).toMatchObject({ status: 200, data: { guid: CHAT } });
    expect(sent()).toContain('From the house');
    expect(await client.post('chat/new', { addresses: [ANA, BEN], message: 'x' })).toMatchObject(
      iMessageError(/Groups cannot be created/),
    );
  });

  test('that is held says so at once, and is sent when the owner approves it', async () => {
    const { key } = await limitedKey(service, { ...CLIENT, approval: 'always' });
    const held = new BlueBubblesClient(port, key);
    const body = { chatGuid: CHAT, message: 'May I?', tempGuid: 'temp-2' };
    expect(await held.post('message/text', body)).toMatchObject(
      iMessageError(/held for approval.*\/console#\/approvals\//),
    );
    const [approval] = (await service.get('/approvals?state=held')).json as { id: string; shown: string }[];
    await service.post(`/approvals/${approval?.id}/approve`, { shown: approval?.shown });
    await eventually(() => expect(sent().filter((text) => text === 'May I?')).toHaveLength(1));
  });

  test('to somebody who is not on the list is refused', async () => {
    expect(await client.post('message/text', { chatGuid: `any;-;${BEN}`, message: 'x' })).toMatchObject({
      status: 403,
    });
    expect(await client.post('chat/new', { addresses: [BEN] })).toMatchObject({ status: 403 });
  });

  test('with mistakes is refused with each of them', async () => {
    const { status, envelope } = await client.post('message/text', { chatGuid: 7, message: null });
    expect([status, envelope.status]).toEqual([400, 400]);
    expect(envelope.error?.type).toBe('Validation Error');
  });
});

describe('what needs injected code', () => {
  test.each([
    ['POST', `chat/${encodeURIComponent(CHAT)}/typing`],
    ['DELETE', `chat/${encodeURIComponent(CHAT)}/typing`],
    ['POST', `chat/${encodeURIComponent(CHAT)}/read`],
    ['POST', 'message/react'],
    ['POST', 'message/ABC/edit'],
  ])('%s %s is an honest error', async (method, path) => {
    expect(await client.request(method, path)).toMatchObject(iMessageError(/private API/));
  });

  test('a reply in a thread is not sent as something else', async () => {
    const body = { chatGuid: CHAT, message: 'threaded', selectedMessageGuid: 'ABC' };
    expect(await client.post('message/text', body)).toMatchObject(iMessageError(/private API/));
    expect(sent()).not.toContain('threaded');
  });

  test('an unknown path is the protocol’s 404', async () => {
    expect(await client.get('fcm/client')).toMatchObject({ status: 404, envelope: { status: 404 } });
    expect(await client.get('../../api/v1/messages')).toMatchObject({ status: 404 });
    expect((await client.raw('GET', 'ws', { upgrade: 'websocket', connection: 'Upgrade' })).status).toBe(404);
  });
});

describe('a file', () => {
  test('of Hermes is sent, whatever headers its parts have and in whatever order', async () => {
    const form = new FormData();
    form.set('attachment', new Blob(['voice'], { type: 'audio/mp4' }), 'voice $(x).m4a');
    form.set('chatGuid', CHAT);
    form.set('name', 'voice.m4a');
    form.set('tempGuid', 'temp-3');
    form.set('isAudioMessage', 'true');
    expect(await client.upload('message/attachment', form)).toMatchObject({
      status: 200,
      envelope: { data: { isFromMe: true, hasAttachments: true } },
    });
    form.delete('attachment');
    expect(await client.upload('message/attachment', form)).toMatchObject({ status: 400 });
  });

  test('of a message is downloaded by the id that its event named', async () => {
    const attachment = { name: 'note.txt', bytes: 20 };
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: '', attachment });
    const path = `/messages/${row}`;
    await eventually(async () => {
      const { attachments } = (await service.get(path)).json as { attachments: string[] };
      expect(attachments).toHaveLength(1);
      writeFileSync(attachments[0] ?? join(service.folder, 'none'), 'twenty bytes of text');
    });
    const answer = await client.raw('GET', `attachment/at_0_${row}/download`);
    expect([answer.status, answer.text]).toEqual([200, 'twenty bytes of text']);
    for (const guid of ['at_1_1', 'at_0_999999', 'x', '..%2f..%2fetc', `at_0_${row}%00`]) {
      expect([guid, [400, 404].includes((await client.raw('GET', `attachment/${guid}/download`)).status)]).toEqual([
        guid,
        true,
      ]);
    }
  });
});
