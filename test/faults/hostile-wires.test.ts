import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { visible } from '../../src/core/model/visible.ts';
import { BlueBubblesClient } from '../support/bluebubbles-client.ts';
import { ChannelSession } from '../support/channel-session.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { hostileTexts, MARK, wellFormed } from '../support/hostile-texts.ts';
import { ImsgClient } from '../support/imsg-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { EventsClient, SECRET, type Told } from '../support/mcp-events.ts';
import { consentOf, decide, ISSUER, OAuthProgram, REDIRECT, tunnelTo } from '../support/oauth.ts';
import { postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { whenFileEnds } from '../support/temporary.ts';

const ANA = '+15550100';
const CHAT = `any;-;${ANA}`;
const AGENT = {
  scopes: ['read', 'events', 'send', 'webhooks'],
  read: '*',
  send: [ANA],
  approval: 'never',
  caps: { per_minute: 60 },
};
/** Control characters, which must not appear in a line on stdout or in a log, except for its end. */
const CONTROLS = /(?!\n)[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** The data of a BlueBubbles webhook. */
interface Posted {
  readonly text: string;
  readonly hasAttachments: boolean;
  readonly attachments: readonly { readonly guid: string }[];
  readonly chats: readonly { readonly displayName: string }[];
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let key: string;
let port: number;
let texts: readonly string[];

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before' });
  port = await freePort();
  service = await Service.start({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { bluebubbles: { port }, oauth: { issuer: ISSUER } },
  });
  ({ key } = await limitedKey(service, AGENT));
  texts = hostileTexts(join(service.folder, 'made'));
});
afterAll(async () => {
  expect(service.output).not.toContain(MARK);
  expect(service.output).not.toMatch(CONTROLS);
  expect(existsSync(join(service.folder, 'made'))).toBe(false);
  await service.dispose();
  await mac.dispose();
});

/** SQLite stores no unpaired surrogates. */
const stored = (): readonly string[] => texts.map(wellFormed);

describe('what strangers write', () => {
  /** Writes a group, a message with a file and an incoming message, each with the text as its name. */
  async function write(): Promise<void> {
    for (const [at, text] of stored().entries()) {
      const chat = `any;+;chat${at}`;
      await mac.command({ do: 'group', identifier: `chat${at}`, participants: [ANA, '+15550101'], name: text });
      await mac.command({ do: 'receive', from: ANA, chat, text, attachment: { name: text, bytes: 8 } });
      await mac.command({ do: 'receive', from: text, text: 'of a sender' });
    }
  }

  test('reaches each program as it is, and only as text', async () => {
    const receiver = await Receiver.start();
    whenFileEnds(() => receiver.close());
    const blueBubbles = new BlueBubblesClient(port, key);
    expect((await blueBubbles.post('webhook', { url: receiver.url, events: ['new-message'] })).status).toBe(200);
    const imsg = ImsgClient.start(service, key);
    await imsg.ask('watch.subscribe', { attachments: true, include_reactions: true });
    const told: Told[] = [];
    const hangUp = new AbortController();
    const events = new EventsClient(service, key);
    const reading = (async () => {
      for await (const one of events.stream({ name: 'message.received', cursor: null }, hangUp.signal)) {
        if (one.method !== 'notifications/events/heartbeat') told.push(one);
      }
    })().catch(() => {});
    await waitFor(() => told.length === 1);
    const session = new ChannelSession(service, key, '--since', '1');
    await session.begin();
    await write();

    const wanted = stored();
    // Messages writes this character in place of a file.
    const bodies = wanted.map((text) => text.replace('\ufffd', ''));
    await eventually(() => expect(imsg.messages).toHaveLength(2 * wanted.length));
    const ofGroups = imsg.messages.filter(({ is_group: isGroup }) => isGroup);
    expect(ofGroups.map(({ text }) => text)).toEqual(bodies);
    expect(ofGroups.map((message) => message.chat_name)).toEqual(wanted);
    const files = ofGroups.flatMap(({ attachments }) => attachments);
    expect(files.map((file) => (file as { readonly transfer_name?: string }).transfer_name)).toEqual(wanted);
    expect(imsg.messages.filter(({ is_group: isGroup }) => !isGroup).map(({ sender }) => sender)).toEqual(wanted);
    for (const name of readdirSync(ImsgClient.filesOf(service))) {
      expect(name).toMatch(/^[0-9a-f]{32}(?:\.[a-z\d]{1,8})?$/);
    }
    expect([imsg.refused, await imsg.end()]).toEqual([[], 0]);

    const posted = (): readonly Posted[] => receiver.deliveries.map(({ event }) => event.data as unknown as Posted);
    await eventually(() => expect(posted()).toHaveLength(2 * wanted.length));
    const inGroups = posted().filter(({ hasAttachments }) => hasAttachments);
    expect(inGroups.map(({ text }) => text)).toEqual(bodies);
    expect(inGroups.map(({ chats }) => chats[0]?.displayName)).toEqual(wanted);
    for (const { guid } of inGroups.flatMap(({ attachments }) => attachments)) {
      expect(await blueBubbles.raw('GET', `attachment/${guid}/download`)).toMatchObject({
        status: 200,
        text: 'postern ',
      });
    }

    await eventually(() => expect(told).toHaveLength(1 + 2 * wanted.length));
    expect(told.slice(1).map(({ method }) => method)).toEqual(
      Array(2 * wanted.length).fill('notifications/events/event'),
    );
    const streamed = told.flatMap(({ params }) => (params?.data === undefined ? [] : [params.data.body]));
    expect(streamed.filter((body) => body !== 'of a sender')).toEqual(bodies);
    hangUp.abort();
    await reading;

    await eventually(() => expect(session.shown).toHaveLength(2 * wanted.length));
    for (const { content, meta } of session.shown) {
      expect(content).not.toMatch(/(?![\n\t])\p{Cc}|\u202e|<\/?channel/u);
      for (const value of Object.values(meta)) expect(value).not.toMatch(/[\p{Cc}\u2028\u2029\u202e"<>]/u);
    }
    const plain = wanted.filter((text) => visible(text) === text && !/["<>]/.test(text));
    expect(session.shown.map(({ meta }) => meta.user)).toEqual(expect.arrayContaining([...plain]));
    expect(session.output).not.toMatch(CONTROLS);
    expect(session.errors).toBe('');
    expect(await session.end()).toBe(0);
  });
});

describe('what a program asks', () => {
  test('by imsg is answered in the protocol, each in one line', async () => {
    const imsg = ImsgClient.start(service, key);
    for (const text of texts) {
      const asked = [
        imsg.ask(text),
        imsg.ask('chats.list', { [`${text}x`]: text }),
        imsg.ask('messages.history', { chat_id: text, start: text, participants: [text] }),
        imsg.ask('watch.subscribe', { since_rowid: text }),
        imsg.ask('send', { to: text, text: 'x' }),
        imsg.ask('send', { chat_guid: `any;-;${text}`, text: 'x' }),
        imsg.ask('send', { to: ANA, file: text }),
      ];
      for (const { error } of await Promise.all(asked)) {
        expect([text, error?.code]).toEqual([text, expect.any(Number)]);
        expect([text, error?.message]).not.toEqual([text, 'Internal error']);
      }
    }
    expect(imsg.output).not.toMatch(CONTROLS);
    expect(imsg.errors).toBe('');
    expect([imsg.refused, await imsg.end()]).toEqual([[], 0]);
  });

  test('by BlueBubbles is answered in the envelope', async () => {
    const client = new BlueBubblesClient(port, key);
    for (const text of texts) {
      // The server refuses longer paths.
      const name = encodeURIComponent(wellFormed(text).slice(0, 1000));
      const form = new FormData();
      form.set(text, text);
      form.set('chatGuid', `any;-;${text}`);
      form.set('attachment', new Blob(['x']), text);
      const answers = await Promise.all([
        client.get(name),
        client.get(`chat/${name}`),
        client.get(`attachment/${name}/download`),
        client.get(`chat/query?${name}=${name}`),
        client.request('DELETE', `webhook/${name}`),
        client.post('chat/query', { limit: text, with: [text] }),
        client.post('message/text', { chatGuid: text, message: text, tempGuid: text, [text]: text }),
        client.post('chat/new', { addresses: [text], message: text }),
        client.post('webhook', { url: text, events: [text] }),
        client.upload('message/attachment', form),
      ]);
      for (const [at, { status, envelope }] of answers.entries()) {
        expect([text, at, status]).toEqual([text, at, expect.any(Number)]);
        // Some of the texts are addresses from which messages came, and an address alone names its conversation.
        if (at === 1 && status === 200) {
          expect(envelope).toMatchObject({ data: { chatIdentifier: wellFormed(text) } });
          continue;
        }
        expect([text, at, status >= 400 && status < 500]).toEqual([text, at, true]);
        expect(envelope).toMatchObject({ status, error: { type: expect.any(String), message: expect.any(String) } });
      }
    }
  });

  test('a text that is sent goes out as it is, or is refused', async () => {
    const client = new BlueBubblesClient(port, key);
    const refused: string[] = [];
    for (const text of texts) {
      const { status } = await client.post('message/text', { chatGuid: CHAT, message: text });
      if (status !== 200) refused.push(text);
    }
    const sent = mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));
    expect(sent).toEqual(texts.filter((text) => !refused.includes(text)));
    expect(refused).toEqual(texts.filter((text) => text.includes('\0') || wellFormed(text) !== text));
  });

  test('by MCP Events is answered in the protocol', async () => {
    const client = new EventsClient(service, key);
    const name = 'message.received';
    const delivery = { mode: 'webhook', url: 'http://127.0.0.1:9/', secret: SECRET };
    for (const text of texts) {
      const answers = await Promise.all([
        client.call('events/poll', { name: text }),
        client.call('events/poll', { name, cursor: text }),
        client.call('events/poll', { name, arguments: { [`${text}x`]: text } }),
        client.call('events/stream', { name: text }),
        client.call('events/subscribe', { name, delivery: { ...delivery, url: text } }),
        client.call('events/subscribe', { name, delivery: { ...delivery, secret: text } }),
        client.call('events/subscribe', { name, delivery: { ...delivery, mode: text } }),
        client.call('events/unsubscribe', { name, delivery: { url: text } }),
      ]);
      const codes = answers.map(({ error }) => error?.code);
      expect([text, codes]).toEqual([text, [-32_011, -32_602, -32_602, -32_011, -32_602, -32_602, -32_014, -32_602]]);
      const empty = await client.ask('events/poll', {
        name,
        cursor: '0',
        arguments: { conversation_id: text.slice(0, 500) },
      });
      expect(empty.events).toEqual([]);
    }
  });

  test('by the channel is answered in the protocol', async () => {
    const session = new ChannelSession(service, key);
    await session.begin();
    for (const text of texts) {
      const reply = await session.ask('tools/call', { name: 'reply', arguments: { chat_id: text, text } });
      expect([text, reply.isError]).toEqual([text, true]);
      for (const answer of [
        await session.answer('tools/call', { name: text, arguments: {} }),
        await session.answer(`${text}/x`, { [text]: text }),
      ]) {
        expect([text, answer.error?.code ?? answer.result?.isError]).toEqual([text, expect.anything()]);
      }
    }
    expect(session.output).not.toMatch(CONTROLS);
    expect(session.errors).toBe('');
    expect(await session.end()).toBe(0);
  });

  test('by OAuth is text on the page, one line in the list of keys, and returns unchanged', async () => {
    const tunnel = tunnelTo(service.port);
    const program = await OAuthProgram.registered(tunnel);
    for (const text of texts) {
      const named = await OAuthProgram.registered(tunnel, {
        client_name: text,
        redirect_uris: [REDIRECT],
        [text]: text,
      });
      const asked = await named.authorize({ state: text.slice(0, 2000), scope: text });
      const page = await asked.text();
      expect([text, asked.status]).toEqual([text, 200]);
      expect(page).not.toMatch(/<(?:script|img)|(?!\n)\p{Cc}|\u202e/u);
      const mistaken = await decide(tunnel, consentOf(page), { key: KEY, people: text });
      expect([text, mistaken.status]).toEqual([text, 200]);
      expect(await mistaken.text()).not.toMatch(/<(?:script|img)/);
      const allowed = await decide(tunnel, consentOf(page), { key: KEY });
      const back = new URL(allowed.headers.get('location') ?? '');
      expect([text, back.searchParams.get('state')]).toEqual([text, wellFormed(text.slice(0, 2000))]);
      expect(`${back.origin}${back.pathname}`).toBe(REDIRECT);
      expect((await program.authorize({ redirect_uri: text })).status).toBe(400);
      expect((await program.authorize({ client_id: text })).status).toBe(400);
      for (const fields of [{ grant_type: text }, { grant_type: 'refresh_token', refresh_token: text }]) {
        expect((await program.token(fields)).status).toBe(400);
      }
      const address = await new OAuthProgram(tunnel).register({ redirect_uris: [text] });
      expect(await address.json()).toMatchObject({ error: 'invalid_redirect_uri' });
    }
    const { stdout } = await postern(['keys', 'list', '--config-dir', service.configFolder]);
    expect(stdout).not.toMatch(CONTROLS);
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('  ')),
    ).toHaveLength(texts.length + 2);
  });
});

describe('a program that speaks a newer version', () => {
  const NEWER = '2099-01-01';

  test('of MCP Events gets the versions that are understood', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': NEWER,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const answer = await fetch(`http://127.0.0.1:${service.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': key,
        'mcp-protocol-version': NEWER,
        'mcp-method': 'events/list',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/list', params: { _meta: meta } }),
    });
    expect(await answer.json()).toMatchObject({ id: 1, error: { data: { supported: ['2026-07-28'] } } });
  });

  test('of the channel is answered in the newest one that is understood', async () => {
    const session = new ChannelSession(service, key);
    const clientInfo = { name: 'claude-code', version: '9' };
    const params = { protocolVersion: NEWER, capabilities: {}, clientInfo };
    expect(await session.ask('initialize', params)).toMatchObject({ protocolVersion: '2025-11-25' });
    await session.end();
  });

  test('of BlueBubbles gets an envelope', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v2/ping?password=${key}`);
    expect([answer.status, await answer.json()]).toEqual([404, expect.objectContaining({ status: 404 })]);
  });
});
