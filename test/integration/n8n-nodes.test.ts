import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { isN8nInstalled, startN8n } from '../support/n8n.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGE = join(REPOSITORY, 'integrations/n8n-nodes-postern');
const IS_READY = isN8nInstalled && existsSync(join(PACKAGE, 'dist/package.json'));
const ANA = '+15550100';

// Folders of a file whose tests are all skipped are not removed.
const root = IS_READY ? temporaryFolder() : '';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** n8n with the nodes of the package, driven through the API of its own editor. */
class N8n {
  readonly #url: string;
  #cookie = '';

  private constructor(url: string) {
    this.#url = url;
  }

  static async start(): Promise<N8n> {
    const port = await startN8n({ root, env: { N8N_CUSTOM_EXTENSIONS: PACKAGE }, closers });
    const n8n = new N8n(`http://localhost:${port}/rest`);
    const owner = { email: 'owner@example.com', firstName: 'A', lastName: 'B', password: 'Of-this-test-1' };
    await n8n.ask('POST', '/owner/setup', owner);
    return n8n;
  }

  async ask(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: { 'content-type': 'application/json', cookie: this.#cookie, 'browser-id': 'test' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    const [cookie] = answer.headers.getSetCookie();
    if (cookie !== undefined) this.#cookie = cookie.split(';')[0] ?? '';
    return (JSON.parse(text) as { readonly data: Record<string, unknown> }).data;
  }
}

/** Returns a workflow that answers each message of the trigger with the action node. */
function workflow(credential: unknown): object {
  const credentials = { posternApi: { id: credential, name: 'Postern' } };
  const node = { typeVersion: 1, position: [0, 0], credentials };
  return {
    name: 'Answers',
    settings: {},
    nodes: [
      { ...node, id: 'a', name: 'In', type: 'CUSTOM.posternTrigger', webhookId: 'b3f6d8a2', parameters: {} },
      {
        ...{ ...node, id: 'b', name: 'Out', type: 'CUSTOM.postern' },
        parameters: { recipient: '={{ $json.data.sender }}', text: '={{ "You wrote: " + $json.data.body }}' },
      },
    ],
    connections: { In: { main: [[{ node: 'Out', type: 'main', index: 0 }]] } },
  };
}

const run = testIf(
  IS_READY,
  'needs n8n in test/support/n8n, see test/README.md, and integrations/n8n-nodes-postern built by n8n-node',
);

run(
  'n8n registers a webhook while its workflow is active, answers once, refuses what is not signed, and takes it away',
  async () => {
    const mac = await simulatedMac();
    closers.push(() => mac.dispose());
    const service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
    closers.push(() => service.dispose());
    const scopes = ['read', 'events', 'send', 'webhooks'];
    const lists = { read: [ANA], send: [ANA], approval: 'never' };
    const { key: apiKey } = (await service.post('/keys', { name: 'n8n', scopes, ...lists })).json as { key: string };
    const webhooks = async () =>
      (await service.get('/webhooks')).json as readonly { readonly id: string; readonly url: string }[];
    const texts = async () =>
      ((await service.get('/messages?limit=50')).json as readonly { readonly body: string }[]).map(({ body }) => body);

    const n8n = await N8n.start();
    const data = { url: `http://127.0.0.1:${service.port}`, apiKey, secret: 'a secret of this test' };
    const { id: credential } = await n8n.ask('POST', '/credentials', { name: 'Postern', type: 'posternApi', data });
    const { id, versionId } = await n8n.ask('POST', '/workflows', workflow(credential));
    await n8n.ask('POST', `/workflows/${String(id)}/activate`, { versionId });
    // n8n may answer before the workflow is active.
    const webhook = await waitFor(async () => (await webhooks())[0]);
    const { json: registered } = await service.get(`/webhooks/${webhook.id}`);
    expect(registered).toMatchObject({ events: ['message.received'], on_failure: 'hold', filter: { max_age_s: 1800 } });

    await mac.command({ do: 'receive', from: ANA, text: 'Kettle?' });
    await eventually(async () => expect(await texts()).toContain('You wrote: Kettle?'));
    const forged = { type: 'message.received', data: { sender: ANA, body: 'forged' } };
    const headers = { 'content-type': 'application/json', 'webhook-id': '1', 'webhook-timestamp': '1' };
    const refused = await fetch(webhook.url, { method: 'POST', headers, body: JSON.stringify(forged) });
    expect(refused.status).toBe(401);

    await n8n.ask('POST', `/workflows/${String(id)}/deactivate`, {});
    await eventually(async () => expect(await webhooks()).toEqual([]));
    expect((await texts()).filter((text) => text?.startsWith('You wrote'))).toEqual(['You wrote: Kettle?']);
  },
  300_000,
);
