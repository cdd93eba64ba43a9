import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const path = join(temporaryFolder(), 'Library/Messages/chat.db');
const database = new ChatFixture(path);
let service: Service;
let receiver: Receiver;
beforeAll(async () => {
  database.chat('any;-;+15550100', ['+15550100']);
  receiver = await Receiver.start();
  service = await Service.here({ chatDbPath: path });
});
afterEach(() => receiver.answerWith((response) => void response.writeHead(204).end()));
afterAll(async () => {
  await service.dispose();
  await receiver.close();
  database.close();
});

const register = (url: string) => service.post('/webhooks', { url, events: ['message.received'] });

/** Restarts the service with these `webhooks.allowed_hosts`. */
async function allow(...hosts: string[]): Promise<void> {
  await service.stop();
  service.configure({ webhooks: { allowed_hosts: hosts } });
  await service.launch();
}

describe('hosts that webhooks may post to', () => {
  test('are all where none is listed', async () => {
    const answer = await register(receiver.url);
    expect(answer.status).toBe(201);
    await service.request('DELETE', `/webhooks/${(answer.json as { id: string }).id}`);
  });

  test('are those listed, whatever the spelling of the url', async () => {
    await allow('hooks.example.net', '*.example.org', '10.0.0.2', 'fd00::1');
    for (const url of [
      'http://hooks.example.net/a',
      'https://HOOKS.example.net.:8443/a?b',
      'http://a.b.example.org',
      'http://10.0.0.2:8080/',
      'http://0x0a000002/',
      'http://[FD00:0::1]/',
    ]) {
      expect([url, (await register(url)).status]).toEqual([url, 201]);
    }
    for (const url of [
      'http://example.org/',
      'http://notexample.org/',
      'http://hooks.example.net.evil.example/',
      'http://hooks.example.net@evil.example/',
      'http://10.0.0.3/',
      'http://127.0.0.1/',
      'http://[::ffff:10.0.0.2]/',
    ]) {
      const answer = await register(url);
      expect([url, answer.status]).toEqual([url, 400]);
      expect(answer.json).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '/url', message: expect.stringContaining('webhooks.allowed_hosts') }],
      });
    }
  });

  test('hold for webhooks that were registered before: their events are dropped, with the reason', async () => {
    await allow();
    const { id } = (await register(receiver.url)).json as { id: string };
    await allow('hooks.example.net');
    const tested = await service.post(`/webhooks/${id}/test`, {});
    expect(tested.json).toMatchObject({ delivered: false, error: expect.stringContaining('127.0.0.1') });
    database.message({ chat: 1, text: 'an event', handle_id: database.handle('+15550100') });
    await waitFor(async () => {
      const deliveries = (await service.get(`/webhooks/${id}/deliveries`)).json;
      expect(deliveries).toMatchObject([{ outcome: 'dropped', attempts: 0, event: 'message.received' }, {}]);
      return true;
    });
    expect(receiver.deliveries).toEqual([]);
    await allow();
  });
});

test('a second test of one webhook at a time is refused, and another webhook is tested meanwhile', async () => {
  const held: (() => void)[] = [];
  receiver.answerWith((response) => {
    held.push(() => void response.writeHead(204).end());
  });
  const other = await Receiver.start();
  const { id } = (await register(receiver.url)).json as { id: string };
  const { id: otherId } = (await register(other.url)).json as { id: string };
  const first = service.post(`/webhooks/${id}/test`, {});
  await eventually(() => expect(held.length).toBe(1));
  const second = await service.post(`/webhooks/${id}/test`, {});
  expect(second).toMatchObject({ status: 409, json: { code: 'test_in_progress' } });
  expect((await service.post(`/webhooks/${otherId}/test`, {})).json).toMatchObject({ delivered: true });
  held[0]?.();
  expect((await first).json).toMatchObject({ delivered: true });
  const third = service.post(`/webhooks/${id}/test`, {});
  await eventually(() => expect(held.length).toBe(2));
  held[1]?.();
  expect((await third).status).toBe(200);
  await other.close();
});
