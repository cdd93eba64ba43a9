import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { PosternClient } from '../../src/client/postern-client.ts';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { pathOf, type Route } from '../../src/core/http/route.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { ALL_DOCUMENTS, ALL_ROUTES } from '../support/all-operations.ts';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { type Answer, KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

interface Documented {
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
  readonly requestBody?: { readonly content: Content };
}
type Content = Readonly<
  Record<string, { readonly schema: object; readonly example?: unknown; readonly examples?: Examples }>
>;
type Examples = Readonly<Record<string, { readonly $ref?: string; readonly value?: unknown }>>;

const document = openApi('1.2.3', ALL_DOCUMENTS) as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Documented }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { additionalProperties?: boolean; properties?: object }>>;
    readonly responses: Readonly<Record<string, { readonly content: Content }>>;
    readonly examples: Examples;
  };
};

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'doc', ...(JSON.parse(JSON.stringify(document)) as object) });
const compiled = new Map<string, ValidateFunction>();

/** Returns the faults of `value` against the schema at a place in the document. */
function mistakes(schema: object, value: unknown): unknown {
  const key = JSON.stringify(schema);
  const text = key.replaceAll('"#/components/', '"doc#/components/');
  const validate = compiled.get(key) ?? ajv.compile(JSON.parse(text) as object);
  compiled.set(key, validate);
  return validate(value) ? null : validate.errors;
}

const operations = Object.keys(ALL_ROUTES).map((id) => {
  const operation = document.paths[pathOf(ALL_ROUTES[id] as Route)]?.[(ALL_ROUTES[id] as Route).method.toLowerCase()];
  if (operation === undefined) throw new Error(`${id} is not in the document`);
  return [id, operation] as const;
});

function exampleOf({ $ref, value }: Examples[string]): unknown {
  return $ref === undefined ? value : document.components.examples[$ref.replace('#/components/examples/', '')]?.value;
}

interface Linter {
  readonly createConfig: (settings: object) => Promise<object>;
  readonly lintFromString: (options: { source: string; config: object }) => Promise<readonly Finding[]>;
}
interface Finding {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}
const LINTER = fileURLToPath(
  new URL('../support/programs/node_modules/@redocly/openapi-core/lib/index.js', import.meta.url),
);
const inChecks = testIf(existsSync(LINTER), 'needs npm ci --prefix test/support/programs');

describe('the OpenAPI document', () => {
  inChecks('lints clean', async () => {
    const { createConfig, lintFromString } = (await import(LINTER)) as Linter;
    const config = await createConfig({
      extends: ['recommended'],
      // A handshake's only answer is 101.
      rules: { 'operation-2xx-response': 'off' },
    });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test('has only examples that are as it says', () => {
    const places: (readonly [string, Content | undefined])[] = [
      ...operations.flatMap(([id, { responses, requestBody }]) => [
        [id, requestBody?.content] as const,
        ...Object.entries(responses).map(([status, { content }]) => [`${id} ${status}`, content] as const),
      ]),
      ...Object.entries(document.webhooks).map(([name, { post }]) => [name, post.requestBody?.content] as const),
      ...Object.entries(document.components.responses).map(([name, { content }]) => [name, content] as const),
    ];
    for (const [place, content = {}] of places) {
      for (const { schema, example, examples = {} } of Object.values(content)) {
        if (example !== undefined) expect([place, mistakes(schema, example)]).toEqual([place, null]);
        for (const [name, given] of Object.entries(examples)) {
          expect([place, name, mistakes(schema, exampleOf(given))]).toEqual([place, name, null]);
        }
      }
    }
  });

  test('has every event as a webhook', () => {
    expect(Object.keys(document.webhooks)).toEqual([
      'message.received',
      'message.sent',
      'reaction.added',
      'reaction.removed',
      'message.updated',
      'message.removed',
      'messages.changed',
    ]);
  });
});

describe('real answers are as the document says', () => {
  const seen = new Set<string>();
  let service: Service;
  let mac: Awaited<ReturnType<typeof simulatedMac>>;
  let receiver: Receiver;

  beforeAll(async () => {
    mac = await simulatedMac();
    receiver = await Receiver.start();
    service = await Service.here({
      chatDbPath: mac.chatDbPath,
      osascriptPath: mac.osascriptPath,
      settings: { search: { enabled: true }, self: { address: OWN_ADDRESS } },
    });
  });
  afterAll(async () => {
    await service.dispose();
    await receiver.close();
    await mac.dispose();
  });

  /** Sends a request and compares the answer, including its status, with the document. */
  async function ask(
    id: string,
    status: number,
    fill: Record<string, string> = {},
    body?: unknown,
    query = '',
    key: Record<string, string> = {},
  ) {
    const route = ALL_ROUTES[id] as Route;
    const path = pathOf(route).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(fill[name] ?? ''));
    const url = `${'isOutside' in route ? '/../..' : ''}${path.replace('/api/v1', '')}${query}`;
    const answer = await service.request(route.method, url, {
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...key },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    check(id, answer, status);
    return answer;
  }

  function check(id: string, answer: Answer, status: number): void {
    expect([id, answer.status, answer.text]).toEqual([id, status, answer.text]);
    seen.add(`${id} ${status}`);
    const operation = operations.find(([name]) => name === id)?.[1];
    const documented = operation?.responses[String(status)];
    const response =
      documented?.$ref === undefined
        ? documented
        : document.components.responses[documented.$ref.replace('#/components/responses/', '')];
    expect([id, status, response]).toEqual([id, status, expect.anything()]);
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    const content = response?.content;
    if (content === undefined) {
      expect(answer.text).toBe('');
      return;
    }
    const schema = content[type]?.schema;
    if (!('*/*' in content)) expect([id, Object.keys(content)]).toEqual([id, expect.arrayContaining([type])]);
    if (type.endsWith('json') && schema !== undefined) expect([id, mistakes(schema, answer.json)]).toEqual([id, null]);
  }

  test('of every route, good and bad', async () => {
    await ask('getHealth', 200);
    await ask('getStatus', 200);
    await ask('getStatus', 200, {}, undefined, '?as=swiftbar');
    await ask('getStatus', 400, {}, undefined, '?as=me');
    await ask('checkPermissions', 200);
    await ask('runDiagnostics', 200, {}, undefined, '?seconds=0');
    await ask('runDiagnostics', 400, {}, undefined, '?ask=me');
    const sent = await ask('sendMessage', 201, {}, { recipient: '+15550100', body: 'Hello' });
    const { id, conversation_id: conversation } = sent.json as { id: string; conversation_id: string };
    await ask('sendMessage', 400, {}, { recipient: '' });
    const bytes = { method: 'POST', headers: { 'content-disposition': 'attachment; filename="a.txt"' }, body: 'text' };
    const uploaded = await service.request('POST', '/attachments', bytes);
    check('uploadAttachment', uploaded, 201);
    check('uploadAttachment', await service.request('POST', '/attachments', { body: 'text' }), 400);
    const { id: upload } = uploaded.json as { id: string };
    await ask('sendMessage', 201, {}, { recipient: '+15550100', body: '', attachment_ids: [upload] });
    await ask('sendMessage', 404, {}, { recipient: '+15550100', body: '', attachment_ids: [upload] });
    await ask('listMessages', 200);
    await ask('listMessages', 200, {}, undefined, '?include=details');
    await ask('listMessages', 400, {}, undefined, '?limit=0&include=all');
    await ask('getMessage', 200, { id });
    await ask('getMessage', 200, { id }, undefined, '?include=details');
    await ask('getMessage', 404, { id: '999' });
    await ask('getAttachment', 404, { id, n: '0' });
    const attachment = { name: 'plan.pdf', bytes: 4096 };
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: '+15550100', text: '', attachment });
    const file = `/messages/${row}/attachments/0`;
    const whole = await waitFor(async () => found(await service.get(file)));
    check('getAttachment', whole, 200);
    check('getAttachment', await service.get(file, { 'if-none-match': whole.headers.get('etag') ?? '' }), 304);
    check('getAttachment', await service.get(file, { range: 'bytes=0-9' }), 206);
    await ask('listConversations', 200);
    await ask('getConversation', 200, { id: conversation });
    await ask('getConversation', 404, { id: 'any;-;nobody' });
    await ask('listConversationAttachments', 200, { id: conversation });
    await ask('listConversationAttachments', 404, { id: 'any;-;nobody' });
    await waitFor(async () => (await service.get('/search?q=hello')).text.includes('highlights'));
    await ask('searchMessages', 200, {}, undefined, '?q=hello&include=details');
    await ask('searchMessages', 400, {}, undefined, '?q=he*');
    await ask('listConversations', 200, {}, undefined, '?include=details,contacts');
    await ask('listContacts', 200, {}, undefined, '?q=ana');
    await ask('listContacts', 400, {}, undefined, '?limit=0');
    const [person] = (await ask('listPeople', 200)).json as readonly { readonly id: string }[];
    await ask('listPersonMessages', 200, { id: person?.id ?? '' }, undefined, '?limit=1&include=details,contacts');
    await ask('listPersonMessages', 404, { id: 'nobody' });
    await ask('listEvents', 200, {}, undefined, '?after=0');
    await ask('listEvents', 400);
    await ask('listEvents', 410, {}, undefined, '?after=999999');
    await ask('openWebSocket', 426, {}, undefined, '?api_key=a-key-for-all-the-tests');
    await ask('openWebSocket', 401);
    const made = await ask('registerWebhook', 201, {}, { url: receiver.url, events: ['message.sent'], secret: 's' });
    const webhook = { id: (made.json as { id: string }).id };
    await ask('registerWebhook', 400, {}, { url: 'x', events: [] });
    await ask('listWebhooks', 200);
    await ask('getWebhook', 200, webhook);
    await ask('testWebhook', 200, webhook);
    await ask('listDeliveries', 200, webhook);
    await ask('listDeliveries', 200, webhook, undefined, '?include=tries&outcome=delivered');
    await ask('listDeliveries', 400, webhook, undefined, '?include=all');
    await ask('resendDelivery', 404, { ...webhook, delivery: 'never' });
    await ask('replayWebhook', 202, webhook, { after: 0 });
    const delivery = await waitFor(async () => {
      const all = (await service.get(`/webhooks/${webhook.id}/deliveries`)).json as { id: string; event: string }[];
      return all.find(({ event }) => event === 'message.sent')?.id;
    });
    await ask('resendDelivery', 200, { ...webhook, delivery });
    const changes = { secret: 'other', headers: { Authorization: 'x' }, filter: { is_from_me: false }, name: 'n8n' };
    await ask('changeWebhook', 200, webhook, changes);
    await ask('changeWebhook', 400, webhook, { headers: { Host: 'x' }, on_failure: 'wait' });
    await ask('changeWebhook', 404, { id: 'none' }, {});
    await ask('listWebhooks', 200, {}, undefined, '?include=status');
    await ask('listWebhooks', 400, {}, undefined, '?include=all');
    await ask('retryWebhook', 202, webhook);
    await ask('retryWebhook', 404, { id: 'none' });
    await ask('replayWebhook', 202, webhook, { dropped: true });
    await ask('replayWebhook', 202, webhook, { after: 0 });
    await ask('replayWebhook', 400, webhook, { after: 999 });
    for (const operation of ['getWebhook', 'listDeliveries', 'testWebhook'] as const) {
      await ask(operation, 404, { id: 'none' });
    }
    await ask('deleteWebhook', 204, webhook);
    await ask('deleteWebhook', 404, webhook);
    await ask('getMetrics', 200);
    check('listMessages', await service.get('/messages', { 'x-api-key': 'wrong' }), 401);
    check('listMessages', await service.get('/messages', { origin: 'http://evil.example' }), 403);
  });

  test('of the conversation with oneself', async () => {
    await ask('sendSelfChatCode', 200, {}, {});
    await ask('proveSelfChat', 400, {}, {});
    await ask('proveSelfChat', 409, {}, { code: 'none' });
    await ask('proveSelfChat', 200, {}, { code: /\d{6}/.exec(mac.calls.at(-1)?.values.BODY ?? '')?.[0] });
    await ask('getSelfChat', 200);
  });

  test('of keys, approvals and the audit log', async () => {
    const ana = '+15550100';
    const add = async (body: object) =>
      (await ask('addKey', 201, {}, { name: 'agent', ...body })).json as { readonly id: string; readonly key: string };
    const key = await add({ preset: 'assistant', read: [ana], send: [ana] });
    await ask('addKey', 400, {}, {});
    await ask('listKeys', 200);
    await ask('getKey', 200, key);
    await ask('getKey', 404, { id: 'none' });
    await ask('getOwnKey', 200);
    const as = { 'x-api-key': key.key };
    await ask('getOwnKey', 200, {}, undefined, '', as);
    await ask('listKeys', 403, {}, undefined, '', as);
    await ask('changeKey', 200, key, { read: '*', caps: { per_minute: 20 } });
    await ask('changeKey', 400, key, { approval: 'sometimes' });
    await ask('checkKey', 200, key, undefined, '?to=%2B15550100');
    await ask('checkKey', 400, key);
    await ask('rotateKey', 200, key);
    await ask('sendMessage', 200, {}, { recipient: ana, body: 'Hi', dry_run: true });
    await ask('sendMessage', 200, {}, { recipient: ana, body: 'Hi', dry_run: true }, '', as);
    await ask('sendMessage', 403, {}, { recipient: '+15559999', body: 'Hi' }, '', as);
    const hold = async (body: string) => {
      const answer = await ask('sendMessage', 202, {}, { recipient: ana, body }, '', as);
      const { approval } = answer.json as { approval: { id: string } };
      return (await ask('getApproval', 200, approval)).json as { id: string; shown: string };
    };
    const [one, two, three] = [await hold('One'), await hold('Two'), await hold('Three')];
    await ask('listApprovals', 200, {}, undefined, '?state=held&include=contacts');
    await ask('getOverview', 200);
    for (const kind of ['events', 'sends', 'webhooks', 'keys']) await ask('getStatistics', 200, { kind });
    await ask('getStatistics', 400, { kind: 'keys' }, undefined, '?by=year');
    await ask('getConfig', 200);
    await ask('listAudit', 200, {}, undefined, '?order=desc&limit=1&include=contacts');
    await ask('listApprovals', 400, {}, undefined, '?state=open&wait=x');
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const answer = await ask('sendMessage', 202, {}, { recipient: ana, body: 'Later', send_at: later });
    const { scheduled } = answer.json as { scheduled: { id: string } };
    await ask('listScheduled', 200);
    await ask('listScheduled', 400, {}, undefined, '?source=mac');
    await ask('getScheduled', 200, scheduled);
    await ask('cancelScheduled', 204, scheduled);
    await ask('cancelScheduled', 409, scheduled);
    await ask('getScheduled', 404, { id: 'none' });
    await ask('approveSend', 409, one, { shown: 'something else' });
    await ask('approveSend', 400, one, {});
    await ask('approveSend', 200, one, { shown: one.shown });
    await ask('getApproval', 200, one, undefined, '?wait=50');
    await ask('denySend', 200, two);
    await ask('denySend', 409, two);
    await ask('sendMessage', 403, {}, { recipient: ana, body: 'Two' }, '', as);
    await ask('withdrawSend', 204, three, undefined, '', as);
    await ask('getApproval', 404, { id: 'none' });
    await ask('listAudit', 200);
    await ask('listAudit', 400, {}, undefined, '?after=x');
    await ask('revokeKey', 204, key);
    await ask('listKeys', 200, {}, undefined, '?include=revoked');
    await ask('listKeys', 400, {}, undefined, '?include=all');
    await ask('revokeKey', 404, key);
  });

  test('of signing in the console', async () => {
    await ask('makeSignInCode', 403);
    const made = await new PosternClient({ socketPath: service.socketPath, key: KEY }).keys.signInCode();
    expect(mistakes({ $ref: '#/components/schemas/SignInCode' }, made)).toBeNull();
    seen.add('makeSignInCode 201');
    const { origin, hash } = new URL(made.url);
    const code = hash.replace('#code=', '');
    await ask('signIn', 200, {}, { code }, '', { origin });
    await ask('signIn', 403, {}, { code }, '', { origin });
    await ask('signIn', 400, {}, {}, '', { origin });
  });

  test('every route had at least one good answer that was checked', () => {
    const good = new Set([...seen].filter((line) => / 2\d\d$/.test(line)).map((line) => line.split(' ')[0]));
    const missing = operations.map(([id]) => id).filter((id) => !good.has(id));
    expect(missing).toEqual(['openWebSocket', 'callMcp']);
  });

  test('and of the WebSocket, every frame', async () => {
    for (const query of ['&after=0', '&after=0&include=details']) {
      const listener = await service.socket(query);
      await eventually(() => expect(listener.frames.length).toBeGreaterThan(1));
      for (const event of listener.events) {
        expect(mistakes({ $ref: '#/components/schemas/Event' }, event)).toBeNull();
        expect('details' in event.data).toBe(query.includes('details'));
      }
      await listener.close();
    }
  });

  test('the service gives the document itself, without a key and uncounted', async () => {
    const answer = await service.request('GET', '/../../openapi.json', { headers: { 'x-api-key': '' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('ratelimit')).toBeNull();
    expect((answer.json as { openapi: string }).openapi).toMatch(/^3\.1/);
  });
});

function found(answer: Answer): Answer | undefined {
  return answer.status === 200 ? answer : undefined;
}
