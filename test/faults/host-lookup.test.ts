import { spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import type { Service } from '../support/service.ts';
import { Harness } from './harness.ts';

const DEAD_NAMES = 12;
/** A loopback address that nothing else uses. */
const NAME_SERVER = '127.0.0.153';
const isPossible = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
const run = testIf(isPossible, 'needs the right to replace the name server');

let harness: Harness;
let receiver: Receiver;
let nameServer: Socket;
const asked = new Set<string>();

beforeEach(async () => {
  harness = new Harness();
  // Without a kept connection, each event needs a new lookup.
  receiver = await Receiver.start((response) => void response.writeHead(204, { Connection: 'close' }).end());
  asked.clear();
  // Receives questions and never answers, like a server behind a dead line.
  nameServer = createSocket('udp4').on('message', (question) => {
    const label = /dead\d+/.exec(question.toString('latin1'));
    if (label !== null) asked.add(label[0]);
  });
  // resolv.conf names no port.
  nameServer.bind(53, NAME_SERVER);
  await once(nameServer, 'listening');
});
afterEach(async () => {
  nameServer.close();
  await harness.end();
  await receiver.close();
});

/** Starts a service that knows no other name server. */
async function start(env: Readonly<Record<string, string>>): Promise<Service> {
  const servers = join(harness.folder, 'resolv.conf');
  writeFileSync(servers, `nameserver ${NAME_SERVER}\noptions timeout:5 attempts:2\n`);
  const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  return harness.start({ through: ['unshare', '--mount', 'sh', '-c', script, servers], env });
}

// Enough threads for one lookup more than there are dead names.
const ENOUGH_THREADS = { UV_THREADPOOL_SIZE: String((DEAD_NAMES + 1) * 2) };

run('names that nobody answers for, of many webhooks, hold up no other webhook', () => expectNoneHeldUp(1, {}));

run('names that nobody answers for, that several webhooks share, hold up no other webhook', () =>
  expectNoneHeldUp(2, ENOUGH_THREADS),
);

async function expectNoneHeldUp(webhooks: number, env: Readonly<Record<string, string>>): Promise<void> {
  const service = await start(env);
  const dead = Array.from({ length: DEAD_NAMES * webhooks }, (_, place) => `http://dead${place % DEAD_NAMES}.example/`);
  let id = '';
  for (const url of [...dead, receiver.url.replace('127.0.0.1', 'localhost')]) {
    const answer = await service.post('/webhooks', { url, events: ROW_EVENT_TYPES });
    ({ id } = answer.json as { id: string });
  }

  harness.database.message({ chat: 1, text: 'first', handle_id: 1 });
  await eventually(() => expect(asked.size).toBe(DEAD_NAMES));
  for (let row = 0; row < 5; row += 1) {
    const last = harness.database.message({ chat: 1, text: 'next', handle_id: 1 });
    await waitFor(() => receiver.deliveries.some(({ event }) => event.data.id === String(last)));
  }
  await eventually(async () => {
    const records = (await service.get(`/webhooks/${id}/deliveries`)).json as readonly DeliveryRecord[];
    expect(records.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 1]);
  });
}
