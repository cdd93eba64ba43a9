import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { expectOneAnswerEach, HEADER } from '../support/flow-recipe.ts';
import { freePort, KEY, type Service } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const N8N = join(REPOSITORY, 'test/support/n8n/node_modules/n8n/bin/n8n');

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
    ...BARE_ENVIRONMENT,
    HOME: folder,
    N8N_USER_FOLDER: folder,
    N8N_ENCRYPTION_KEY: 'of this test alone',
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
  });
  return `http://127.0.0.1:${port}/webhook/messages`;
}

const run = testIf(existsSync(N8N), 'needs npm install --prefix test/support/n8n');

run(
  `the workflow for n8n answers a question once, and nobody without the header`,
  () => expectOneAnswerEach({ name: 'n8n', folder: root, refusal: 403, start: startN8n, closers }),
  300_000,
);
