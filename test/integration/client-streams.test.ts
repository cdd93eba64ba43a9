import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const database = new ChatFixture(join(temporaryFolder(), 'Library/Messages/chat.db'));
const chat = database.chat('any;-;+15550100', ['+15550100']);
const handle = database.handle('+15550100');
let service: Service;
let client: PosternClient;

beforeAll(async () => {
  write('history');
  service = await Service.start({ chatDbPath: database.path });
  client = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: KEY });
});
afterAll(async () => {
  await service.dispose();
  database.close();
});

function write(text: string): number {
  return database.message({ chat, text, handle_id: handle });
}

test('the client waits for an event, longer than for other answers', async () => {
  const { row_id: last } = (await client.status()).newest_event;
  const waiting = client.events(last, 100, { wait: 50 });
  const row = write('waited for');
  expect((await waiting).map(({ data }) => data.id)).toEqual([String(row)]);
});

test('the client streams events over plain HTTP without gap or repeat, also while the service was down', async () => {
  const { row_id: last } = (await client.status()).newest_event;
  const stop = new AbortController();
  const rows: number[] = [];
  const ended = (async () => {
    const events = client.listen({ over: 'http', after: last, signal: stop.signal });
    for await (const { data } of events) rows.push(Number(data.id));
  })();
  const first = write('streamed');
  await eventually(() => expect(rows).toEqual([first]));
  await service.stop('SIGKILL');
  const missed = write('while it was away');
  await service.launch();
  await eventually(() => expect(rows).toEqual([first, missed]));
  stop.abort();
  await ended;
});

test('the client is told at once that its key is wrong', async () => {
  const wrong = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: 'wrong' });
  await expect(wrong.listen({ over: 'http', after: 0 }).next()).rejects.toMatchObject({ status: 401 });
});
