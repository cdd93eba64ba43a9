import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { type ClientTarget, clientCases, HISTORY } from '../support/client-cases.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Service } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const folder = temporaryFolder();

async function openHub(): Promise<ClientTarget> {
  const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
  const chat = database.chat('any;-;+15550100', ['+15550100']);
  const handle = database.handle('+15550100');
  let newestRow = 0;
  // Writes a message with the current time, because a new fleet receives only recent messages.
  const write = (text: string): number => {
    newestRow = database.message({ chat, text, handle_id: handle, date: appleDate(Date.now()) });
    return newestRow;
  };
  for (let n = 0; n < HISTORY; n += 1) write(`history ${n}`);
  const server = await NatsServer.forFleet(['m1']);
  const fleet = { servers: [server.url] };
  const agent = await Service.start({ chatDbPath: database.path, settings: { fleet: { ...fleet, mac: 'm1' } } });
  const service = await Service.start({ chatDbPath: ABSENT, settings: { fleet }, command: 'hub' });
  return {
    service,
    isHub: true,
    write,
    newestRow: () => newestRow,
    id: (own) => `m1~${own}`,
    async dispose() {
      for (const one of [service, agent]) await one.dispose();
      await server.dispose();
      database.close();
    },
  };
}

test('a hub without a fleet says what is missing', () => {
  const config = join(folder, 'empty');
  const hub = () => spawnSync(process.execPath, [MAIN, 'hub', '--config-dir', config], { encoding: 'utf8' });
  const first = hub();
  expect([first.status, first.stdout]).toEqual([0, expect.stringContaining('Add the section [fleet]')]);
  const second = hub();
  expect([second.status, second.stderr]).toEqual([78, expect.stringContaining('fleet.servers is not set')]);
});

describeWithNats('the client, against a hub', () => clientCases(openHub));
