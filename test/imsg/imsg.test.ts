import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ChatDatabase } from '../../src/features/simulator/chat-database.ts';
import { eventually } from '../support/eventually.ts';
import { ImsgClient, type RpcAnswer } from '../support/imsg-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { postern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CLEO = '+15550102';
const STRANGER = '+15550199';
const AGENT = { scopes: ['read', 'events', 'send'], read: [ANA], send: [ANA], approval: 'never' };

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let key: string;
/** A key that may read everything. */
let reading: string;
const clients: ImsgClient[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'Kettle is on' });
  await mac.command({ do: 'receive', from: BEN, text: 'A secret of Ben' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  ({ key } = await limitedKey(service, { ...AGENT, caps: { per_minute: 60 } }));
  ({ key: reading } = await limitedKey(service, { ...AGENT, read: '*' }));
});
afterEach(async () => {
  await mac.command({ do: 'behave' });
  for (const client of clients.splice(0)) expect([client.refused, await client.end()]).toEqual([[], 0]);
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

function start(secret = key): ImsgClient {
  const client = ImsgClient.start(service, secret);
  clients.push(client);
  return client;
}

const run = (...words: readonly string[]) =>
  postern(['imsg', '--config-dir', service.configFolder, ...words], { env: { POSTERN_API_KEY: key } });

/** Returns the texts that this Mac sent to an address. */
const sent = () => mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));

async function chatOf(client: ImsgClient, address: string): Promise<Readonly<Record<string, unknown>>> {
  const { result } = await client.ask('chats.list', { limit: 200 });
  const chats = result?.chats as readonly Readonly<Record<string, unknown>>[];
  return chats.find(({ identifier }) => identifier === address) ?? {};
}

const disposition = ({ error }: RpcAnswer) => error?.data as Readonly<Record<string, unknown>>;

describe('the probes with which OpenClaw starts', () => {
  test('take it for an imsg without the private bridge', async () => {
    expect((await run('rpc', '--help')).exitCode).toBe(0);
    const { stdout } = await run('status', '--json');
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      advanced_features: false,
      v2_ready: false,
      selectors: {},
      rpc_methods: expect.arrayContaining(['chats.list', 'messages.history', 'watch.subscribe', 'send']),
    });
    for (const words of [
      ['send-rich', '--help'],
      ['poll', 'send', '--help'],
      ['send-attachment', '--chat', 'x'],
    ]) {
      const { exitCode, stderr } = await run(...words, '--json');
      expect([words, exitCode]).toEqual([words, 64]);
      expect(stderr).toContain('unknown command');
    }
  });

  test('name the folder of files, which attachmentRoots needs', async () => {
    expect((await run('rpc', '--help')).stdout).toContain('/postern/imsg');
  });

  test('see the newest conversations with their numbers, and nothing that the key may not read', async () => {
    const { result } = await start().ask('chats.list', { limit: 1 });
    expect(result).toEqual({
      chats: [
        {
          id: expect.any(Number),
          name: ANA,
          display_name: '',
          identifier: ANA,
          guid: `any;-;${ANA}`,
          service: expect.any(String),
          last_message_at: expect.stringMatching(/Z$/),
          is_group: false,
          participants: [ANA],
          unread_count: expect.any(Number),
        },
      ],
    });
  });

  test('find the unread conversations behind read ones, and each message says whether it is read', async () => {
    const client = start();
    const { id } = await chatOf(client, ANA);
    const isRead = async () => {
      const { result } = await client.ask('messages.history', { chat_id: id, limit: 10 });
      return ((result?.messages ?? []) as readonly { is_read?: boolean }[]).flatMap(({ is_read }) => is_read ?? []);
    };
    expect(await isRead()).toContain(false);
    const reader = start(reading);
    await mac.command({ do: 'receive', from: CLEO, text: 'hello' });
    await mac.command({ do: 'open_chat', chat: `any;-;${CLEO}` });
    const { result } = await reader.ask('chats.list', { limit: 1, unread_only: true });
    expect(result?.chats).toEqual([expect.objectContaining({ unread_count: expect.any(Number) })]);
    // Messages keeps no time for what was read on another device.
    const database = ChatDatabase.open(mac.chatDbPath, '26');
    database.sqlite.exec('UPDATE message SET is_read = 1, date_read = 0 WHERE is_from_me = 0');
    database.close();
    expect(await isRead()).not.toContain(false);
  });

  test('cannot be made with the key of the owner', async () => {
    const client = ImsgClient.start(service, KEY);
    expect(await client.ended()).toBe(77);
    expect(client.errors).toContain('This is not a limited key');
    expect(client.errors).not.toContain(KEY);
  });
});

describe('a subscription', () => {
  test('brings each new message in the strict types of the client, own ones too, and nobody else’s', async () => {
    const client = start();
    const { result } = await client.ask('watch.subscribe', { attachments: true, include_reactions: true });
    expect(result).toMatchObject({ subscription: 1 });
    await mac.command({ do: 'receive', from: BEN, text: 'not for the agent' });
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'Milk?' });
    const { id } = await chatOf(client, ANA);
    expect(await client.message(({ text }) => text === 'Milk?')).toMatchObject({
      id: row,
      chat_id: id,
      chat_guid: `any;-;${ANA}`,
      chat_identifier: ANA,
      chat_name: '',
      participants: [ANA],
      is_group: false,
      sender: ANA,
      is_from_me: false,
      attachments: [],
    });
    await mac.command({ do: 'react', to: row, type: 2000, from: ANA });
    await client.message(({ is_reaction: isReaction }) => isReaction === true);
    const answer = await client.ask('send', { chat_id: id, text: 'Yes, two', service: 'auto', region: 'US' });
    const own = await client.message(({ text }) => text === 'Yes, two');
    expect([own.guid, own.sender, own.is_from_me]).toEqual([answer.result?.guid, '', true]);
    expect(client.messages.map(({ text }) => text)).not.toContain('not for the agent');
    expect((await client.ask('watch.unsubscribe', { subscription: 1 })).result).toEqual({ ok: true });
  });

  test('and a history quote the message that a reply is to', async () => {
    const client = start();
    const { id } = await chatOf(client, ANA);
    await client.ask('watch.subscribe', { attachments: true });
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'Two or three?' });
    const database = ChatDatabase.open(mac.chatDbPath, '26');
    const reply = database.joinedMessage(database.directChat(ANA), {
      text: 'Three',
      from: ANA,
      dateMs: Date.now(),
      columns: { thread_originator_guid: database.guid(row), thread_originator_part: '0:0:13' },
    });
    const quoted = database.guid(row);
    database.close();
    const inReply = {
      id: reply,
      reply_to_guid: quoted,
      thread_originator_guid: quoted,
      reply_to_text: 'Two or three?',
      reply_to_sender: ANA,
    };
    expect(await client.message(({ text }) => text === 'Three')).toMatchObject(inReply);
    const { result } = await client.ask('messages.history', { chat_id: id, limit: 5 });
    const messages = (result?.messages ?? []) as readonly object[];
    expect(messages[0]).toMatchObject(inReply);
    expect(messages[1]).toMatchObject({ text: 'Two or three?', thread_originator_guid: null });
    expect(messages[1]).not.toHaveProperty('reply_to_text');
  });

  test('continues after the row that the client has kept, as often as its program is killed', async () => {
    let last = 0;
    const texts: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const client = ImsgClient.start(service, key);
      await client.ask('watch.subscribe', { include_reactions: true, ...(last > 0 && { since_rowid: last }) });
      await mac.command({ do: 'receive', from: ANA, text: `round ${round}` });
      const message = await client.message(({ text }) => text === `round ${round}`);
      texts.push(...client.messages.map(({ text }) => text));
      last = message.id;
      await client.kill();
      await mac.command({ do: 'receive', from: ANA, text: `between ${round}` });
    }
    expect(texts).toEqual([0, 1, 2, 3, 4].flatMap((n) => (n === 0 ? ['round 0'] : [`between ${n - 1}`, `round ${n}`])));
  });

  test('of a chat.db that was replaced brings the last day, not the whole history', async () => {
    const client = start();
    const { result } = await client.ask('watch.subscribe', { since_rowid: 9_000_000 });
    expect(result).toMatchObject({ subscription: 1 });
    expect((await client.message(({ text }) => text === 'Kettle is on')).sender).toBe(ANA);
    expect(client.errors).toContain('is not in chat.db');
  });

  test('fetches files into a private folder, under names that nobody else chose', async () => {
    const client = start();
    await client.ask('watch.subscribe', { attachments: true });
    const name = '-rf $(touch x)\u202e.jpg';
    await mac.command({ do: 'receive', from: ANA, text: '', attachment: { name, bytes: 2000 } });
    const { attachments } = await client.message((message) => message.attachments.length > 0);
    expect(attachments).toEqual([
      expect.objectContaining({
        original_path: expect.stringMatching(new RegExp(`^${ImsgClient.filesOf(service)}/[0-9a-f]{32}\\.jpg$`)),
        mime_type: 'image/jpeg',
        transfer_name: name,
        uti: 'public.jpeg',
        missing: false,
      }),
    ]);
  });
});

describe('a send', () => {
  test('as OpenClaw writes it goes out, and a repeated text is another message', async () => {
    const client = start();
    const { id } = await chatOf(client, ANA);
    for (const round of [1, 2]) {
      const { result } = await start().ask('send', {
        chat_id: id,
        text: 'Back at five',
        service: 'auto',
        region: 'US',
        transport: 'auto',
        formatting: [{ start: 0, length: 4, styles: ['bold'] }],
      });
      expect(result).toMatchObject({ ok: true, id: expect.any(Number), guid: expect.any(String) });
      expect(sent().filter((text) => text === 'Back at five')).toHaveLength(round);
    }
    expect((await client.ask('send', { to: ANA, text: 'by address' })).result).toMatchObject({ ok: true });
  });

  test('with an empty file is a text, as in imsg', async () => {
    const client = start();
    expect((await client.ask('send', { to: ANA, text: 'no file', file: '' })).result).toMatchObject({ ok: true });
    expect((await client.ask('send', { to: ANA, text: '', file: '' })).error?.message).toMatch(
      /`text`, `file`, or both/,
    );
  });

  test('in a thread is refused in the words after which OpenClaw sends it plainly', async () => {
    const client = start();
    const { id } = await chatOf(client, ANA);
    const { error } = await client.ask('send', { chat_id: id, text: 'threaded', reply_to: '5C2E' });
    expect(error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('reply_to requires bridge transport'),
    });
    expect(sent()).not.toContain('threaded');
    expect((await client.ask('send', { chat_id: id, text: 'threaded' })).result).toMatchObject({ ok: true });
  });

  test('to somebody who is not on the list is not made, and never again', async () => {
    const answer = await start().ask('send', { to: STRANGER, text: 'hello' });
    expect(disposition(answer)).toMatchObject({ disposition: 'not_started', retry_safe: false });
    expect(sent()).not.toContain('hello');
    expect((await start().ask('send', { chat_id: 424_242, text: 'hello' })).error).toMatchObject({ code: -32_602 });
  });

  test('that is held is made once, by the owner, and not by the client', async () => {
    const held = await limitedKey(service, { ...AGENT, approval: 'always' });
    const answer = await start(held.key).ask('send', { to: ANA, text: 'May I?' });
    expect(disposition(answer)).toMatchObject({ disposition: 'not_started', retry_safe: false });
    expect(answer.error?.message).toMatch(/held for approval.*Do not send it again/);
    const [approval] = (await service.get('/approvals?state=held')).json as { id: string; shown: string }[];
    await service.post(`/approvals/${approval?.id}/approve`, { shown: approval?.shown });
    await eventually(() => expect(sent().filter((text) => text === 'May I?')).toHaveLength(1));
  });

  test('is tried again by the client while Messages is away, and not where it may have been made', async () => {
    await mac.command({ do: 'behave', automation: 'denied' });
    const away = await start().ask('send', { to: ANA, text: 'later' });
    expect(disposition(away)).toMatchObject({ disposition: 'not_started', retry_safe: true });
    await mac.command({ do: 'behave' });
    await mac.command({ do: 'scenario', name: 'timed_out', times: 1 });
    const unknown = await start().ask('send', { to: ANA, text: 'perhaps' });
    expect(unknown.error?.code).toBe(-32_001);
    expect(disposition(unknown)).toMatchObject({ disposition: 'may_have_completed', retry_safe: false });
  });
});

test('a service that goes away ends the program, so that the client starts it again', async () => {
  const client = ImsgClient.start(service, key);
  await client.ask('watch.subscribe', {});
  await service.stop();
  expect(await client.ended()).toBe(69);
  expect(client.errors).toContain('Exiting, so that the client starts this program again and resumes.');
  const alone = ImsgClient.start(service, key);
  const answer = await alone.ask('send', { to: ANA, text: 'nobody is there' });
  expect(disposition(answer)).toMatchObject({ disposition: 'not_started', retry_safe: true });
  alone.write(JSON.stringify({ jsonrpc: '2.0', id: 99, method: 'watch.subscribe', params: {} }));
  expect(await alone.ended()).toBe(69);
  expect(alone.answers.map(({ id }) => id)).not.toContain(99);
  await service.launch();
});
