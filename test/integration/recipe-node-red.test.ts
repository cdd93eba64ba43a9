import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { expectOneAnswerEach, HEADER } from '../support/flow-recipe.ts';
import { freePort, KEY, type Service } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const RED = join(REPOSITORY, 'test/support/programs/node_modules/node-red/red.js');

// Folders of a file whose tests are all skipped are not removed.
const root = existsSync(RED) ? temporaryFolder() : '';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Starts Node-RED without its editor, with the recipe's flow. */
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
      ...BARE_ENVIRONMENT,
      HOME: folder,
      POSTERN_HEADER: HEADER,
      POSTERN_KEY: KEY,
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
  });
  return `http://127.0.0.1:${port}/postern`;
}

const run = testIf(existsSync(RED), 'needs npm ci --prefix test/support/programs');

run(
  `the flow for Node-RED answers a question once, and nobody without the header`,
  () => expectOneAnswerEach({ name: 'Node-RED', folder: root, refusal: 401, start: startNodeRed, closers }),
  120_000,
);
