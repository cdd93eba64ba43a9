import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { MAIN } from '../support/postern.ts';
import { freePort } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = ['', 'docs/', 'docs/project/', 'docs/recipes/', 'integrations/skill/postern/']
  .flatMap((folder) => readdirSync(ROOT + folder).map((name) => folder + name))
  .filter((name) => name.endsWith('.md'));
/** A block of a page, with the comment before it that says how it is run. */
const BLOCK = /(?:<!-- (not run|run for a second): ([^\n]+) -->\n *)?```sh\n([\s\S]*?)```/g;

interface Block {
  readonly page: string;
  readonly commands: string;
  readonly isEndless: boolean;
}

const all = PAGES.flatMap((page) =>
  [...readFileSync(ROOT + page, 'utf8').matchAll(BLOCK)].map(([, how, reason = '', commands = '']) => ({
    page,
    commands,
    how,
    reason,
  })),
);
const blocks = all
  .filter(({ how }) => how !== 'not run')
  .map(({ page, commands, how }): Block => ({ page, commands, isEndless: how !== undefined }));

const folder = temporaryFolder();
const home = join(folder, 'home');
let demo: ChildProcess | undefined;
let port = 0;

const environment = (): NodeJS.ProcessEnv => ({
  PATH: `${folder}/bin:${process.env.PATH ?? ''}`,
  HOME: home,
  TMPDIR: folder,
  CURL_HOME: folder,
  KEY: /^api_key = "(.+)"/m.exec(config())?.[1] ?? '',
  URL: `http://127.0.0.1:${port}/api/v1`,
});
const demoFolder = process.platform === 'darwin' ? 'Library/Application Support/Postern Demo' : '.config/postern-demo';
const configFile = join(home, demoFolder, 'config.toml');

function config(): string {
  return readFileSync(configFile, 'utf8');
}

async function startDemo(): Promise<void> {
  const started = spawn(process.execPath, [MAIN, 'demo', '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...BARE_ENVIRONMENT, HOME: home, TMPDIR: folder },
  });
  demo = started;
  let output = '';
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  await waitFor(() => {
    if (started.exitCode !== null) throw new Error(output);
    return output.includes('Ctrl+C');
  });
}

async function stopDemo(): Promise<void> {
  if (demo === undefined || demo.exitCode !== null) return;
  const ended = once(demo, 'exit');
  demo.kill('SIGINT');
  await ended;
}

beforeAll(async () => {
  for (const name of ['bin', 'home', 'work']) mkdirSync(join(folder, name));
  // What a reader has installed: `postern`, here for the demo alone.
  writeFileSync(
    join(folder, 'bin/postern'),
    `#!/bin/sh\ncase " $* " in *' --demo '*) ;; *) set -- "$@" --demo ;; esac\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
  );
  chmodSync(join(folder, 'bin/postern'), 0o755);
  writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
  symlinkSync(join(ROOT, 'dist'), join(folder, 'work/dist'));
  cpSync(join(ROOT, 'docs/recipes'), join(folder, 'work'), { recursive: true });
  for (const name of ['photo.jpg', 'plan.pdf', 'secret.txt'])
    writeFileSync(join(folder, 'work', name), `${name} of sixteen\n`);
  port = await freePort();
  await startDemo();
  // More requests than a reader makes in a minute, and what the pages say to turn on.
  await stopDemo();
  writeFileSync(
    configFile,
    `${config()
      .replace(/^rate_limit_per_minute = .*\n/m, '')
      .replace(/^\[server\]$/m, '[server]\nrate_limit_per_minute = 600')}`,
  );
  await startDemo();
});
afterAll(stopDemo);

async function run({ commands, isEndless }: Block): Promise<string> {
  const text = commands.replaceAll('127.0.0.1:3001', `127.0.0.1:${port}`);
  const args = ['-eu', '-o', 'pipefail', '-c', text];
  const [program, ...all] = isEndless ? ['timeout', '-s', 'INT', '-k', '60', '1', 'bash', ...args] : ['bash', ...args];
  const child = spawn(program ?? '', all, {
    cwd: join(folder, 'work'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 || (isEndless && code === 124) ? '' : `exit ${code}: ${output}`;
}

test('every command of the documents runs on the demo, or is marked why not', async () => {
  expect(blocks.length).toBeGreaterThan(15);
  const failed: string[] = [];
  for (const block of blocks) {
    // Commands that never end are run beside each other.
    const runs = block.isEndless ? block.commands.trim().split('\n') : [block.commands];
    const failures = await Promise.all(runs.map((commands) => run({ ...block, commands })));
    for (const failure of failures) if (failure !== '') failed.push(`${block.page}\n${block.commands}${failure}`);
  }
  expect(failed).toEqual([]);
});

test('test/commands-not-run.md lists every block that is not run, with its reason', () => {
  const rows = all
    .filter(({ how }) => how === 'not run')
    .map(({ page, commands, reason }) => `| ${page} | \`${commands.trim().split('\n', 1)[0]?.trim()}\` | ${reason} |`);
  const listed = readFileSync(`${ROOT}test/commands-not-run.md`, 'utf8').split('\n');
  expect(listed.filter((line) => /^\| [\w/-]+\.md /.test(line))).toEqual(rows.map((row) => row.replaceAll(/ +/g, ' ')));
});
