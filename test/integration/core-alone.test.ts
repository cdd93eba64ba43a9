import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { RESOURCES } from '../../src/core/http/resources.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type RunningApp, startApp } from '../../src/core/service.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeExecutable } from '../support/fake-osascript.ts';
import { collectingLog } from '../support/log.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder, whenFileEnds } from '../support/temporary.ts';

// The core is a whole service (decision AD1): it reads, sends, streams and posts without any feature.

const KEY = 'a-key-for-all-the-tests';
const folder = temporaryFolder();
const chatDbPath = join(folder, 'chat.db');
const database = new ChatFixture(chatDbPath);
const osascript = new FakeExecutable(folder);
let app: RunningApp;

beforeAll(async () => {
  database.chat('any;-;+15550100', ['+15550100']);
  write('earlier');
  const dir = join(folder, 'config');
  mkdirSync(dir, { mode: 0o700 });
  const tables = {
    server: { port: 0n },
    auth: { api_key: KEY },
    backend: { chat_db_path: chatDbPath, osascript_path: osascript.path, poll_interval_ms: 20n },
  };
  const environment = processEnvironment({ HOME: folder }, 'linux');
  const checked = checkConfig(tables, dir, environment);
  if ('mistakes' in checked) throw new Error(checked.mistakes.join(' '));
  app = await startApp(checked.config, {
    clock: systemClock,
    log: collectingLog(),
    supervised: false,
    version: '1.2.3',
    features: [],
    platform: 'simulated',
    homeFolder: folder,
    cacheFolder: join(folder, 'cache'),
    run: async () => ({ code: 0, stdout: '', stderr: '', trouble: null }),
    restart: () => {},
  });
  whenFileEnds(() => app.close());
});

afterAll(() => database.close());

function write(text: string, columns: Readonly<Record<string, number>> = {}): number {
  return database.message({ chat: 1, handle_id: 1, text, date: appleDate(Date.now()), ...columns });
}

async function ask(path: string, body?: unknown, key = KEY) {
  const answer = await fetch(`${app.url}${path}`, {
    headers: { 'x-api-key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: (await answer.json()) as Readonly<Record<string, unknown>> };
}

test('reads messages, and events behind a row', async () => {
  const rowId = write('now');
  await waitFor(async () => {
    const { json } = await ask('/api/v1/status');
    return (json as { newest_event: { row_id: number } }).newest_event.row_id >= rowId;
  });
  expect((await ask('/api/v1/messages?limit=2')).json).toMatchObject([{ body: 'now' }, { body: 'earlier' }]);
  const { json } = await ask(`/api/v1/events?after=${rowId - 1}`);
  expect(json).toMatchObject([{ type: 'message.received', data: { body: 'now' } }]);
});

test('sends, and confirms with the row', async () => {
  const sending = ask('/api/v1/messages', { recipient: '+15550100', body: 'out' });
  await waitFor(() => osascript.runs().some(({ env }) => env.POSTERN_BODY === 'out'));
  write('out', { is_from_me: 1 });
  expect(await sending).toMatchObject({ status: 201, json: { body: 'out', is_from_me: true } });
});

test('posts events to a webhook', async () => {
  const receiver = await Receiver.start();
  whenFileEnds(() => receiver.close());
  expect((await ask('/api/v1/webhooks', { url: receiver.url, events: ['message.received'] })).status).toBe(201);
  write('to the webhook');
  await eventually(() => expect(receiver.deliveries).toMatchObject([{ event: { data: { body: 'to the webhook' } } }]));
});

test('serves what its own resources declare, and says so', async () => {
  const operations = RESOURCES.flatMap(({ routes = {} }) => Object.keys(routes));
  const { json: status } = await ask('/api/v1/status');
  expect(status).toMatchObject({ operations, capabilities: { send: { available: true } } });
  const { json } = await ask('/openapi.json');
  const documented = Object.values(json.paths as Readonly<Record<string, Readonly<Record<string, unknown>>>>);
  const named = documented
    .flatMap((path) => Object.values(path))
    .flatMap((one) => (one as { operationId?: string }).operationId ?? []);
  expect(named.sort()).toEqual([...operations].sort());
});

test('refuses what only features can do', async () => {
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = await ask('/api/v1/messages', { recipient: '+15550100', body: 'later', send_at: sendAt });
  expect(later).toMatchObject({ status: 400, json: { errors: [{ pointer: '/send_at' }] } });
  expect((await ask('/api/v1/messages', undefined, `pk_7f3a9c1e_${'0'.repeat(43)}`)).status).toBe(401);
  expect((await ask('/api/v1/search?q=now')).status).toBe(404);
  expect((await ask('/mcp', {})).status).toBe(404);
});
