import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import type { Problem } from '../../src/core/http/problem-document.ts';
import { pathOf } from '../../src/core/http/route.ts';
import { PROBLEMS, type ProblemText } from '../../src/core/model/problems.ts';
import { ALL_DOCUMENTS, ALL_ROUTES } from '../support/all-operations.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

/**
 * Problems that need a limited key, a Unix socket, a broken connection, a minute of waiting, a file replaced at the
 * right moment or a defect of ours. Other tests cover them.
 */
const NOT_PROVOKED_HERE = [
  '403 recipient_not_allowed',
  '403 attachment_not_allowed',
  '403 webhook_not_allowed',
  '403 webhook_headers_not_allowed',
  '403 send_denied',
  '403 scope_missing',
  '404 self_chat_disabled',
  '409 self_chat_unknown',
  '503 self_chat_unseen',
  '429 self_chat_full',
  '409 code_wrong',
  '404 key_not_found',
  '404 approval_not_found',
  '409 too_many_keys',
  '409 already_decided',
  '409 approval_changed',
  '410 approval_expired',
  '429 cap_reached',
  '429 too_many_streams',
  '429 too_many_held',
  '507 storage_full',
  '503 too_many_uploads',
  '409 not_on_this_mac',
  '503 conversion_busy',
  '400 incomplete_body',
  '400 attachment_changed',
  '404 not_available',
  '404 changes_disabled',
  '408 request_timeout',
  '410 offset_expired',
  '500 internal_error',
  '502 misdirected',
  '503 index_missing',
  '503 too_many_without_key',
  '503 disk_full',
  '503 state_db_unavailable',
  '503 shutting_down',
  '429 too_many_answers',
  '404 contacts_disabled',
  '404 search_disabled',
  '503 search_unavailable',
  '429 too_many_scheduled',
  '404 scheduled_not_found',
  '409 scheduled_on_phone',
  '409 too_late',
];
const JSON_BODY = { 'content-type': 'application/json' };

interface Response {
  readonly content: { readonly 'application/problem+json': { readonly examples: Readonly<Record<string, Example>> } };
}
interface Example {
  readonly $ref?: string;
  readonly value?: Problem;
}
const { paths, components } = openApi('1.2.3', ALL_DOCUMENTS) as {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Response> }>>;
  readonly components: {
    readonly responses: { readonly OtherProblem: Response };
    readonly examples: Record<string, Example>;
  };
};

const nowhere = temporaryFolder();
const provoked = new Set<string>();
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

/** Numbers differ from case to case, and commands from place to place; the words do not. */
const wordsOf = (problem: unknown): string =>
  JSON.stringify(problem)
    .replaceAll(/node \S+ (\w+(?: \w+)?) --config-dir [^\\]+/g, 'postern $1')
    .replaceAll(/\d+/g, '0');

/** Expects an answer with this code that reads like an example which the document shows for the operation. */
function expectProblem(code: string, id: string | undefined, answer: { readonly json: unknown }): void {
  const problem = answer.json as Problem;
  expect(problem.code).toBe(code);
  provoked.add(`${problem.status} ${code}`);
  const route = id === undefined ? undefined : ALL_ROUTES[id];
  const ofOperation = route && paths[pathOf(route)]?.[route.method.toLowerCase()]?.responses[problem.status];
  const { examples } = (ofOperation ?? components.responses.OtherProblem).content['application/problem+json'];
  const shown = Object.values(examples).map(
    ({ $ref = '', value }) => value ?? components.examples[$ref.split('/').at(-1) ?? '']?.value,
  );
  expect(shown.map(wordsOf)).toContain(wordsOf(problem));
}

/** Sends exactly these bytes and returns the answer. */
async function raw(lines: readonly string[]): Promise<{ readonly json: unknown }> {
  const socket = connect(service.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await waitFor(() => text.endsWith('}'));
  socket.destroy();
  return { json: JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as unknown };
}

const send = (body = 'Hello', key?: string) =>
  service.post('/messages', { recipient: '+15550100', body }, key === undefined ? {} : { 'idempotency-key': key });

describe('a problem reads as its example in the OpenAPI document', () => {
  test('of access control and routing', async () => {
    expectProblem('invalid_request', 'getOwnKey', await service.get('/keys/me?limit=%zz'));
    expectProblem('unauthorized', 'listMessages', await service.get('/messages', { 'x-api-key': 'wrong' }));
    const revoked = `postern_0123abcd_${'x'.repeat(43)}`;
    expectProblem('unauthorized', 'listMessages', await service.get('/messages', { 'x-api-key': revoked }));
    expectProblem('origin_not_allowed', 'getHealth', await service.get('/health', { origin: 'http://evil.example' }));
    expectProblem('host_not_allowed', 'getHealth', await raw(['GET /api/v1/health HTTP/1.1', 'Host: evil.example']));
    expectProblem('invalid_host', 'listMessages', await raw(['GET /api/v1/messages HTTP/1.1']));
    expectProblem('invalid_http', undefined, await raw(['Hello!']));
    expectProblem('headers_too_large', undefined, await raw(['GET / HTTP/1.1', `X: ${'x'.repeat(20_000)}`]));
    expectProblem('invalid_path', 'getMessage', await service.get('/messages/%zz'));
    expectProblem('not_found', undefined, await service.get('/nothing'));
    expectProblem('method_not_allowed', undefined, await service.request('PUT', '/conversations', {}));
    expectProblem('socket_required', 'makeSignInCode', await service.post('/sign-in-codes', {}));
    const signIn = (headers: Readonly<Record<string, string>>) =>
      service.request('POST', '/../../console/sign-in', {
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ code: 'wrong' }),
      });
    expectProblem('origin_not_allowed', 'signIn', await signIn({}));
    expectProblem('sign_in_code_wrong', 'signIn', await signIn({ origin: `http://127.0.0.1:${service.port}` }));
    expectProblem('owner_key_at_mcp', 'callMcp', await service.post('/../../mcp', {}));
    expectProblem('upgrade_required', 'openWebSocket', await service.get(`/ws?api_key=${KEY}`));
    const handshake = [`GET /api/v1/ws?api_key=${KEY} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`];
    expectProblem(
      'bad_handshake',
      'openWebSocket',
      await raw([...handshake, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']),
    );
  });

  test('of bad input: every operation shows what can be wrong with it', async () => {
    const wrong: readonly (readonly [string, string, unknown?])[] = [
      ['getStatus', '/status?as=me'],
      ['listMessages', '/messages?limit=0&include=all'],
      ['getMessage', '/messages/1?include=all'],
      ['getAttachment', '/messages/1/attachments/0?as=png'],
      ['listConversations', '/conversations?limit=0&include=all'],
      ['getConversation', '/conversations/x?include=all'],
      ['listConversationAttachments', '/conversations/x/attachments?limit=0'],
      ['listContacts', '/contacts?limit=0'],
      ['listPeople', '/people?limit=0'],
      ['listPersonMessages', '/people/x/messages?limit=0&include=all'],
      ['listEvents', '/events?after=x&changes=1&include=all&max_age_s=59'],
      ['sendMessage', '/messages', { recipient: '' }],
      ['registerWebhook', '/webhooks', { url: 'example.net', events: ['all'] }],
      ['replayWebhook', '/webhooks/x/replay', { after: 'all' }],
    ];
    for (const [id, path, body] of wrong) {
      const answer = body === undefined ? await service.get(path) : await service.post(path, body);
      expectProblem('invalid_request', id, answer);
    }
    const post = (body: string, headers: Record<string, string> = JSON_BODY) =>
      service.request('POST', '/webhooks', { body, headers });
    expectProblem('missing_body', 'registerWebhook', await post(''));
    expectProblem('invalid_json', 'registerWebhook', await post('{bad'));
    expectProblem('body_too_large', 'registerWebhook', await post(JSON.stringify('x'.repeat(1_100_000))));
    expectProblem('unsupported_media_type', 'registerWebhook', await post('a=b', { 'content-type': 'text/plain' }));
    const upload = (body: string, headers: Record<string, string>) =>
      service.request('POST', '/attachments', { body, headers });
    const form = { 'content-type': 'multipart/form-data; boundary=B' };
    expectProblem('invalid_request', 'uploadAttachment', await upload('x', {}));
    expectProblem('invalid_form', 'uploadAttachment', await upload('--B\r\n', form));
    const fields = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'.repeat(41);
    expectProblem('form_too_large', 'uploadAttachment', await upload(`${fields}--B--\r\n`, form));
    const large = ['Content-Disposition: attachment; filename=x', 'Content-Length: 100000001', `X-API-Key: ${KEY}`];
    const head = ['POST /api/v1/attachments HTTP/1.1', 'Host: localhost', ...large];
    expectProblem('upload_too_large', 'uploadAttachment', await raw(head));
    const unknown = { recipient: '+15550100', body: '', attachment_ids: ['none'] };
    expectProblem('upload_not_found', 'sendMessage', await service.post('/messages', unknown));
    expectProblem('invalid_cursor', 'listMessages', await service.get('/messages?cursor=first'));
  });

  test('of something that does not exist', async () => {
    const { row } = await mac.command<{ readonly row: number }>({
      do: 'receive',
      from: '+15550100',
      text: '',
      attachment: { name: 'plan.pdf', bytes: 4096 },
    });
    expectProblem('message_not_found', 'getMessage', await service.get('/messages/999999'));
    expectProblem('attachment_not_found', 'getAttachment', await service.get(`/messages/${row}/attachments/7`));
    const file = `/messages/${row}/attachments/0`;
    await eventually(async () => expect((await service.get(file)).status).toBe(200));
    expectProblem('conversion_unavailable', 'getAttachment', await service.get(`${file}?as=m4a`));
    expectProblem('range_not_satisfiable', 'getAttachment', await service.get(file, { range: 'bytes=9000-' }));
    expectProblem('conversation_not_found', 'getConversation', await service.get('/conversations/nobody'));
    expectProblem(
      'conversation_not_found',
      'listConversationAttachments',
      await service.get('/conversations/nobody/attachments'),
    );
    expectProblem('invalid_cursor', 'listConversations', await service.get('/conversations?cursor=x'));
    expectProblem('person_not_found', 'listPersonMessages', await service.get('/people/nobody/messages'));
    expectProblem('after_unknown', 'listEvents', await service.get('/events?after=999999'));
    expectProblem('webhook_not_found', 'getWebhook', await service.get('/webhooks/none'));
    const silent = await Receiver.start(() => undefined);
    const made = await service.post('/webhooks', { url: silent.url, events: ['message.sent'] });
    const tested = `/webhooks/${(made.json as { id: string }).id}/test`;
    const first = service.post(tested, {});
    await eventually(() => expect(silent.deliveries.length).toBe(1));
    expectProblem('test_in_progress', 'testWebhook', await service.post(tested, {}));
    const repeated = `/webhooks/${(made.json as { id: string }).id}/deliveries/never/resend`;
    await silent.close();
    await first;
    expectProblem('delivery_not_found', 'resendDelivery', await service.post(repeated, {}));
    for (let count = 0; count < 64; count += 1) {
      await service.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] });
    }
    const oneMore = await service.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] });
    expectProblem('too_many_webhooks', 'registerWebhook', oneMore);
  });

  test('of a send, whatever Messages does', async () => {
    await send('once', 'used');
    expectProblem('idempotency_key_reused', 'sendMessage', await send('twice', 'used'));
    const toNobody = await service.post('/messages', { recipient: 'chat78', body: 'hello' });
    expectProblem('unknown_conversation', 'sendMessage', toNobody);
    const toName = await service.post('/messages', { recipient: 'Ana Silva', body: 'hello' });
    expectProblem('recipient_is_name', 'sendMessage', toName);
    const other = { recipient: 'SMS;+;chat123', body: 'hello', service: 'imessage' };
    expectProblem('service_not_possible', 'sendMessage', await service.post('/messages', other));
    for (const [scenario, name] of [
      ['no_such_chat', 'send_failed'],
      ['not_permitted', 'messages_unavailable'],
      ['timed_out', 'send_outcome_unknown'],
    ] as const) {
      await mac.command({ do: 'scenario', name: scenario, times: 9 });
      expectProblem(name, 'sendMessage', await send());
    }
    await mac.command({ do: 'scenario', name: 'none' });
    await service.becomeProcess();
    // Before its first send it checks whether it may control Messages.
    await send('the first');
    await mac.command({ do: 'scenario', name: 'hang', times: 1 });
    const before = mac.calls.length;
    const given = [send('first', 'interrupted').catch(() => undefined)];
    await eventually(() => expect(mac.calls.length).toBeGreaterThan(before));
    expectProblem('send_in_progress', 'sendMessage', await send('first', 'interrupted'));
    for (let count = 0; count < 100; count += 1) given.push(send('waits').catch(() => undefined));
    const more: typeof given = [];
    // An admitted request waits forever, and the answer to another one may come late.
    const full = await waitFor(() => {
      more.push(send('one more').catch(() => undefined));
      return Promise.race([...more, delay(500, undefined)]);
    });
    expectProblem('send_queue_full', 'sendMessage', full);
    await service.kill();
    await Promise.all([...given, ...more]);
    await service.launch();
    expectProblem('send_outcome_unknown', 'sendMessage', await send('first', 'interrupted'));
  });

  test('of a service without Messages, and of one that is asked too often', async () => {
    const other = await Service.here({
      chatDbPath: join(nowhere, 'chat.db'),
      settings: { server: { rate_limit_per_minute: 12 } },
    });
    for (const [id, path] of [
      ['listMessages', '/messages'],
      ['getMessage', '/messages/1'],
      ['getAttachment', '/messages/1/attachments/0'],
      ['listConversations', '/conversations'],
      ['getConversation', '/conversations/x'],
      ['listConversationAttachments', '/conversations/x/attachments'],
      ['listEvents', '/events?after=0'],
    ] as const) {
      expectProblem('chat_db_unavailable', id, await other.get(path));
    }
    const limited = await waitFor(async () => {
      const answer = await other.get('/health');
      return answer.status === 429 ? answer : undefined;
    });
    expectProblem('rate_limited', 'getHealth', limited);
    await other.dispose();
  });

  test('for every code, except those that need a broken connection or a defect of ours', () => {
    const own = ALL_DOCUMENTS.flatMap(({ problems }) => Object.entries(problems));
    const all = [...Object.entries(PROBLEMS), ...own].map(
      ([name, { status, code = name }]: [string, ProblemText]) => `${status} ${code}`,
    );
    expect([...new Set(all)].filter((one) => !provoked.has(one)).sort()).toEqual([...NOT_PROVOKED_HERE].sort());
  });
});
