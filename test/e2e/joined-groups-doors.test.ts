import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bodiesOf, verified } from '../support/archive-fixture.ts';
import { BlueBubblesClient } from '../support/bluebubbles-client.ts';
import { eventually } from '../support/eventually.ts';
import { ImsgClient } from '../support/imsg-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp, type McpClient } from '../support/mcp-clients.ts';
import { postern, startPostern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const OLD = 'any;+;chat100';
const NEW = 'any;+;chat200';
const ID = { [OLD]: 'chat100', [NEW]: 'chat200' };
const IDS = [OLD, NEW] as const;
/** The last one is joined to both chats of the group. */
const TEXTS = ['first by MMS', 'then by RCS', 'again by MMS', 'at last in both'] as const;
const folder = temporaryFolder();
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let port: number;
/** A key that may read and write to everybody. */
let key: string;
let agent: McpClient;
let bubbles: BlueBubblesClient;
/** The chat with the newest row, to which sends go. */
let newest: string = NEW;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  const group = { do: 'group', participants: [ANA, BEN], name: 'Trip' } as const;
  await mac.command({ ...group, identifier: ID[OLD] });
  await mac.command({ ...group, identifier: ID[NEW], joins: OLD });
  for (const [at, chat] of [OLD, NEW, OLD, NEW].entries()) {
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: TEXTS[at] ?? '', chat });
    if (at === 3) await mac.command({ do: 'also_in', row, chat: OLD });
  }
  await mac.command({ do: 'receive', from: BEN, text: 'to you alone' });
  port = await freePort();
  const { chatDbPath, osascriptPath } = mac;
  const settings = { search: { enabled: true }, bluebubbles: { port } };
  service = await Service.here({ chatDbPath, osascriptPath, settings });
  const scopes = ['read', 'events', 'send', 'webhooks'];
  const caps = { per_minute: 60 };
  ({ key } = await limitedKey(service, { scopes, read: '*', send: '*', approval: 'never', caps }));
  agent = await connectMcp('2026 over HTTP', service, key);
  bubbles = new BlueBubblesClient(port, key);
});
afterAll(async () => {
  await agent.close();
  for (const close of closing) await close();
  await service.dispose();
  await mac.dispose();
});

const cli = (...args: readonly string[]) =>
  postern([...args, '--config-dir', service.configFolder], { env: { HOME: folder } });

/** Returns how often each text occurs in an answer. */
const counts = (answer: string): readonly number[] => TEXTS.map((text) => answer.split(text).length - 1);
const ONCE = [1, 1, 1, 1];
/** Returns the chats to which Messages was told to send. */
const sentTo = (text: string) =>
  mac.calls.filter(({ values }) => values.BODY === text).map(({ values }) => values.CHAT_ID);

test('an agent has one conversation, which it reads, searches, hears and answers by any id', async () => {
  const list = (await agent.call('conversations_list', {})).text;
  expect(list.split('\n').filter((line) => line.includes('Trip'))).toEqual([expect.stringContaining(OLD)]);
  expect(counts((await agent.call('messages_read', {})).text)).toEqual(ONCE);
  for (const id of IDS) {
    const { text } = await agent.call('messages_read', { conversation_id: id });
    expect([id, counts(text), text.includes('to you alone')]).toEqual([id, ONCE, false]);
    await eventually(async () => {
      const found = await agent.call('messages_search', { query: `in:${id}` });
      expect([id, counts(found.text)]).toEqual([id, ONCE]);
    });
    const sent = await agent.call('messages_send', { to: id, text: `agent to ${ID[id]}` });
    expect(sent.structured).toMatchObject({ state: 'sent' });
    expect(sentTo(`agent to ${ID[id]}`)).toEqual([newest]);
  }
  const { text } = await agent.call('events_poll', { after: '0' });
  expect([counts(text), text.includes(NEW)]).toEqual([ONCE, false]);
});

test('the command line lists, reads, finds and writes to one conversation', async () => {
  const listed = JSON.parse((await cli('conversations', '--json')).stdout) as readonly { readonly id: string }[];
  expect(listed.filter(({ id }) => id.includes(';+;'))).toMatchObject([{ id: OLD, display_name: 'Trip' }]);
  for (const name of [...IDS, 'Trip', ID[OLD], ID[NEW]]) {
    expect([name, counts((await cli('messages', name)).stdout)]).toEqual([name, ONCE]);
  }
  expect(counts((await cli('search', 'in:Trip')).stdout)).toEqual(ONCE);
  for (const id of IDS) {
    expect(await cli('send', id, `hand to ${ID[id]}`)).toMatchObject({ exitCode: 0 });
    expect(sentTo(`hand to ${ID[id]}`)).toEqual([newest]);
  }
});

test.each([...IDS, ID[OLD], ID[NEW], 'Trip'])('postern tail %s shows what comes in either chat', async (name) => {
  const tail = startPostern(['tail', name, '--json', '--after', '0', '--config-dir', service.configFolder]);
  await eventually(() => expect(counts(tail.stdout)).toEqual(ONCE));
  expect(tail.stdout).not.toContain('to you alone');
  tail.child.kill();
  await tail.ended;
});

test('clients of BlueBubbles have one chat, under either guid', async () => {
  const { envelope } = await bubbles.post('chat/query', {});
  const chats = envelope.data as readonly { readonly guid: string; readonly style: number }[];
  expect(chats.filter(({ style }) => style === 43)).toMatchObject([{ guid: OLD, displayName: 'Trip' }]);
  const receiver = await Receiver.start();
  closing.push(() => receiver.close());
  await bubbles.post('webhook', { url: receiver.url, events: ['new-message'] });
  for (const id of IDS) {
    for (const chatGuid of [id, `iMessage;-;${ID[id]}`]) {
      expect((await bubbles.get(`chat/${encodeURIComponent(chatGuid)}`)).envelope.data).toMatchObject({ guid: OLD });
      const message = `port to ${chatGuid}`;
      const sent = await bubbles.post('message/text', { chatGuid, tempGuid: message, message });
      expect(sent.envelope.data).toMatchObject({ chats: [{ guid: OLD }] });
      expect(sentTo(message)).toEqual([newest]);
    }
    await mac.command({ do: 'receive', from: ANA, text: `heard in ${id}`, chat: id });
    newest = id;
    await eventually(() =>
      expect(receiver.deliveries.map(({ event }) => event.data)).toContainEqual(
        expect.objectContaining({ text: `heard in ${id}`, chats: [expect.objectContaining({ guid: OLD })] }),
      ),
    );
  }
});

test('clients of imsg have one chat, with one history and one watch', async () => {
  const imsg = ImsgClient.start(service, key);
  closing.push(() => imsg.end());
  const { result } = await imsg.ask('chats.list', { limit: 200 });
  const chats = result?.chats as readonly { readonly id: number; readonly guid: string; readonly is_group: boolean }[];
  const groups = chats.filter(({ is_group }) => is_group);
  expect(groups).toMatchObject([{ guid: OLD }]);
  const chat_id = groups[0]?.id;
  const history = (await imsg.ask('messages.history', { chat_id, limit: 200 })).result;
  expect(counts(JSON.stringify(history))).toEqual(ONCE);
  await imsg.ask('watch.subscribe', { chat_id });
  for (const id of IDS) {
    await mac.command({ do: 'receive', from: BEN, text: `watched in ${id}`, chat: id });
    newest = id;
    const message = await imsg.message(({ text }) => text === `watched in ${id}`);
    expect(message).toMatchObject({ chat_id, chat_guid: OLD, is_group: true });
    const { error, result: sent } = await imsg.ask('send', { chat_guid: id, text: `imsg to ${ID[id]}` });
    expect([error, sent]).toMatchObject([undefined, { chat_guid: OLD }]);
    expect(sentTo(`imsg to ${ID[id]}`)).toEqual([newest]);
  }
});

test('the archive has one conversation, whichever id asks for it', async () => {
  for (const [at, id] of [undefined, ...IDS].entries()) {
    const out = join(folder, `archive ${at}`);
    const made = await cli('export', '--out', out, ...(id === undefined ? [] : ['--conversation', id]));
    expect([id, made.exitCode, made.stderr]).toEqual([id, 0, '']);
    expect(readdirSync(join(out, 'conversations'))).toHaveLength(id === undefined ? 2 : 1);
    expect(counts(JSON.stringify(bodiesOf(out)))).toEqual(ONCE);
    expect((await verified(out)).faults).toEqual([]);
  }
});

test('a search is limited to the conversation by any of its ids', async () => {
  for (const id of [...IDS, ID[OLD], ID[NEW]]) {
    for (const query of [
      `q=MMS&conversation_id=${encodeURIComponent(id)}`,
      `q=${encodeURIComponent(`MMS in:${id}`)}`,
    ]) {
      const { json } = await service.get(`/search?${query}`);
      const found = (json as readonly { readonly message: { readonly body: string } }[]).map(({ message }) => message);
      expect([query, found.map(({ body }) => body)]).toEqual([query, [TEXTS[2], TEXTS[0]]]);
      expect(found).toMatchObject([{ conversation_id: OLD }, { conversation_id: OLD }]);
    }
  }
});
