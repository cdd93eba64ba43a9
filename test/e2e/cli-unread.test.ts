import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Conversation } from '../../src/core/model/conversation.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { type Ended, postern } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const fixture = new ChatFixture(join(temporaryFolder(), 'Library/Messages/chat.db'));
let service: Service;

beforeAll(async () => {
  const ana = fixture.chat('any;-;+15550100', ['+15550100']);
  fixture.chat('any;-;+15550101', ['+15550101']);
  for (const text of ['One', 'Two\nlines']) {
    fixture.message({ chat: ana, text, handle_id: fixture.handle('+15550100') });
  }
  service = await Service.here({ chatDbPath: fixture.path });
});
afterAll(async () => {
  await service.dispose();
  fixture.close();
});

function unread(...more: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, 'conversations', '--unread', ...more]);
}

test('conversations --unread lists those alone, with how many and the newest text', async () => {
  const { exitCode, stdout } = await unread();
  expect(exitCode).toBe(0);
  expect(stdout.split('\n').slice(0, -1)).toEqual([
    expect.stringMatching(/^LAST MESSAGE +UNREAD +CONVERSATION +NAME +TEXT$/),
    expect.stringMatching(/ 2 +any;-;\+15550100 +Two ⏎ lines$/),
  ]);
  const listed = JSON.parse((await unread('--json')).stdout) as readonly Conversation[];
  expect(listed.map(({ id, details }) => [id, details?.unread_count])).toEqual([['any;-;+15550100', 2]]);
});

test('conversations --unread is empty when everything was read', async () => {
  fixture.sqlite.exec('UPDATE message SET is_read = 1');
  expect(await unread()).toEqual({ exitCode: 0, stdout: '', stderr: 'Nothing is unread.\n' });
});

test('conversations --unread asks a hub for no more than the 1,000 conversations that it lists', async () => {
  const hub = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://hub');
    const limit = Number(searchParams.get('limit'));
    const isBeyond = Number(searchParams.get('offset')) + limit > 1000;
    const rows = Array.from({ length: limit }, () => ({ participants: [], details: { unread_count: 0 } }));
    response
      .writeHead(isBeyond ? 400 : 200, { 'content-type': isBeyond ? 'application/problem+json' : 'application/json' })
      .end(JSON.stringify(isBeyond ? { code: 'invalid_request', status: 400, detail: 'Too far.' } : rows));
  }).listen(0, '127.0.0.1');
  await once(hub, 'listening');
  const url = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  const args = ['conversations', '--unread', '--json', '--url', url];
  const ended = await postern(args, { env: { POSTERN_API_KEY: 'key' } });
  hub.close();
  hub.closeAllConnections();
  expect(ended).toEqual({ exitCode: 0, stdout: '[]\n', stderr: '' });
});
