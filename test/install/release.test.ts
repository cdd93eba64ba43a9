import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { node22 } from '../support/node-22.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const TARBALL = join(ROOT, `release/postern-${version}.tgz`);
const MAX_BYTES = 6 * 2 ** 20;
const MAX_FILES = 320;

const root = temporaryFolder();
const prefix = join(root, 'prefix');
const postern = join(prefix, 'lib/node_modules/postern/project/dist/main.js');

beforeAll(() => {
  run(process.execPath, [join(ROOT, 'installer/packages/release.mjs')]);
  // Installs from the file alone, without registry or cache.
  run('npm', ['install', '--global', '--prefix', prefix, '--offline', '--cache', join(root, 'cache'), TARBALL]);
});

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: root });
  if (status !== 0) throw new Error(stderr);
}

test('the release is small', () => {
  expect(statSync(TARBALL).size).toBeLessThan(MAX_BYTES);
});

test('it puts postern on the path, and its manual page where man looks', () => {
  const { stdout } = spawnSync(join(prefix, 'bin/postern'), ['--version'], { encoding: 'utf8' });
  expect(stdout).toBe(`${version}\n`);
  expect(readFileSync(join(prefix, 'share/man/man1/postern.1'), 'utf8')).toContain('.TH POSTERN 1');
});

/** Returns the status of the answer to a request with this Host. */
async function named(url: string, host: string): Promise<number | undefined> {
  const [answer] = (await once(get(url, { headers: { host } }), 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

/** Runtimes whose SQLite the release can use; Node 20 has none. */
const runtimes = [...new Set([process.execPath, node22])]
  .filter((node) => node !== undefined)
  .map((node) => ({
    node,
    version: spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim(),
  }))
  .map((runtime) => ({ ...runtime, hasSqlite: !/^(?:20|21)\./.test(runtime.version) }));

test('it has few files, and no program of any system', () => {
  const { stdout } = spawnSync('tar', ['-tzf', TARBALL], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const files = stdout.split('\n');
  expect(files).toContain('package/project/dist/main.js');
  // npx unpacks the files two or three times at each command.
  expect(files.filter((file) => /[^/]$/.test(file)).length).toBeLessThan(MAX_FILES);
  expect(files.filter((file) => /\.(?:node|dylib|so|dll|exe)$|node_modules\/better-sqlite3/.test(file))).toEqual([]);
});

test('it has every script of the console, and the simulated osascript', () => {
  const { stdout } = spawnSync('tar', ['-tzf', TARBALL], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const scripts = readdirSync(join(ROOT, 'dist/src/features/console/static'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => `console/static/${name}`);
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining(
      [...scripts, 'simulator/osascript.js'].map((name) => `package/project/dist/src/features/${name}`),
    ),
  );
});

test.each(runtimes)('its typed client works on Node $version', ({ node }) => {
  const program = `import { PosternClient } from 'postern/client';
    const client = new PosternClient({ url: 'http://127.0.0.1:9', key: 'k' });
    const error = await client.health().catch((reason) => reason);
    console.log(error.code);`;
  const { stdout, stderr } = spawnSync(node, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    cwd: join(prefix, 'lib'),
  });
  expect([stdout, stderr]).toEqual(['unreachable\n', '']);
});

test('listen of its typed client needs no package ws', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.end('{"type": "message.received", "data": {"id": "7"}}\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const program = `import { PosternClient } from 'postern/client';
    const client = new PosternClient({ url: '${url}', key: 'k' });
    for await (const event of client.listen({ after: 6 })) { console.log(event.data.id); break; }
    const refused = client.listen({ after: 6, over: 'websocket' }).next();
    console.log(await refused.catch((error) => error.code));`;
  try {
    const args = ['--input-type=module', '-e', program];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: join(prefix, 'lib') });
    expect([stdout, stderr]).toEqual(['7\nnot_capable\n', '']);
  } finally {
    server.close();
  }
});

const [withoutSqlite] = runtimes.filter(({ hasSqlite }) => !hasSqlite);

testIf(withoutSqlite !== undefined, 'needs a Node before 22')(
  'on a Node that has no SQLite, without a download, it says so in one sentence and ends',
  () => {
    const { node = '', version: number } = withoutSqlite ?? {};
    const demo = spawnSync(node, [postern, 'demo', '--dir', join(root, 'none')], {
      encoding: 'utf8',
      env: { ...BARE_ENVIRONMENT, HOME: root, POSTERN_NODE_DOWNLOAD: '0' },
    });
    const sentence = `Node ${number} does not include SQLite.\n  Install Node 22.16 or newer.`;
    expect([demo.status, demo.stdout, demo.stderr]).toEqual([78, '', `Postern does not start: ${sentence}\n`]);
  },
);

const [withSqlite] = runtimes.filter(({ hasSqlite }) => hasSqlite);

testIf(withSqlite !== undefined, 'needs a Node with SQLite')(
  'the demo of the release serves its pages and events on a Node with SQLite',
  async () => {
    const { node = '', version: number } = withSqlite ?? {};
    const folder = join(root, `demo-${number}`);
    const open = ['--host', '0.0.0.0', '--allow-network'];
    const demo = spawn(node, [postern, 'demo', ...open, '--dir', folder, '--port', '0'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...BARE_ENVIRONMENT, HOME: root },
    });
    let output = '';
    demo.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    try {
      await eventually(() => expect(output).toContain(`"sqlite":"node:sqlite"`));
      const url = /"url":"([^"]+)"/.exec(output)?.[1] ?? '';
      const { stdout: key } = spawnSync(node, [postern, 'config', 'key', '--config-dir', folder], { encoding: 'utf8' });
      const headers = { 'x-api-key': key.trim() };
      const health = await named(`${url}/api/v1/health`, 'demo.example');
      expect(health).toBe(200);
      const pages = ['console', 'docs', 'docs/swagger-ui-bundle.js', 'openapi.json', 'guide/'];
      for (const page of [...pages, 'guide/project/guarantees.html', 'guide/img/terminal.svg', 'llms-full.txt']) {
        expect([page, (await fetch(`${url}/${page}`)).status]).toEqual([page, 200]);
      }
      const map = await (await fetch(`${url}/llms.txt`)).text();
      const linked = [...map.matchAll(/\]\(([^)]+)\)/g)].map(([, to = '']) => to);
      expect(linked).toContain('guide/webhooks.md');
      for (const to of linked) expect([to, (await fetch(`${url}/${to}`)).status]).toEqual([to, 200]);
      const events = await fetch(`${url}/api/v1/events?after=0&wait=20`, { headers });
      expect(await events.json()).toEqual(
        expect.arrayContaining([expect.objectContaining({ type: 'message.received' })]),
      );
    } finally {
      demo.kill('SIGTERM');
      await once(demo, 'exit');
    }
  },
);

test('npx runs its MCP server, and stdout has nothing but the protocol', async () => {
  const packed = JSON.parse(readFileSync(join(prefix, 'lib/node_modules/postern/package.json'), 'utf8')) as Readonly<
    Record<string, unknown>
  >;
  expect(packed.mcpName).toBe((JSON.parse(readFileSync(join(ROOT, 'server.json'), 'utf8')) as { name: string }).name);
  const args = ['-y', '--offline', '--cache', join(root, 'npx-cache'), '--package', TARBALL, 'postern', 'mcp'];
  const env = { ...BARE_ENVIRONMENT, HOME: root, POSTERN_API_KEY: 'k', POSTERN_URL: 'http://127.0.0.1:9' };
  const child = spawn('npx', args, { cwd: root, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  const lines = output.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { jsonrpc: '2.0', id: 1, error: { message: expect.stringContaining('does not answer') } },
  ]);
});
