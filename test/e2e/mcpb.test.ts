import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
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
  service = await Service.here({ chatDbPath: mac.chatDbPath });
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

/** The rules of the registry's schema of 2025-12-11, and of its publisher, for the members that server.json uses. */
const SERVER = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.literal(version),
  packages: z.tuple([
    z.strictObject({
      registryType: z.literal('npm'),
      identifier: z.literal('postern'),
      version: z.literal(version),
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(z.strictObject({ type: z.literal('positional'), value: z.string() })),
      environmentVariables: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          isRequired: z.boolean().optional(),
          isSecret: z.boolean().optional(),
        }),
      ),
    }),
  ]),
});

test('server.json is what a registry takes, for this version, with the key as a secret', () => {
  const server = SERVER.parse(JSON.parse(readFileSync(join(REPOSITORY, 'server.json'), 'utf8')));
  const [{ environmentVariables: variables, packageArguments: given }] = server.packages;
  expect(given.map(({ value }) => value)).toEqual(['mcp']);
  expect(variables.find(({ name }) => name === 'POSTERN_API_KEY')).toMatchObject({ isRequired: true, isSecret: true });
});

const VALIDATOR = join(REPOSITORY, 'test/support/programs/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');

testIf(existsSync(VALIDATOR), 'needs npm ci --prefix test/support/programs')(
  'the official validator takes the manifest of the bundle',
  () => {
    const manifest = join(REPOSITORY, 'installer/mcpb/manifest.json');
    const { status, stdout } = spawnSync(process.execPath, [VALIDATOR, 'validate', manifest], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringContaining('passes')]);
  },
);
