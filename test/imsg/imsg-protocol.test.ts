import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { ImsgClient } from '../support/imsg-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const GROUP = 'any;+;chat77';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let client: ImsgClient;

beforeAll(async () => {
  mac = await simulatedMac();
  for (let n = 1; n <= 5; n += 1) await mac.command({ do: 'receive', from: ANA, text: `text ${n}` });
  await mac.command({ do: 'group', identifier: 'chat77', participants: [ANA] });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  const { key } = await limitedKey(service, { preset: 'assistant', read: '*', send: [ANA], expires_at: null });
  client = ImsgClient.start(service, key);
});
afterAll(async () => {
  expect(client.refused).toEqual([]);
  await client.end();
  await service.dispose();
  await mac.dispose();
});

test.each([
  ['{"jsonrpc":', -32_700],
  ['[]', -32_600],
  ['null', -32_600],
  ['{"jsonrpc":"1.0","id":7,"method":"send"}', -32_600],
  [JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'send', params: { text: 'x'.repeat(2 ** 20) } }), -32_600],
])('a line that is no request has the error of the protocol and no id: %.40s', async (line, code) => {
  const before = client.answers.length;
  client.write(line);
  await client.ask('status');
  const answer = client.answers.slice(before).find(({ id }) => id === null);
  expect(answer?.error?.code).toBe(code);
});

test.each([
  ['poll.send', {}, -32_601, /unknown method/],
  ['__proto__', {}, -32_601, /unknown method/],
  ['chats.list', { limit: '5' }, -32_602, /limit/],
  ['chats.list', [], -32_602, /expected object/i],
  [
    'messages.history',
    { chatId: 1 },
    -32_602,
    /`chatId` is not understood; messages.history understands `chat_id`, `limit/,
  ],
  ['messages.history', { chat_id: 1, start: '-271821-04-20T00:00:00Z' }, -32_602, /start: must be an ISO 8601 time/],
  ['watch.subscribe', { since_rowid: -5, participants: [7] }, -32_602, /since_rowid.*participants/],
  ['send', { to: ANA, chat_id: 1, text: 'x' }, -32_602, /exactly one/],
  ['send', { to: ANA }, -32_602, /`text`, `file`, or both/],
  ['send', { to: ANA, text: 'x', effect: 'slam' }, -32_602, /`effect` is not understood/],
  ['initialize', { protocol_version: 2 }, -32_602, /protocol_version/],
] as const)('%s with %j is refused as imsg refuses it', async (method, params, code, words) => {
  const { error } = await client.ask(method, params);
  expect([error?.code, error?.message]).toEqual([code, expect.stringMatching(words)]);
});

test('a notification is never answered, whatever is wrong with it', async () => {
  const before = client.answers.length;
  client.write(JSON.stringify({ jsonrpc: '2.0', method: 'nonsense' }));
  client.write(JSON.stringify({ jsonrpc: '2.0', method: 'chats.list', params: { limit: 'x' } }));
  await client.ask('status');
  expect(client.answers.length).toBe(before + 1);
});

test('history is newest first, from a time on, and at most as much as was asked for', async () => {
  const { result } = await client.ask('chats.list', { limit: 50 });
  const chats = result?.chats as readonly { readonly id: number; readonly identifier: string }[];
  const chat = chats.find(({ identifier }) => identifier === ANA);
  const history = async (params: object): Promise<readonly string[]> => {
    const answer = await client.ask('messages.history', { chat_id: chat?.id, attachments: true, ...params });
    const { messages } = answer.result as { messages: readonly { readonly text: string }[] };
    return messages.map(({ text }) => text);
  };
  expect(await history({ limit: 2 })).toEqual(['text 5', 'text 4']);
  expect(await history({ limit: 500, start: '2001-01-01T00:00:00Z' })).toHaveLength(5);
  expect(await history({ limit: 500, start: '2100-01-01T00:00:00Z' })).toEqual([]);
  expect(await history({ limit: 500, end: '2001-01-01T00:00:00Z' })).toEqual([]);
  expect(await history({ limit: 1, participants: ['+1 (555) 0100'] })).toEqual(['text 5']);
  expect(await history({ participants: ['+15550101'] })).toEqual([]);
});

test('a group whose name is hostile is one line of JSON and nothing else', async () => {
  const name = '"}\n{"jsonrpc":"2.0","method":"message"}\u2028\u202e$(touch x)';
  await mac.command({ do: 'rename_group', chat: GROUP, name, by: ANA });
  const { result } = await client.ask('chats.list', { limit: 50 });
  const chats = result?.chats as readonly { readonly guid: string; readonly display_name: string }[];
  expect(chats.find(({ guid }) => guid === GROUP)?.display_name).toBe(name);
  expect(client.messages).toEqual([]);
});

test('a client that asks for more than the protocol allows at once is refused the rest, and everything else is answered', async () => {
  const ids = Array.from({ length: 300 }, (_, n) => `many ${n}`);
  for (const id of ids) client.write(JSON.stringify({ jsonrpc: '2.0', id, method: 'status' }));
  const answers = await Promise.all(ids.map((id) => client.answerTo(id)));
  expect(answers.every(({ result, error }) => result !== undefined || error?.code === -32_000)).toBe(true);
});

test('a client that subscribes more often than its key has streams is refused the rest, and keeps the others', async () => {
  const asked = await Promise.all(Array.from({ length: 20 }, () => client.ask('watch.subscribe', {})));
  const begun = asked.flatMap(({ result }) => (result === undefined ? [] : [result.subscription]));
  expect([begun.length, asked.filter(({ error }) => error?.code === -32_000).length]).toEqual([16, 4]);
  await mac.command({ do: 'receive', from: ANA, text: 'for all' });
  await waitFor(() => client.messages.length === 16);
  for (const subscription of begun) await client.ask('watch.unsubscribe', { subscription });
});
