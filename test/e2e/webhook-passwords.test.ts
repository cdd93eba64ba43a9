import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Webhook } from '../../src/core/model/webhook.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { AccessFixture, ANA } from '../support/access-fixture.ts';
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

test('a webhook of a limited key sends no Authorization header after the upgrade, and the audit log says so', async () => {
  const { service } = fixture;
  const agent = await fixture.key({ scopes: ['read', 'events', 'webhooks'], read: [ANA] });
  const { id } = (await agent.post('/webhooks', { url: receiver.url, events: ['message.received'] })).json as Webhook;
  await service.stop();
  // Earlier versions took it.
  const state = openSqlite(`${service.configFolder}/state.db`);
  state.prepare('UPDATE webhook SET url = ? WHERE id = ?').run(withUser('admin:s3cret'), id);
  state.close();
  await service.launch();
  const before = receiver.deliveries.length;
  expect((await agent.post(`/webhooks/${id}/test`, {})).json).toMatchObject({ delivered: true });
  expect(receiver.deliveries.slice(before).map(({ headers }) => headers.authorization)).toEqual([undefined]);
  expect(urlsOf((await agent.get('/webhooks')).json)).toEqual([receiver.url]);
  expect(await fixture.audit(`?key_id=${agent.record.id}`)).toContainEqual(
    expect.objectContaining({ action: 'webhook', target: id, outcome: 'user_info_removed' }),
  );
});
