import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { testIf } from '../support/conditions.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const root = temporaryFolder();
const version = (JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { readonly version: string })
  .version;

interface Manifest {
  readonly version: string;
  readonly server: {
    readonly mcp_config: { readonly command: string; readonly args: readonly string[]; readonly env: object };
  };
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.start({ chatDbPath: mac.chatDbPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const withPython = testIf(spawnSync('python3', ['--version']).status === 0, 'needs python3');

withPython('the MCPB bundle runs as its manifest says, from another folder', async () => {
  const file = join(root, 'postern.mcpb');
  const folder = join(root, 'unpacked');
  mkdirSync(folder);
  const packed = spawnSync(process.execPath, [join(REPOSITORY, 'installer/mcpb/build.mjs'), file], {
    encoding: 'utf8',
  });
  expect(packed).toMatchObject({ status: 0, stderr: '' });
  expect(spawnSync('python3', ['-m', 'zipfile', '-e', file, folder]).status).toBe(0);
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  expect(manifest.version).toBe(version);
  const { command, args, env } = manifest.server.mcp_config;
  const given: Readonly<Record<string, string>> = {
    __dirname: folder,
    'user_config.api_key': (await limitedKey(service, { preset: 'reader', read: '*' })).key,
    'user_config.url': service.url.replace('/api/v1', ''),
  };
  const filled = (text: string): string => text.replaceAll(/\$\{([\w.]+)\}/g, (_, name: string) => given[name] ?? '');
  const transport = new StdioClientTransport({
    command: command === 'node' ? process.execPath : command,
    args: args.map(filled),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(String(value))])),
    cwd: '/',
  });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  expect(client.getServerVersion()).toMatchObject({ name: 'postern', version });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('whoami');
  await client.close();
});

test('server.json names this version, and the header of the key as a secret', () => {
  const server = JSON.parse(readFileSync(join(REPOSITORY, 'server.json'), 'utf8')) as Record<string, unknown>;
  expect(server).toMatchObject({ version, remotes: [{ headers: [{ name: 'X-API-Key', isSecret: true }] }] });
  expect(String(server.description).length).toBeLessThanOrEqual(100);
});
