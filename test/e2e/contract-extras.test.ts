import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { conversationSchema } from '../../src/core/http/conversations/answers.ts';
import { eventSchema } from '../../src/core/http/events/answers.ts';
import { examples } from '../../src/core/http/openapi/examples.ts';
import { problemSchema } from '../../src/core/http/openapi/problem-schema.ts';
import { healthSchema, permissionsSchema, statusSchema } from '../../src/core/http/status/answers.ts';
import {
  deliverySchema,
  webhookSchema,
  webhookStatusSchema,
  webhookTestSchema,
} from '../../src/core/http/webhooks/answers.ts';
import { messageSchema } from '../../src/core/schema/message-schema.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { diagnosticsSchema } from '../../src/features/doctor/schema.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';

const home = mkdtempSync(join(tmpdir(), 'postern-contract-'));
const database = new ChatFixture(join(home, 'Library/Messages/chat.db'));
const chat = database.chat('any;-;+15550100', ['+15550100']);
const from = { handle_id: database.handle('+15550100') };
database.message({ chat, text: 'history', ...from });
let service: Service;
let receiver: Receiver;
let id: string;

beforeAll(async () => {
  service = await Service.here({ chatDbPath: database.path });
  receiver = await Receiver.start();
  const answer = await service.post('/webhooks', { url: `${receiver.url}?token=quiet`, events: ['message.received'] });
  id = (answer.json as { id: string }).id;
});
afterAll(async () => {
  await service.dispose();
  await receiver.close();
  database.close();
  rmSync(home, { recursive: true, force: true });
});

/** Returns the value if it has exactly this shape: a strict schema refuses undocumented members. */
function shaped<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const strict = schema instanceof z.ZodObject ? (schema.strict() as unknown as Schema) : schema;
  return strict.parse(value);
}

test.each([
  ['health', healthSchema, examples.health],
  ['message', messageSchema, examples.received],
  ['provisional message', messageSchema, examples.provisional],
  ['conversation', conversationSchema, examples.conversation],
  ['event', eventSchema, examples.event],
  ['webhook', webhookSchema, examples.webhook],
  ['webhook status', webhookStatusSchema, examples.webhookStatus],
  ['webhook test', webhookTestSchema, examples.webhookTest],
  ['delivery', deliverySchema, examples.delivery],
  ['permissions', permissionsSchema, examples.permissions],
  ['diagnostics', diagnosticsSchema, diagnosticsExample],
  ['status', statusSchema, examples.status],
] as const)('the documented example of a %s has its shape', (_name, schema, example) => {
  expect(() => shaped(schema as z.ZodType, example)).not.toThrow();
});

test('real answers have the documented shapes', async () => {
  shaped(healthSchema, (await service.get('/health')).json);
  for (const message of (await service.get('/messages')).json as unknown[]) shaped(messageSchema, message);
  for (const one of (await service.get('/conversations')).json as unknown[]) shaped(conversationSchema, one);
  for (const event of (await service.get('/events?after=0')).json as unknown[]) shaped(eventSchema, event);
  shaped(problemSchema, (await service.get('/nothing')).json);
});

test('diagnostics say how rows came in, and nothing that was written', async () => {
  const asked = service.request('POST', '/diagnostics?seconds=1');
  const row = database.message({ chat, text: 'a secret from +15550100', ...from });
  const found = shaped(diagnosticsSchema, (await asked).json);
  expect(found.accounts).toEqual({ error: 'not_asked' });
  expect(found.live_chats).toEqual({ error: 'not_asked' });
  expect(found.stored_prefixes).toEqual({ 'any;-;': expect.any(Number) });
  expect(found.changes?.rows.filter(({ row_id }) => row_id !== row)).toEqual([]);
  expect(JSON.stringify(found)).not.toContain('secret');
});

describe('GET /events', () => {
  test('gives the same envelopes as everywhere, in row id order, page by page', async () => {
    const rows = [1, 2, 3].map((number) => database.message({ chat, text: `event ${number}`, ...from }));
    await eventually(async () =>
      expect(((await service.get(`/events?after=${(rows[2] ?? 0) - 1}`)).json as unknown[]).length).toBe(1),
    );
    const ids = async (query: string): Promise<string[]> =>
      ((await service.get(`/events?${query}`)).json as { data: { id: string } }[]).map(({ data }) => data.id);
    expect(await ids(`after=${(rows[0] ?? 0) - 1}`)).toEqual(rows.map(String));
    expect(await ids(`after=${(rows[0] ?? 0) - 1}&limit=2`)).toEqual(rows.slice(0, 2).map(String));
    expect(await ids(`after=${rows[2]}`)).toEqual([]);
  });

  test.each([
    ['', 400],
    ['after=', 400],
    ['after=-1', 400],
    ['after=1.5', 400],
    ['after=0&limit=0', 400],
    ['after=999999', 410],
    [`after=${'9'.repeat(30)}`, 410],
  ])('refuses "%s"', async (query, status) => {
    expect((await service.get(`/events?${query}`)).status).toBe(status);
  });
});

describe('a webhook', () => {
  test('says how it is doing and how far it is', async () => {
    const row = database.message({ chat, text: 'to the webhook', ...from });
    await waitFor(() => receiver.deliveries.find(({ event }) => event.data.id === String(row)));
    const status = await waitFor(async () => {
      const answer = shaped(webhookStatusSchema, (await service.get(`/webhooks/${id}`)).json);
      return answer.row_id === row ? answer : undefined;
    });
    expect(status).toMatchObject({ state: 'healthy', consecutive_failures: 0, behind: 0 });
  });

  test('keeps records without bodies, newest first', async () => {
    const row = database.message({ chat, text: 'a secret text', ...from });
    const records = await waitFor(async () => {
      const { text, json } = await service.get(`/webhooks/${id}/deliveries`);
      expect(text).not.toContain('a secret text');
      const found = (json as unknown[]).map((record) => shaped(deliverySchema, record));
      return found[0]?.row_id === row ? found : undefined;
    });
    expect(records[0]).toMatchObject({ event: 'message.received', outcome: 'delivered', attempts: 1, status: 204 });
  });

  test('can be tested, and the response has the answer of the receiver', async () => {
    receiver.answerWith((response) => void response.writeHead(202).end('thanks'));
    const result = shaped(webhookTestSchema, (await service.request('POST', `/webhooks/${id}/test`)).json);
    expect(result).toMatchObject({ delivered: true, status: 202, answer: 'thanks' });
    expect(receiver.deliveries.at(-1)?.event.type).toBe('webhook.test');
  });

  test('delivers again from a row id, under the same delivery ids', async () => {
    const before = receiver.deliveries.filter(({ event }) => event.type === 'message.received');
    const answer = await service.post(`/webhooks/${id}/replay`, { after: 1 });
    expect(answer.status).toBe(202);
    const wanted = before.map(({ headers }) => headers['x-webhook-delivery']);
    await waitFor(() => {
      const ids = receiver.deliveries.slice(before.length).map(({ headers }) => headers['x-webhook-delivery']);
      return wanted.every((one) => ids.includes(one));
    });
    for (const after of [999_999, -1, 1.5, 'x', undefined]) {
      expect((await service.post(`/webhooks/${id}/replay`, { after })).status).toBe(400);
    }
  });

  test('that does not exist is 404 everywhere', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
      ['DELETE', ''],
    ] as const) {
      expect((await service.request(method, `/webhooks/nobody${path}`)).status).toBe(404);
    }
    expect((await service.post('/webhooks/nobody/replay', { after: 0 })).status).toBe(404);
  });
});

describe('GET /status', () => {
  test('is the agent’s account of itself; of a webhook it shows the origin alone', async () => {
    const answer = await service.get('/status');
    const status = shaped(statusSchema, answer.json);
    expect(status).toMatchObject({ backend: { connected: true, message: null }, permissions: [] });
    expect(status.newest_event.row_id).toBe(status.newest_row);
    expect(status.webhooks).toHaveLength(1);
    expect(answer.text).not.toContain('quiet');
    expect(status.capabilities).toMatchObject({
      send: { available: true },
      format: { available: true },
      react: { available: false, reason: 'not_scriptable' },
      search: { available: false, reason: 'switched_off' },
      read_junk_filter: { available: false, reason: 'macos_too_old' },
    });
  });

  test.each(['swiftbar', 'xbar'])('is ready menu text for %s', async (host) => {
    const answer = await service.get(`/status?as=${host}`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(answer.text).toMatch(/^Running, version /m);
  });

  test('as anything else is 400', async () => {
    expect((await service.get('/status?as=toast')).status).toBe(400);
  });

  test('the permissions are asked again in the agent’s own name', async () => {
    const { permissions } = shaped(permissionsSchema, (await service.request('POST', '/permissions/check')).json);
    expect(permissions.map(({ name }) => name)).toEqual(['full_disk_access', 'automation']);
    expect(shaped(statusSchema, (await service.get('/status')).json).permissions).toEqual(permissions);
  });
});
