import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { ALL_DOCUMENTS } from '../support/all-operations.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly members: readonly string[];
}

/** Answers that satisfy no call: each fails after its request was recorded. */
const asked: Asked[] = [];
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const isJson = request.headers['content-type']?.includes('json') === true;
  const members = [...searchParams.keys(), ...(isJson && body !== '' ? Object.keys(JSON.parse(body) as object) : [])];
  asked.push({ method: request.method ?? '', path: pathname, members });
  const able = { available: true };
  const capabilities = { format: able, service: able, fallback: able, send_at: able };
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(pathname.endsWith('/status') ? JSON.stringify({ newest_event: {}, capabilities }) : '{}');
}
const server = createServer((request, response) => void answer(request, response));

let client: PosternClient;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = new PosternClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'key' });
});
afterAll(() => void server.close());

/** Members that the typed client omits, with the reason. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  // The client pages by following the links of the answers.
  listMessages: ['cursor'],
  listPersonMessages: ['cursor'],
  listConversationAttachments: ['cursor'],
  // This text is for menus.
  getStatus: ['as'],
  // For browsers and Prometheus, for the console only, or for MCP clients.
  getMetrics: [],
  signIn: ['code'],
  callMcp: ['jsonrpc', 'method'],
  // `listen` opens it, with the parameters of `events`.
  openWebSocket: ['api_key', 'after', 'changes', 'include', 'max_age_s', 'junk', 'include_hidden'],
};

const send = {
  recipient: 'a',
  from: 'm1',
  body: 'b',
  format: 'plain',
  service: 'sms',
  fallback: 'sms',
  attachments: ['/a'],
  attachment_ids: ['b'],
} as const;
const settings = {
  url: 'http://a',
  events: ['message.received'],
  secret: 's',
  include: ['details'],
  name: 'n',
  enabled: true,
  headers: {},
  on_failure: 'hold',
  filter: {},
} as const;
const limits = {
  read: '*',
  send: '*',
  approval: 'never',
  caps: {},
  dry_run: true,
  expires_at: null,
  callback_hosts: [],
  max_wait_s: 5,
} as const;
const page = { limit: 1, offset: 1, include: 'details' } as const;

/** Calls every method of the client with every option. */
function calls(): readonly Promise<unknown>[] {
  const { home, keys, approvals, people, scheduled, attachments } = client;
  return [
    client.health(),
    client.send(send),
    client.dryRun(send),
    scheduled.add({ ...send, send_at: '2030-01-01T00:00:00Z', send_until: '2030-01-02T00:00:00Z' }),
    client.messages({
      ...page,
      conversation_id: 'c',
      since: '2026-01-01',
      order: 'asc',
      junk: false,
      include_hidden: true,
    }),
    client.message('1', { include: 'details' }),
    attachments.get('1', 0, { as: 'jpeg', max: 9 }),
    attachments.upload({ name: 'n', content: new Uint8Array() }),
    client.conversations({ ...page, q: 'ana', junk: false }),
    client.allConversations().next(),
    attachments.inConversation('c', { limit: 1 }).next(),
    client.conversation('c', { include: 'contacts' }),
    client.search('q', {
      conversation_id: 'c',
      time_zone: 'UTC',
      limit: 1,
      cursor: 'c',
      include: 'details',
      junk: false,
    }),
    client.contacts({ q: 'q', limit: 1 }),
    people.list({ q: 'q', limit: 1 }),
    people.messages('p', { limit: 1, include: 'details' }),
    client.addWebhook(settings),
    client.changeWebhook('w', settings),
    client.webhooks({ include: 'status' }),
    client.webhook('w'),
    client.removeWebhook('w'),
    client.deliveries('w', { include: 'tries', outcome: 'dropped' }),
    client.resendDelivery('w', 'd'),
    client.testWebhook('w'),
    client.retryWebhook('w'),
    client.replayWebhook('w', 1),
    client.replayDropped('w'),
    client.events(1, 1, { wait: 1, include: 'details', maxAgeS: 60, junk: false, include_hidden: true }),
    client.trackedEvents({ after: 1 }),
    client.status(),
    client.checkPermissions(),
    client.diagnostics({ seconds: 1, ask: 'messages' }),
    home.overview(),
    home.statistics('events', { by: 'day', last: 1 }),
    home.settings(),
    keys.list({ include: 'revoked' }),
    keys.get('k'),
    keys.mine(),
    keys.add({ name: 'n', preset: 'assistant', ...limits }, { include: 'clients' }),
    keys.add({ name: 'n', scopes: ['read'] }),
    keys.change('k', { ...limits, opens: [] }),
    keys.rotate('k'),
    keys.revoke('k'),
    keys.check('k', 'a'),
    keys.signInCode(),
    keys.audit({
      key: 'k',
      after: 1,
      before: 9,
      since: '2026-01-01',
      action: 'send',
      outcome: 'sent',
      target: 'a',
      order: 'desc',
      include: 'contacts',
      limit: 1,
    }),
    approvals.list({ state: 'held', wait: 1, include: 'contacts' }),
    approvals.get('a', { wait: 1 }),
    approvals.approve('a', 's'),
    approvals.deny('a'),
    approvals.withdraw('a'),
    approvals.selfChat(),
    approvals.sendSelfChatCode(),
    approvals.proveSelfChat('c'),
    scheduled.list({ state: 'sent', source: 'postern' }),
    scheduled.get('s'),
    scheduled.cancel('s'),
  ];
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: object;
  readonly anyOf?: readonly Schema[];
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

test('the typed client can say every parameter and member of the documented API', async () => {
  await Promise.allSettled(calls());
  const document = JSON.parse(JSON.stringify(openApi('1.2.3', ALL_DOCUMENTS))) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const membersOf = ({ $ref, properties = {}, anyOf = [] }: Schema): readonly string[] => [
    ...Object.keys(properties),
    ...anyOf.flatMap(membersOf),
    ...($ref === undefined ? [] : membersOf(document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})),
  ];
  const unsaid: string[] = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    for (const [method, { operationId: id, parameters = [], requestBody }] of Object.entries(operations)) {
      const known = [
        ...parameters.flatMap(({ in: place, name }) => (place === 'query' ? [name] : [])),
        ...membersOf(requestBody?.content['application/json']?.schema ?? {}),
      ];
      const own = asked.filter((one) => one.method === method.toUpperCase() && pattern.test(one.path));
      const said = new Set([...own.flatMap(({ members }) => members), ...(LEFT_OUT[id] ?? [])]);
      if (own.length === 0 && LEFT_OUT[id] === undefined) unsaid.push(id);
      unsaid.push(...known.filter((name) => !said.has(name)).map((name) => `${id}: ${name}`));
    }
  }
  expect(unsaid).toEqual([]);
});
