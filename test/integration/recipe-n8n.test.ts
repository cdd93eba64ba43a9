import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { expectOneAnswerEach, HEADER } from '../support/flow-recipe.ts';
import { isN8nInstalled, startN8n } from '../support/n8n.ts';
import { KEY, type Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

// Folders of a file whose tests are all skipped are not removed.
const root = isN8nInstalled ? temporaryFolder() : '';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Workflow {
  readonly id: string;
  readonly nodes: { readonly name: string; readonly parameters: { url?: string }; credentials?: object }[];
}

/** Returns the recipe's workflow, completed as its page says. */
function completed(service: Service): Workflow {
  const workflow = JSON.parse(readFileSync(join(REPOSITORY, 'docs/recipes/n8n.json'), 'utf8')) as Workflow;
  for (const node of workflow.nodes) {
    const id = node.name === 'Webhook' ? 'incoming' : 'outgoing';
    if (node.name !== 'A question') node.credentials = { httpHeaderAuth: { id, name: id } };
    if (node.name === 'Answer') node.parameters.url = `${service.url}/messages`;
  }
  return workflow;
}

async function start(service: Service): Promise<string> {
  const workflow = completed(service);
  const credentials = [
    { id: 'incoming', name: 'incoming', type: 'httpHeaderAuth', data: { name: 'Authorization', value: HEADER } },
    { id: 'outgoing', name: 'outgoing', type: 'httpHeaderAuth', data: { name: 'X-API-Key', value: KEY } },
  ];
  const port = await startN8n({
    root,
    closers,
    prepare(folder, run) {
      writeFileSync(join(folder, 'credentials.json'), JSON.stringify(credentials));
      writeFileSync(join(folder, 'workflow.json'), JSON.stringify([workflow]));
      run('import:credentials', '--input=credentials.json');
      run('import:workflow', '--input=workflow.json');
      run('publish:workflow', `--id=${workflow.id}`);
    },
  });
  return `http://127.0.0.1:${port}/webhook/messages`;
}

const run = testIf(isN8nInstalled, 'needs n8n in test/support/n8n, see test/README.md');

run(
  `the workflow for n8n answers a question once, and nobody without the header`,
  () => expectOneAnswerEach({ name: 'n8n', folder: root, refusal: 403, start, closers }),
  300_000,
);
