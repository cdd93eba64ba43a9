import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BlueBubblesClient } from '../support/bluebubbles-client.ts';
import { eventually } from '../support/eventually.ts';
import { ImsgClient } from '../support/imsg-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp, type McpClient } from '../support/mcp-clients.ts';
import { postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

/** Senders without a telephone number: names, which nobody can answer, and short codes, which take STOP and HELP. */
const NAMES = ['AMZN', 'AMZNBK', 'AXISBK-S', 'Mc. Donald'] as const;
const CODES = ['27336', '262966'] as const;
const SENDERS = [...NAMES, ...CODES];
const ANA = '+15550100';
const textOf = (sender: string): string => `A parcel, says ${sender}`;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let port: number;
const receivers = new Map<string, Receiver>();
const closing: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  port = await freePort();
  const { chatDbPath, osascriptPath } = mac;
  const settings = { search: { enabled: true }, bluebubbles: { port } };
  service = await Service.here({ chatDbPath, osascriptPath, settings });
  for (const sender of SENDERS) {
    for (const [name, filter] of [
      ['sender', { senders: [sender.toLowerCase()] }],
      ['chat', { conversation_ids: [`iMessage;-;${sender}`] }],
    ] as const) {
      const receiver = await Receiver.start();
      receivers.set(`${name} ${sender}`, receiver);
      closing.push(receiver);
      const made = await service.post('/webhooks', { url: receiver.url, events: ['message.received'], filter });
      expect(made.status).toBe(201);
    }
  }
  await mac.command({ do: 'receive', from: ANA, text: 'Tea?' });
  for (const from of SENDERS) await mac.command({ do: 'receive', from, text: textOf(from), service: 'SMS' });
  await eventually(async () => {
    expect((await service.get('/search?q=parcel')).json).toHaveLength(SENDERS.length);
  });
});
afterAll(async () => {
  for (const one of closing) await one.close();
  await service.dispose();
  await mac.dispose();
});

const bodies = (json: unknown): readonly unknown[] =>
  (json as readonly { readonly body: string }[]).map(({ body }) => body);
const query = encodeURIComponent;

describe.each(SENDERS)('the sender %s', (sender) => {
  const id = `any;-;${sender}`;

  test('has a conversation, found by id and by address, however they are written', async () => {
    for (const name of [id, `SMS;-;${sender}`, sender, sender.toLowerCase(), `${id}(smsft_fi)`]) {
      const { json } = await service.get(`/conversations/${query(name)}`);
      expect(json).toMatchObject({ id, participants: [sender] });
      expect(bodies((await service.get(`/messages?conversation_id=${query(name)}`)).json)).toEqual([textOf(sender)]);
    }
  });

  test('is found by from: and in:, and by nobody else’s', async () => {
    for (const q of [`from:"${sender}"`, `in:"${sender}"`, `in:"${id}"`, `parcel from:"${sender.toLowerCase()}"`]) {
      const { status, json, text } = await service.get(`/search?q=${query(q)}`);
      expect([q, status, status === 200 ? json : text]).toMatchObject([
        q,
        200,
        [{ message: { body: textOf(sender) } }],
      ]);
    }
  });

  test('reaches the webhooks that name it, and only those', async () => {
    for (const name of ['sender', 'chat']) {
      await eventually(() => expect(receivers.get(`${name} ${sender}`)?.deliveries).toHaveLength(1));
      const [delivery] = receivers.get(`${name} ${sender}`)?.deliveries ?? [];
      expect(delivery?.event.data).toMatchObject({ sender, conversation_id: id, body: textOf(sender) });
    }
  });
});

describe('a program that may do everything', () => {
  let key: string;
  let agent: McpClient;
  let client: BlueBubblesClient;
  let imsg: ImsgClient;

  beforeAll(async () => {
    const scopes = ['read', 'events', 'send', 'webhooks'];
    const settings = { scopes, read: '*', send: '*', approval: 'never', caps: { per_minute: 60, new_per_day: 60 } };
    ({ key } = await limitedKey(service, settings));
    agent = await connectMcp('2026 over HTTP', service, key);
    closing.push(agent);
    client = new BlueBubblesClient(port, key);
    imsg = ImsgClient.start(service, key);
    closing.push({ close: () => imsg.end() });
  });

  const cli = (...args: readonly string[]) => postern(['--config-dir', service.configFolder, ...args]);
  const sent = () => mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));

  test.each(SENDERS)('reads %s by every door', async (sender) => {
    const { text } = await agent.call('messages_read', { conversation_id: `any;-;${sender}` });
    expect(text).toContain(textOf(sender));
    expect((await agent.call('messages_search', { query: `from:"${sender}"` })).text).toContain(textOf(sender));
    const { envelope } = await client.get(`chat/${query(`iMessage;-;${sender}`)}`);
    expect(envelope.data).toMatchObject({ guid: `any;-;${sender}`, chatIdentifier: sender });
    const { result } = await imsg.ask('chats.list', { limit: 200 });
    expect(result?.chats).toContainEqual(expect.objectContaining({ identifier: sender }));
    expect((await cli('messages', sender)).stdout).toContain(textOf(sender));
  });

  test.each(NAMES)('cannot answer %s, and learns so at every door', async (sender) => {
    const before = sent();
    for (const [recipient, code] of [
      [sender, 'recipient_is_name'],
      [`any;-;${sender}`, 'invalid_request'],
    ]) {
      for (const headers of [{}, { 'x-api-key': key }]) {
        const { status, json } = await service.post('/messages', { recipient, body: 'STOP' }, headers);
        expect([status, json]).toMatchObject([400, { code }]);
      }
      const answer = await agent.call('messages_send', { to: recipient, text: 'STOP' });
      expect([answer.isError, answer.text]).toEqual([true, expect.stringContaining('name')]);
    }
    const chatGuid = `iMessage;-;${sender}`;
    const text = await client.post('message/text', { chatGuid, tempGuid: sender, message: 'STOP' });
    const made = await client.post('chat/new', { addresses: [sender] });
    for (const { status, envelope } of [text, made]) {
      expect([status, envelope.error?.message]).toEqual([400, expect.stringContaining('is a name')]);
    }
    const { error } = await imsg.ask('send', { to: sender, text: 'STOP' });
    expect(error?.message).toContain('is a name');
    expect(await cli('send', sender, 'STOP')).toMatchObject({
      exitCode: 65,
      stderr: expect.stringContaining('the name of a sender'),
    });
    const { text: list } = await agent.call('conversations_list', { search: sender });
    expect(list).toMatch(new RegExp(`^any;-;${sender} .*can send: no$`, 'm'));
    expect(sent()).toEqual(before);
  });

  test.each(CODES)('answers %s by every door', async (sender) => {
    const { text: list } = await agent.call('conversations_list', { search: sender });
    expect(list).toMatch(new RegExp(`^any;-;${sender} .*can send: yes$`, 'm'));
    for (const recipient of [sender, `any;-;${sender}`]) {
      const { status, json } = await service.post('/messages', { recipient, body: `STOP ${recipient}` });
      expect([status, json]).toMatchObject([201, { conversation_id: `any;-;${sender}` }]);
    }
    expect((await agent.call('messages_send', { to: sender, text: 'STOP by MCP' })).isError).toBe(false);
    const chatGuid = `iMessage;-;${sender}`;
    expect((await client.post('message/text', { chatGuid, tempGuid: sender, message: 'STOP by port' })).status).toBe(
      200,
    );
    expect((await imsg.ask('send', { to: sender, text: 'STOP by imsg' })).error).toBeUndefined();
    expect(await cli('send', sender, 'STOP by hand')).toMatchObject({ exitCode: 0 });
    const { json } = await service.get(`/messages?conversation_id=${sender}&limit=6`);
    expect(
      new Set((json as readonly { readonly conversation_id: string }[]).map((one) => one.conversation_id)),
    ).toEqual(new Set([`any;-;${sender}`]));
  });

  test.each(SENDERS)('cannot be limited to %s, which no sender proves', async (sender) => {
    for (const entry of [sender, `any;-;${sender}`]) {
      const made = await service.post('/keys', { name: 'bank', preset: 'reader', read: [entry] });
      expect([made.status, made.text]).toEqual([400, expect.stringContaining('complete number')]);
    }
    const { key: one } = await limitedKey(service, { preset: 'reader', read: [ANA] });
    const headers = { 'x-api-key': one };
    expect(bodies((await service.get('/messages', headers)).json)).toEqual(['Tea?']);
    expect((await service.get(`/messages?conversation_id=${query(sender)}`, headers)).json).toEqual([]);
    expect((await service.get(`/conversations/${query(sender)}`, headers)).status).toBe(404);
  });
});
