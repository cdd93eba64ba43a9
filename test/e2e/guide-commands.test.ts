import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
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
/** Matches a code block of a page, with the comment before it that says how to run it. */
const BLOCK = /(?:<!-- (not run|run for a second|refused): ([^\n]+) -->\n *)?```sh\n([\s\S]*?)```/g;

interface Block {
  readonly page: string;
  readonly commands: string;
  readonly isEndless: boolean;
  /** A word of the expected answer if the service must refuse. */
  readonly refusal: string | undefined;
}

const blocks = PAGES.flatMap((page) =>
  [...readFileSync(ROOT + page, 'utf8').matchAll(BLOCK)]
    .filter(([, how]) => how !== 'not run')
    .map(
      ([, how, reason = '', commands = '']): Block => ({
        page,
        commands,
        isEndless: how === 'run for a second',
        refusal: how === 'refused' ? reason : undefined,
      }),
    ),
);

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
  ...examples.environment,
});
/** The values on this demo of the names that the pages use. */
const examples = { environment: {} as Readonly<Record<string, string>>, texts: [] as (readonly [string, string])[] };
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
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  }
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

async function ask<Answer>(path: string, key: string, body?: object): Promise<{ answer: Answer; link: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  return { answer: (await response.json()) as Answer, link: response.headers.get('link') ?? '' };
}

/**
 * Creates what earlier steps of each page would have created: a held send, the key of an approver, a webhook and a
 * position.
 */
async function makeExamples(): Promise<void> {
  const owner = environment().KEY ?? '';
  const newKey = async (scope: string, more = {}): Promise<string> =>
    (await ask<{ key: string }>('/keys', owner, { name: scope, scopes: [scope], ...more })).answer.key;
  const sender = await newKey('send', { send: '*', approval: 'always' });
  await ask<object>('/messages', sender, { recipient: '+15550100', body: 'Held' });
  const approver = await newKey('approve');
  const [held] = (await ask<readonly { id: string; shown: string }[]>('/approvals', approver)).answer;
  const webhook = await ask<{ id: string }>('/webhooks', owner, {
    url: 'http://127.0.0.1:9/',
    events: ['message.sent'],
  });
  const { link } = await ask<unknown>('/events?changes=true', owner);
  examples.environment = { PHONE: approver, ID: held?.id ?? '', SHOWN: held?.shown ?? '' };
  examples.texts = [
    ['127.0.0.1:3001', `127.0.0.1:${port}`],
    ['2026-02-01T08:00:00Z', new Date(Date.now() + 24 * 60 * 60_000).toISOString()],
    ['MS4xLjEyMDYuMTY', /after=([^>&]+)/.exec(link)?.[1] ?? ''],
    ['3f2a', webhook.answer.id],
    ['https://example.net/new-hook', 'http://127.0.0.1:9/'],
    ["~/'Library/Application Support/Postern/postern.sock'", `'${join(home, demoFolder, 'postern.sock')}'`],
  ];
}

beforeAll(async () => {
  for (const name of ['bin', 'home', 'work']) mkdirSync(join(folder, name));
  // The installed command `postern`, which here always means the demo.
  writeFileSync(
    join(folder, 'bin/postern'),
    `#!/bin/sh\ncase " $* " in *' --demo '* | ' fleet '*) ;; *) set -- "$@" --demo ;; esac\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
  );
  chmodSync(join(folder, 'bin/postern'), 0o755);
  writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
  symlinkSync(join(ROOT, 'dist'), join(folder, 'work/dist'));
  cpSync(join(ROOT, 'docs/recipes'), join(folder, 'work'), { recursive: true });
  for (const name of ['photo.jpg', 'plan.pdf', 'secret.txt']) {
    writeFileSync(join(folder, 'work', name), `${name} of sixteen\n`);
  }
  port = await freePort();
  // An existing demo that allows more requests than a reader makes in a minute.
  mkdirSync(join(home, demoFolder, 'home'), { recursive: true, mode: 0o700 });
  writeFileSync(
    configFile,
    [
      '[server]',
      'rate_limit_per_minute = 600',
      '[auth]',
      `api_key = "${randomUUID()}"`,
      '[backend]',
      `chat_db_path = "${join(home, demoFolder, 'home/Library/Messages/chat.db')}"`,
      'poll_interval_ms = 250',
      '[search]',
      'enabled = true',
    ].join('\n'),
    { mode: 0o600 },
  );
  await startDemo();
  await makeExamples();
});
afterAll(stopDemo);

async function run({ commands, isEndless, refusal }: Block): Promise<string> {
  const text = examples.texts.reduce((all, [example, own]) => all.replaceAll(example, own), commands);
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
  if (refusal !== undefined) return code !== 0 && output.includes(refusal) ? '' : `not refused, ${code}: ${output}`;
  return code === 0 || (isEndless && code === 124) ? '' : `exit ${code}: ${output}`;
}

test.each([...new Set(blocks.map(({ page }) => page))])(
  'every command of %s runs on the demo, or is marked why not',
  async (page) => {
    const failed: string[] = [];
    for (const block of blocks.filter((block) => block.page === page)) {
      // Commands that never end run in parallel.
      const runs = block.isEndless ? block.commands.trim().split('\n') : [block.commands];
      const failures = await Promise.all(runs.map((commands) => run({ ...block, commands })));
      for (const failure of failures) if (failure !== '') failed.push(`${block.commands}${failure}`);
    }
    expect(failed).toEqual([]);
  },
);

test('the documents have commands, each without a comment behind it, which zsh would take for arguments', () => {
  expect(blocks.length).toBeGreaterThan(15);
  const lines = PAGES.flatMap((page) =>
    [...readFileSync(ROOT + page, 'utf8').matchAll(/^ *```sh\n([\s\S]*?)```/gm)].flatMap(([, block = '']) =>
      block.split('\n'),
    ),
  );
  expect(lines.filter((line) => /^ *[^ #][^'"]* # /.test(line))).toEqual([]);
});
