import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import type { DeliveryRecord } from '../../src/domain/webhook.ts';
import { SimulatedMac } from '../../src/simulator/mac.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const N8N = join(REPOSITORY, 'test/support/n8n/node_modules/n8n/bin/n8n');
const ANA = '+15550100';
const HEADER = 'Bearer of the recipe';

// Folders of a file whose tests are all skipped are not removed.
const root = existsSync(N8N) ? temporaryFolder() : '';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Workflow {
  readonly id: string;
  readonly nodes: { readonly name: string; readonly parameters: { url?: string }; credentials?: object }[];
}

/** The workflow of the recipe with what its page says is one's own to add. */
function completed(service: Service): Workflow {
  const workflow = JSON.parse(readFileSync(join(REPOSITORY, 'docs/recipes/n8n.json'), 'utf8')) as Workflow;
  for (const node of workflow.nodes) {
    const id = node.name === 'Webhook' ? 'incoming' : 'outgoing';
    if (node.name !== 'A question') node.credentials = { httpHeaderAuth: { id, name: id } };
    if (node.name === 'Answer') node.parameters.url = `${service.url}/messages`;
  }
  return workflow;
}

async function startN8n(service: Service): Promise<string> {
  const folder = join(root, 'n8n');
  mkdirSync(folder);
  const port = await freePort();
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, N8N_USER_FOLDER: folder, N8N_ENCRYPTION_KEY: 'of this test alone' },
    ...{ N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port), N8N_RUNNERS_BROKER_PORT: String(await freePort()) },
    ...{ N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false' },
    ...{ N8N_PERSONALIZATION_ENABLED: 'false', N8N_HIRING_BANNER_ENABLED: 'false' },
  };
  const workflow = completed(service);
  const credentials = [
    { id: 'incoming', name: 'incoming', type: 'httpHeaderAuth', data: { name: 'Authorization', value: HEADER } },
    { id: 'outgoing', name: 'outgoing', type: 'httpHeaderAuth', data: { name: 'X-API-Key', value: KEY } },
  ];
  writeFileSync(join(folder, 'credentials.json'), JSON.stringify(credentials));
  writeFileSync(join(folder, 'workflow.json'), JSON.stringify([workflow]));
  for (const args of [
    ['import:credentials', '--input=credentials.json'],
    ['import:workflow', '--input=workflow.json'],
    ['publish:workflow', `--id=${workflow.id}`],
  ]) {
    execFileSync(process.execPath, [N8N, ...args], { cwd: folder, env, stdio: 'pipe' });
  }
  const child: ChildProcess = spawn(process.execPath, [N8N, 'start'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  closers.push(async () => {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`n8n ended with ${child.exitCode}: ${output}`);
    return output.includes('Editor is now accessible');
  }, 120_000);
  return `http://127.0.0.1:${port}/webhook/messages`;
}

const { run, note } = existsSync(N8N)
  ? { run: test, note: '' }
  : { run: test.skip, note: ' (npm install --prefix test/support/n8n)' };

run(
  `the workflow for n8n answers a question once, and nobody without the header${note}`,
  async () => {
    const mac = new SimulatedMac({ dir: join(root, 'mac'), moduleFolder: join(REPOSITORY, 'dist/src/simulator/') });
    await mac.start();
    closers.push(() => mac.stop());
    const service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
    closers.push(() => service.dispose());
    const url = await startN8n(service);
    const { id } = (
      await service.post('/webhooks', {
        ...{ url, events: ['message.received'], name: 'n8n', on_failure: 'hold' },
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
    expect(forged.status).toBe(403);
    await service.post(`/webhooks/${id}/replay`, { after: 0 });
    await eventually(async () => {
      const records = (await service.get(`/webhooks/${id}/deliveries`)).json as DeliveryRecord[];
      expect(records.map(({ outcome }) => outcome)).toEqual(Array(4).fill('delivered'));
    });
    // A third question, whose answer comes after whatever the repeats would have sent.
    await mac.command({ do: 'receive', from: ANA, text: 'And the opening hours on Sunday?' });
    await eventually(async () => expect((await sent()).length).toBe(2), 20_000);
  },
  300_000,
);
