import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Approval } from '../../src/client/access-types.ts';
import { PosternClient } from '../../src/client/postern-client.ts';
import { AccessFixture, ANA, BEN, GARDEN, type KeyAnswer, MALLORY } from '../support/access-fixture.ts';
import { postern as runPostern } from '../support/postern.ts';
import { KEY } from '../support/service.ts';

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

/** Runs one command against the service; `typed` is its input. */
async function postern(args: readonly string[], input = '') {
  const where = ['--config-dir', fixture.service.configFolder];
  const { exitCode: code, ...printed } = await runPostern([...args, ...where], {
    env: { HOME: fixture.folder },
    input,
  });
  return { code, ...printed };
}

interface McpServers {
  readonly messages: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Record<string, string>;
  };
}

/** Starts a client's MCP server exactly as printed, without a PATH, and returns what whoami says. */
async function whoami({ command, args, env }: McpServers['messages']): Promise<string> {
  const child = spawn(command, args, { env });
  let stdout = '';
  child.stdout.on('data', (chunk) => (stdout += String(chunk)));
  child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}\n');
  await once(child, 'close');
  return stdout;
}

test('a key made on the command line is printed once, with lines that work', async () => {
  const made = await postern(['keys', 'add', 'agent', '--preset', 'assistant', '--read', ANA, '--send', GARDEN]);
  expect(made.code).toBe(0);
  const [key = ''] = made.stdout.split('\n');
  expect(key).toMatch(/^postern_[0-9a-f]{8}_/);
  for (const client of ['Claude Code', 'Claude Desktop', 'Codex', 'OpenClaw', 'curl']) {
    expect(made.stdout).toContain(client);
  }
  // That client would need the scope webhooks.
  expect(made.stdout).not.toContain('Home Assistant');
  const url = /(http\S+\/api\/v1\/keys\/me)/.exec(made.stdout)?.[1] ?? '';
  expect(((await (await fetch(url, { headers: { 'x-api-key': key } })).json()) as KeyAnswer).name).toBe('agent');
  const { mcpServers } = JSON.parse(/^\{\n {2}"mcpServers"[\s\S]*?\n\}$/m.exec(made.stdout)?.[0] ?? '') as {
    mcpServers: McpServers;
  };
  expect(await whoami(mcpServers.messages)).toContain(`May read: ${ANA}.`);
  expect((await postern(['keys', 'list'])).stdout).toContain('agent');
  expect((await postern(['keys'])).stdout).toMatch(/^.*\bagent\b/m);
  const shown = await postern(['keys', 'show', 'agent']);
  expect(shown.stdout).toContain(`may send  ${GARDEN}`);
  expect(shown.stdout).not.toContain(key.slice(17));
});

test('lists are added to and taken from, and a check says what a send would do', async () => {
  await postern(['keys', 'add', 'lists', '--scope', 'send', 'read', '--approval', 'new']);
  const check = async (whom: string) => {
    const { code, stdout } = await postern(['keys', 'check', 'lists', '--send', whom, '--json']);
    return [code, (JSON.parse(stdout) as { send: string }).send];
  };
  expect(await check(ANA)).toEqual([1, 'refused']);
  expect((await postern(['keys', 'allow', 'lists', '--send', ANA, '--read', BEN])).stdout).toContain(
    `may read  ${BEN}`,
  );
  expect(await check(ANA)).toEqual([0, 'held']);
  expect(await check('+1 (555) 01-00')).toEqual([0, 'held']);
  await postern(['keys', 'forbid', 'lists', '--send', ANA]);
  expect(await check(ANA)).toEqual([1, 'refused']);
  await postern(['keys', 'allow', 'lists', '--send', GARDEN]);
  const { sqlite } = fixture.chats;
  const garden = Number(sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(GARDEN)?.[0]);
  fixture.chats.participant(garden, fixture.chats.handle(MALLORY));
  expect((await postern(['keys', 'allow', 'lists', '--send', ANA])).stdout).toContain(`closed    ${GARDEN}`);
  expect((await postern(['keys', 'allow', 'lists', '--send', GARDEN])).stdout).not.toContain('closed');
  expect((await postern(['keys', 'allow', 'lists'])).code).toBe(64);
  const none = await postern(['keys', 'show', 'nobody']);
  expect([none.code, none.stderr]).toEqual([65, expect.stringContaining('There is no key nobody.')]);
  expect((await postern(['keys', 'revoke', 'lists'])).code).toBe(0);
  expect((await postern(['keys', 'show', 'lists'])).code).toBe(65);
});

test('a held send is shown with its invisible characters, and is sent only when somebody types yes', async () => {
  const agent = await fixture.key({ preset: 'assistant', send: [ANA] });
  const text = 'Pay \u202e10\u200b now';
  const { approval } = (await agent.post('/messages', { recipient: ANA, body: text })).json as { approval: Approval };
  const list = await postern(['approvals', 'list']);
  expect((await postern(['approvals'])).stdout).toContain(approval.id);
  expect(list.stdout).toContain('held');
  const no = await postern(['approvals', 'approve', approval.id.slice(0, 8)], 'y\n');
  expect([no.code, no.stderr]).toEqual([1, expect.stringContaining('Nothing was decided.')]);
  expect(no.stderr).toMatch(/^To: \+15550100\n/);
  expect(no.stderr).toContain('Pay ⟨U+202E⟩10⟨U+200B⟩ now');
  expect(fixture.sends()).toEqual([]);
  const yes = await postern(['approvals', 'approve', approval.id], 'yes\n');
  expect([yes.code, yes.stdout]).toEqual([0, expect.stringMatching(/^It is (sent|pending)\.\n$/)]);
  expect(fixture.sends()).toEqual([{ to: ANA, text }]);
  expect((await postern(['approvals', 'approve', approval.id], 'yes\n')).code).toBe(65);
  const audit = await postern(['audit']);
  expect(audit.stdout).toContain('approved');
  expect(audit.stdout).toMatch(/ test +send +asked /);
  expect(audit.stdout).not.toContain('Pay');
});

test('a scheduled send shows when it would go out, and approving it succeeds', async () => {
  const agent = await fixture.key({ preset: 'assistant', send: [ANA] });
  const at = `${new Date().getUTCFullYear() + 1}-03-04T05:06:00Z`;
  const shown = at.slice(0, 16).replace('T', ' ');
  const { approval } = (await agent.post('/messages', { recipient: ANA, body: 'later', send_at: at })).json as {
    approval: Approval;
  };
  const list = await postern(['approvals', 'list']);
  expect(list.stdout).toContain('SEND AT');
  expect(list.stdout).toContain(shown);
  const line = `Sent later: ${shown} (${at})`;
  expect((await postern(['approvals', 'show', approval.id])).stdout).toContain(line);
  const yes = await postern(['approvals', 'approve', approval.id], 'yes\n');
  expect(yes.stderr).toContain(line);
  expect(yes.code).toBe(0);
  expect(yes.stdout.match(/It is scheduled/g)).toHaveLength(1);
  expect(yes.stdout).toContain(`It is scheduled for ${shown} (${at})`);
});

test('the log still names a revoked key, and revoking says which of its sends are cancelled', async () => {
  await postern(['keys', 'add', 'courier', '--scope', 'send', '--send', ANA, '--approval', 'never']);
  const { keys } = new PosternClient({ socketPath: fixture.service.socketPath, key: KEY });
  const { id } = (await keys.list()).find(({ name }) => name === 'courier') ?? { id: '' };
  const { key } = await keys.rotate(id);
  const send = (more: object) => fixture.service.post('/messages', { recipient: ANA, ...more }, { 'x-api-key': key });
  const at = new Date(Date.now() + 3_600_000).toISOString();
  for (const body of ['one', 'two']) expect((await send({ body, send_at: at })).status).toBe(202);
  await keys.change(id, { approval: 'always' });
  expect((await send({ body: 'three' })).status).toBe(202);
  const { stdout } = await postern(['keys', 'revoke', 'courier']);
  expect(stdout).toContain('Scheduled messages cancelled: 2.');
  expect(stdout).toContain('Messages that were waiting for your approval and will not be sent: 1.');
  const audit = await postern(['audit']);
  expect(audit.stdout).toMatch(/courier \(revoked\) +send +asked/);
  expect(audit.stdout).toMatch(/key +revoked +courier \(revoked\)/);
  expect(audit.stdout).not.toContain(id);
  expect((await postern(['approvals', 'list', '--all'])).stdout).toContain('courier (revoked)');
});

test('what was denied is not sent', async () => {
  const agent = await fixture.key({ preset: 'assistant', send: [MALLORY] });
  const { approval } = (await agent.post('/messages', { recipient: MALLORY, body: 'no' })).json as {
    approval: Approval;
  };
  const before = fixture.sends().length;
  expect((await postern(['approvals', 'deny', approval.id])).code).toBe(0);
  expect((await agent.get(`/approvals/${approval.id}?wait=50`)).json).toMatchObject({ state: 'denied', text: null });
  expect(fixture.sends().length).toBe(before);
});
