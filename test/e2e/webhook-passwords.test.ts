import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Webhook } from '../../src/core/model/webhook.ts';
import { AccessFixture } from '../support/access-fixture.ts';
import { postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';

const BASIC = `Basic ${Buffer.from('admin:s3cret').toString('base64')}`;

let fixture: AccessFixture;
let receiver: Receiver;
beforeAll(async () => {
  fixture = await AccessFixture.start();
  receiver = await Receiver.start();
});
afterAll(async () => {
  await receiver.close();
  await fixture.dispose();
});

const withUser = (user: string): string => receiver.url.replace('http://', `http://${user}@`);
const urlsOf = (json: unknown): readonly string[] => (json as readonly Webhook[]).map(({ url }) => url);

test('the password in the address of a webhook is shown by GET /webhooks alone, and stays when it is given as shown', async () => {
  const { service } = fixture;
  const [url, shown] = [withUser('admin:s3cret'), withUser('admin:***')];
  const added = await service.post('/webhooks', { url, events: ['message.received'] });
  const { id } = added.json as Webhook;
  expect((added.json as Webhook).url).toBe(shown);
  expect(urlsOf((await service.get('/webhooks')).json)).toEqual([url]);
  const changed = await service.request('PATCH', `/webhooks/${id}`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: shown, name: 'kitchen' }),
  });
  expect(changed.json).toMatchObject({ url: shown, name: 'kitchen' });
  expect((await service.post(`/webhooks/${id}/test`, {})).json).toMatchObject({ delivered: true });
  expect(receiver.deliveries.map(({ headers }) => headers.authorization)).toEqual([BASIC]);
  const replayed = await service.post(`/webhooks/${id}/replay`, { after: 'latest' });
  const said = [replayed.text, changed.text, service.output];
  for (const path of [`/webhooks/${id}`, `/webhooks/${id}/deliveries`, '/status', '/audit', '/menu']) {
    said.push((await service.get(path)).text);
  }
  for (const words of [
    ['webhooks', 'list'],
    ['webhooks', 'list', '--json'],
    ['webhooks', 'show', id],
    ['webhooks', 'show', id, '--json'],
    ['complete', '--', '--config-dir', service.configFolder, 'webhooks', 'show', ''],
  ]) {
    const { stdout, stderr } = await postern(
      words[0] === 'complete' ? words : ['--config-dir', service.configFolder, ...words],
    );
    expect([words, stdout.includes(id.slice(0, 8))]).toEqual([words, true]);
    said.push(stdout, stderr);
  }
  expect(said.filter((text) => text.includes('s3cret'))).toEqual([]);
  expect((await service.request('DELETE', `/webhooks/${id}`)).status).toBe(204);
});
