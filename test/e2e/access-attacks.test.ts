import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import type { Message } from '../../src/core/model/message.ts';
import { AccessFixture, ANA, BEN, GARDEN } from '../support/access-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

/** Starts a request whose body does not end before `finish` is called. */
function slowPost(path: string, key: string, body: unknown) {
  const text = JSON.stringify(body);
  const sent = request(`${fixture.service.url}${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'content-type': 'application/json',
      'content-length': text.length,
      expect: '100-continue',
    },
  });
  const answer = once(sent, 'response').then(([response]) => (response as { statusCode: number }).statusCode);
  sent.flushHeaders();
  return { begun: once(sent, 'continue'), finish: () => sent.end(text), answer };
}

describe('a key that is revoked while a body is on its way', () => {
  const revoke = (id: string) => fixture.service.request('DELETE', `/keys/${id}`);

  test('approves nothing', async () => {
    const agent = await fixture.key({ preset: 'assistant', send: [ANA] });
    await agent.post('/messages', { recipient: ANA, body: 'approved too late?' });
    const [held] = await fixture.approvals('?state=held');
    const { record } = await fixture.key({ scopes: ['approve'] });
    const post = slowPost(`/approvals/${held?.id}/approve`, record.key, { shown: held?.shown });
    await post.begun;
    await revoke(record.id);
    post.finish();
    expect(await post.answer).toBe(401);
    expect((await fixture.service.get(`/approvals/${held?.id}`)).json).toMatchObject({ state: 'held' });
    await fixture.service.post(`/approvals/${held?.id}/deny`, {});
  });

  test('asks for nothing, and registers nothing', async () => {
    const { record } = await fixture.key({ scopes: ['events', 'webhooks', 'send'], read: '*', send: [ANA] });
    const url = 'http://127.0.0.1:9/late';
    const posts = [
      slowPost('/messages', record.key, { recipient: ANA, body: 'late' }),
      slowPost('/webhooks', record.key, { url, events: ['message.received'] }),
    ];
    await Promise.all(posts.map(({ begun }) => begun));
    await revoke(record.id);
    for (const { finish } of posts) finish();
    expect(await Promise.all(posts.map(({ answer }) => answer))).toEqual([401, 401]);
    expect(await fixture.approvals('?state=held')).toEqual([]);
    expect((await fixture.service.get('/webhooks')).text).not.toContain(url);
  });
});

describe('details of a message that a key may read', () => {
  test('quote no conversation that the key may not read, and show none of its reactions', async () => {
    const { chats, chatIds, messages } = fixture;
    const secret = messages[GARDEN] ?? 0;
    const chat = chatIds[`any;-;${ANA}`] ?? 0;
    const text = 'a reply to something else';
    const reply = chats.message({
      chat,
      text,
      thread_originator_guid: chats.guid(secret),
      handle_id: chats.handle(ANA),
    });
    const own = chats.message({ chat, text: 'quoted', handle_id: chats.handle(ANA) });
    const other = chats.message({
      chat,
      text: 'a reply',
      thread_originator_guid: chats.guid(own),
      handle_id: chats.handle(ANA),
    });
    chats.message({
      chat: chatIds[`any;-;${BEN}`] ?? 0,
      associated_message_type: 2000,
      associated_message_guid: `p:0/${chats.guid(reply)}`,
      handle_id: chats.handle(BEN),
    });
    const key = await fixture.key({ preset: 'reader', read: [ANA] });
    const paths = [
      `/messages/${reply}?include=details`,
      '/messages?include=details',
      '/events?after=0&include=details',
    ];
    for (const path of paths) {
      const answer = await key.get(path);
      expect([path, answer.text.includes(text)]).toEqual([path, true]);
      expect([path, answer.text.includes('in-the-garden'), answer.text.includes(BEN)]).toEqual([path, false, false]);
    }
    const shown = (await key.get(`/messages/${other}?include=details`)).json as Message;
    expect(shown.details?.reply_to).toMatchObject({ id: String(own), body: 'quoted' });
    const everything = (await fixture.service.get(`/messages/${reply}?include=details`)).json as Message;
    expect(everything.details?.reply_to?.body).toBe('in-the-garden');
    expect(everything.details?.reactions.map(({ sender }) => sender)).toEqual([BEN]);
  });
});

test('the last message in a list of conversations is read, and the audit log has it', async () => {
  const { get, record } = await fixture.key({ preset: 'reader', read: [BEN] });
  await get('/conversations');
  expect(await fixture.audit(`?key=${record.id}`)).toEqual([]);
  await get('/conversations?include=details');
  expect(await fixture.audit(`?key=${record.id}`)).toMatchObject([{ action: 'read', target: `any;-;${BEN}` }]);
});

test('a test of its webhook tells a limited key nothing that another program of this machine says', async () => {
  const receiver = await Receiver.start((response) => void response.end('of another program'));
  try {
    const { post } = await fixture.key({ scopes: ['events', 'webhooks'], read: [] });
    const body = { url: receiver.url, events: ['message.received'] };
    const { id } = (await post('/webhooks', body)).json as { id: string };
    expect((await post(`/webhooks/${id}/test`, {})).json).toMatchObject({ delivered: true, answer: null });
  } finally {
    await receiver.close();
  }
});

describe('a key that opens one stream after the other', () => {
  const open = (key: string) =>
    new WebSocket(`ws://127.0.0.1:${fixture.service.port}/api/v1/ws?api_key=${encodeURIComponent(key)}`);
  /** Resolves with the status of the answer; 101 once the socket is open. */
  const statusOf = (socket: WebSocket): Promise<number> =>
    new Promise((resolve) => {
      socket.on('open', () => resolve(101));
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    });

  test('has 16 of both kinds, and room again when one ends', async () => {
    const { record, get } = await fixture.key({ preset: 'reader', read: [ANA] });
    const { record: other } = await fixture.key({ preset: 'reader', read: [ANA] });
    const sockets = Array.from({ length: 15 }, () => open(record.key));
    expect(new Set(await Promise.all(sockets.map(statusOf)))).toEqual(new Set([101]));
    const headers = { 'x-api-key': record.key, accept: 'text/event-stream' };
    const stream = request(`${fixture.service.url}/events`, { headers }).end();
    const [answer] = (await once(stream, 'response')) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(200);
    expect(await statusOf(open(record.key))).toBe(429);
    expect((await fixture.service.get('/events', headers)).json).toMatchObject({
      code: 'too_many_streams',
      detail: 'This key already has 16 WebSockets and event streams open.',
    });
    expect((await get('/events?after=0')).status).toBe(200);
    const others = [open(other.key), open(KEY)];
    expect(await Promise.all(others.map(statusOf))).toEqual([101, 101]);
    sockets[0]?.close();
    const next = await waitFor(async () => {
      const socket = open(record.key);
      return (await statusOf(socket)) === 101 ? socket : undefined;
    });
    expect(await statusOf(open(record.key))).toBe(429);
    for (const socket of [...sockets, ...others, next]) socket.close();
    stream.destroy();
  });
});

test('what a route refuses is in the audit log, once a minute with a count', async () => {
  const { record, get, post } = await fixture.key({ preset: 'reader', read: [ANA] });
  for (const path of ['/keys', '/audit', '/self-chat']) expect((await get(path)).status).toBe(403);
  expect((await post('/messages', { recipient: ANA, body: 'Hi' })).status).toBe(403);
  await eventually(async () => {
    const lines = await fixture.audit(`?key=${record.id}`);
    expect(new Set(lines.map(({ action, outcome }) => `${action} ${outcome}`))).toEqual(
      new Set(['refused scope_missing']),
    );
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  });
});

test('an agent in a loop, refused for a minute, leaves the owner his requests', async () => {
  const { record } = await fixture.key({ preset: 'reader' });
  await fixture.service.stop();
  fixture.service.configure({ server: { rate_limit_per_minute: 40 } });
  await fixture.service.launch();
  const statuses = [];
  for (let count = 0; count < 100; count += 1) {
    statuses.push((await fixture.service.get('/keys/me', { 'x-api-key': record.key })).status);
  }
  expect(statuses.filter((status) => status === 200).length).toBe(20);
  const owners = [];
  for (let count = 0; count < 15; count += 1) owners.push((await fixture.service.get('/status')).status);
  expect(new Set(owners)).toEqual(new Set([200]));
});
