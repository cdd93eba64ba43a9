import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import type { DeliveryRecord } from '../../src/domain/webhook.ts';
import { SimulatedMac } from '../../src/simulator/mac.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const RED = join(REPOSITORY, 'test/support/node-red/node_modules/node-red/red.js');
const ANA = '+15550100';
const HEADER = 'Bearer of the recipe';

// Folders of a file whose tests are all skipped are not removed.
const root = existsSync(RED) ? temporaryFolder() : '';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Node-RED without its editor, with the flow of the recipe. */
async function startNodeRed(service: Service): Promise<string> {
  const folder = join(root, 'node-red');
  mkdirSync(folder);
  const port = await freePort();
  copyFileSync(join(REPOSITORY, 'docs/recipes/node-red.json'), join(folder, 'flows.json'));
  const settings = { uiHost: '127.0.0.1', uiPort: port, flowFile: 'flows.json', httpAdminRoot: false };
  writeFileSync(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  const child: ChildProcess = spawn(process.execPath, [RED, '--userDir', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, POSTERN_HEADER: HEADER, POSTERN_KEY: KEY },
      POSTERN_URL: service.url.replace('/api/v1', ''),
    },
  });
  closers.push(async () => {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`Node-RED ended with ${child.exitCode}: ${output}`);
    return output.includes('Started flows');
  }, 60_000);
  return `http://127.0.0.1:${port}/postern`;
}

const { run, note } = existsSync(RED)
  ? { run: test, note: '' }
  : { run: test.skip, note: ' (npm ci --prefix test/support/node-red)' };

run(
  `the flow for Node-RED answers a question once, and nobody without the header${note}`,
  async () => {
    const mac = new SimulatedMac({
      dir: join(root, 'mac'),
      moduleFolder: join(REPOSITORY, 'dist/src/simulator/'),
    });
    await mac.start();
    closers.push(() => mac.stop());
    const service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
    closers.push(() => service.dispose());
    const url = await startNodeRed(service);
    const { id } = (
      await service.post('/webhooks', {
        ...{ url, events: ['message.received'], name: 'Node-RED', on_failure: 'hold' },
        headers: { Authorization: HEADER },
        filter: { conversation_ids: [`any;-;${ANA}`] },
      })
    ).json as { id: string };
    for (const text of ['Hello', 'What are your opening hours?']) await mac.command({ do: 'receive', from: ANA, text });
    const sent = async (): Promise<readonly string[]> => {
      const messages = (await service.get('/messages')).json as { body: string; is_from_me: boolean }[];
      return messages.filter(({ is_from_me: isOwn }) => isOwn).map(({ body }) => body);
    };
    await eventually(async () => expect(await sent()).toEqual(['We are open from 9 to 5.']), 20_000);
    const forged = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ data: { body: 'opening hours', conversation_id: `any;-;${ANA}` } }),
    });
    expect(forged.status).toBe(401);
    await service.post(`/webhooks/${id}/replay`, { after: 0 });
    await eventually(async () => {
      const records = (await service.get(`/webhooks/${id}/deliveries`)).json as DeliveryRecord[];
      expect(records.map(({ outcome }) => outcome)).toEqual(Array(4).fill('delivered'));
    });
    // A third question, whose answer comes after whatever the repeats would have sent.
    await mac.command({ do: 'receive', from: ANA, text: 'And the opening hours on Sunday?' });
    await eventually(async () => expect((await sent()).length).toBe(2), 20_000);
  },
  120_000,
);
