import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Message, PosternClient, type PosternError } from '../../src/client/postern-client.ts';
import { exitCodeOf } from '../../src/core/cli/exit-codes.ts';
import { mayHaveSent } from '../../src/core/cli/failed-send.ts';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let mac: SimulatedMac;
let service: Service;
let client: PosternClient;
const servers: Server[] = [];
beforeAll(async () => {
  mac = new SimulatedMac({
    dir: join(root, 'mac'),
    moduleFolder: fileURLToPath(new URL('../../dist/src/features/simulator/', import.meta.url)),
  });
  await mac.start();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  client = new PosternClient({ socketPath: service.socketPath, key: KEY });
});
afterAll(async () => {
  await service.dispose();
  await mac.stop();
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function failure(call: Promise<unknown>): Promise<PosternError> {
  return call.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: PosternError) => error,
  );
}

async function listening(server: Server): Promise<string> {
  const path = join(mkdtempSync(join(root, 's-')), 'p.sock');
  servers.push(server.listen(path));
  await once(server, 'listening');
  return path;
}

describe('the typed client over the Unix socket', () => {
  test('reads, pages, sends, and deletes', async () => {
    const sent = (await client.send({ recipient: '+15550100', body: 'Grüße 👋', idempotencyKey: 'once' })) as Message;
    // Messages may have changed its status since.
    expect({ ...(await client.message(sent.id)), status: sent.status }).toEqual(sent);
    await client.send({ recipient: '+15550100', body: 'two' });
    const all: string[] = [];
    for await (const { body } of client.allMessages({ limit: 1, order: 'asc' })) all.push(body);
    expect(all).toEqual(['Grüße 👋', 'two']);
    const webhook = await client.addWebhook({ url: 'http://127.0.0.1:9/', events: ['message.sent'] });
    await client.removeWebhook(webhook.id);
    expect(await client.webhooks()).toEqual([]);
  });

  test('says that nothing was sent if the idempotency key is no header', async () => {
    for (const idempotencyKey of ['a\nb', 'a\0', '', 'ключ', 'x'.repeat(256)]) {
      const error = await failure(client.send({ recipient: '+15550100', body: 'never', idempotencyKey }));
      const { code } = error;
      expect([code, mayHaveSent(error), exitCodeOf(error)]).toEqual(['invalid_request', false, 65]);
    }
  });

  test('listens, and continues without a gap when the service was killed', async () => {
    await service.becomeProcess();
    const ended = new AbortController();
    const reasons: string[] = [];
    const events = client.listen({ after: 0, signal: ended.signal, onReconnect: (reason) => reasons.push(reason) });
    const next = async (): Promise<string | undefined> => (await events.next()).value?.data.id;
    const first = await next();
    await service.kill();
    await service.launch();
    const { id } = (await client.send({ recipient: '+15550100', body: 'after the restart' })) as Message;
    const seen = [first];
    while (seen.at(-1) !== id) seen.push(await next());
    expect(seen).toEqual(Array.from({ length: Number(id) }, (_, index) => String(index + 1)));
    expect(reasons.length).toBeGreaterThan(0);
    ended.abort();
    await events.return(undefined);
  });

  test('says which socket does not answer, is not Postern, or refuses the key', async () => {
    const nowhere = join(root, 'nowhere.sock');
    expect(await failure(new PosternClient({ socketPath: nowhere, key: KEY }).status())).toMatchObject({
      code: 'unreachable',
      message: `Postern does not answer at ${nowhere} (ENOENT).`,
    });
    const other = await listening(createServer((_, response) => response.end('<html>')));
    expect(await failure(new PosternClient({ socketPath: other, key: KEY }).status())).toMatchObject({
      code: 'not_postern',
      message: `The program that answers at ${other} is not Postern.`,
    });
    const wrong = new PosternClient({ socketPath: service.socketPath, key: 'wrong' });
    expect(await failure(wrong.status())).toMatchObject({ status: 401 });
    expect(await failure(wrong.listen({ after: 0 }).next())).toMatchObject({ status: 401 });
  });

  test('ends an answer that takes longer than timeoutMs, but never a send', async () => {
    const path = await listening(
      createServer((request, response) => {
        if (request.method === 'POST') response.writeHead(200).end('{"guid": "G"}');
      }),
    );
    const hasty = new PosternClient({ socketPath: path, key: KEY, timeoutMs: 1 });
    expect(await failure(hasty.status())).toMatchObject({ code: 'connection_lost' });
    expect(await hasty.send({ recipient: 'a', body: 'b' })).toEqual({ guid: 'G' });
    const breaks = await listening(
      createServer((_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        response.destroy();
      }),
    );
    expect(await failure(new PosternClient({ socketPath: breaks, key: KEY }).status())).toMatchObject({
      code: 'connection_lost',
    });
  });

  test('takes a URL or a socket, not both', () => {
    expect(() => new PosternClient({ url: 'http://127.0.0.1:1', socketPath: '/x', key: KEY })).toThrow('not both');
  });
});
