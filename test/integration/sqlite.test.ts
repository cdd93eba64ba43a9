import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { node22 } from '../support/node-22.ts';
import { freePort } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUN = join(ROOT, 'test/support/programs/node_modules/.bin/bun');
const folder = temporaryFolder();

interface Case {
  readonly name: string;
  readonly read?: unknown;
  readonly error?: string;
}

const bun = spawnSync(BUN, ['--version']).status === 0 ? BUN : undefined;
const RUNTIMES: readonly (readonly [library: string, program: string | undefined])[] = [
  ['better-sqlite3', process.execPath],
  ['node:sqlite', node22],
  ['bun:sqlite', bun],
];
/** Elsewhere the runtimes are optional, but CI without them would prove nothing. */
const present = RUNTIMES.filter(([, program]) => program !== undefined || process.env.CI !== undefined);
for (const [library] of RUNTIMES.filter((one) => !present.includes(one))) {
  testIf(false, 'needs npm ci --prefix test/support/programs, or make test')(
    `SQLite through ${library}`,
    () => undefined,
  );
}
const outputs = new Map<string, readonly Case[]>();

function casesOf(library: string, program: string | undefined): readonly Case[] {
  const known = outputs.get(library);
  if (known !== undefined) return known;
  const script = join(ROOT, 'test/support/sqlite-cases.mjs');
  const { stdout, stderr } = spawnSync(program ?? 'missing', [script, library], { encoding: 'utf8' });
  if (stdout === null || stdout === '') throw new Error(`${library} did not run: ${stderr}`);
  const cases = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case);
  outputs.set(library, cases);
  return cases;
}

/** What the suite reads, written down once. Each implementation is compared with it. */
const EXPECTED: Readonly<Record<string, unknown>> = {
  'every type is read as it was written': [
    null,
    'number 0',
    'number -1',
    'number 1.5',
    '',
    'Zoë 👋\n',
    'number 9007199254740991',
    'bytes 00ff',
    'bytes ',
  ],
  'integers beyond 2^53 are read as the nearest number': [
    ...[764190123456789012n, 764190123456789013n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n]
      .flatMap((value) => [value, -value])
      .map((value) => `number ${Number(value)}`),
    `number ${-(2 ** 63)}`,
    `number ${2 ** 63}`,
    String(2n ** 63n - 1n),
  ],
  'a bound integer beyond 2^53 is compared exactly': ['number 1'],
  'bound numbers fit strict columns, limits and row ids': [
    ['row 3', 'integer'],
    ['row 4', 'integer'],
  ],
  'a missing row is undefined, an empty list is empty': ['undefined', []],
  'columns of the same name are all there': ['number 1', 'number 2'],
  'run gives the number of changed rows': ['number 2', 'number 3'],
  'a PRAGMA is read like a table': [['wal'], [['number 7']]],
  'a transaction is all or nothing': ['MINE', 'number 0'],
  'a disk that is full is that error, not the roll-back that SQLite did by itself': [
    'SQLITE_FULL',
    'SQLITE_FULL',
    'number 1',
  ],
  'the failures of a file have their names': [
    'SQLITE_BUSY',
    'SQLITE_CANTOPEN',
    'SQLITE_CANTOPEN',
    'SQLITE_READONLY',
    'SQLITE_ERROR',
    'SQLITE_CONSTRAINT',
    'SQLITE_NOTADB',
  ],
  'closing twice is fine, and a closed file can be opened again': [['number 1']],
  'a row that was read holds no lock': ['no error'],
};

describe.each(present)('SQLite through %s', (library, program) => {
  test.each(Object.keys(EXPECTED))('%s', (name) => {
    expect(casesOf(library, program).find((one) => one.name === name)).toEqual({ name, read: EXPECTED[name] });
  });

  test('there are no other cases', () => {
    expect(casesOf(library, program).map(({ name }) => name)).toEqual(Object.keys(EXPECTED));
  });
});

/** Copies the built program to a place from which no native module can be found. */
function withoutLibraries(): string {
  const copy = join(folder, 'without-libraries');
  if (existsSync(copy)) return copy;
  mkdirSync(copy);
  for (const part of ['dist', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  return copy;
}

function environment(): Readonly<Record<string, string>> {
  return { PATH: '/usr/bin:/bin', HOME: join(folder, 'home'), TMPDIR: folder };
}

const hasOwnSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined;
const onOldNode = testIf(!hasOwnSqlite, 'needs a Node without SQLite');
const onNode22 = testIf(node22 !== undefined || process.env.CI !== undefined, 'needs make test');

describe('where better-sqlite3 cannot be loaded', () => {
  for (const command of ['run', 'demo', 'serve']) {
    onOldNode(`with POSTERN_NODE_DOWNLOAD=0 an older Node says what to install (postern ${command})`, () => {
      const args = [join(withoutLibraries(), 'dist/main.js'), command, '--config-dir', join(folder, 'config')];
      const run = (): ReturnType<typeof spawnSync> =>
        spawnSync(process.execPath, args, {
          encoding: 'utf8',
          env: { ...environment(), POSTERN_NODE_DOWNLOAD: '0' },
        });
      // The first launch of serve only writes the configuration.
      if (command === 'serve') run();
      const { status, stderr } = run();
      expect(stderr).toMatch(/^Postern does not start: Node 20\.[\d.]+ does not include SQLite, .* better-sqlite3 /);
      expect(stderr).toContain('Install Node 22.16 or newer. Or build the library, which needs a C++ compiler');
      expect(String(stderr).trim().split('\n')).toHaveLength(2);
      expect(status).toBe(78);
    });
  }

  onNode22('Node 22 serves with its own, says so, and warns of nothing', async () => {
    const port = String(await freePort());
    const args = [join(withoutLibraries(), 'dist/main.js'), 'demo', '--dir', join(folder, 'demo'), '--port', port];
    const service = spawn(node22 ?? 'missing', args, { env: environment() });
    let output = '';
    let errors = '';
    service.stdout.on('data', (chunk) => (output += String(chunk)));
    service.stderr.on('data', (chunk) => (errors += String(chunk)));
    const ended = once(service, 'close');
    await waitFor(() => {
      if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}: ${errors}`);
      return output.includes('"serving"');
    });
    const health = await fetch(`http://127.0.0.1:${port}/api/v1/health`);
    expect(await health.json()).toMatchObject({ status: 'ok', backend: { connected: true } });
    service.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(output).toContain('"sqlite":"node:sqlite"');
    expect(errors).toBe('');
  });

  onNode22('a Node whose SQLite is switched off says what to install, and starts no other', () => {
    const args = [join(withoutLibraries(), 'dist/main.js'), 'demo', '--dir', join(folder, 'off'), '--port', '0'];
    const env = { ...environment(), NODE_OPTIONS: '--no-experimental-sqlite' };
    const { status, stderr } = spawnSync(node22 ?? 'missing', args, { encoding: 'utf8', env });
    expect(stderr).toMatch(/^Postern does not start: Node 22\.23\.2 does not include SQLite, /);
    expect(stderr).not.toContain('Fetching');
    expect(status).toBe(78);
  });

  const isBuiltForNode22 = process.versions.modules === '127';
  (isBuiltForNode22 ? testIf(false, 'needs libraries built for another Node') : onNode22)(
    'the installer says which one the agent uses, and what is not built',
    () => {
      const proof = spawnSync(node22 ?? 'missing', ['dist/installer/proof.js'], {
        cwd: ROOT,
        encoding: 'utf8',
        env: environment(),
      });
      expect(proof.stdout).toMatch(/^\d+ libraries load on Node 22\.23\.2; SQLite comes from node:sqlite\.\n/);
      expect(proof.stdout).toContain('Not built on this machine: better-sqlite3, ');
      expect(proof.stderr).toBe('');
      expect(proof.status).toBe(0);
    },
  );

  onNode22('only the warning that SQLite is experimental is left out', () => {
    const module = new URL('../../dist/src/core/runtime/sqlite/node.js', import.meta.url).href;
    const script = `const { loadNodeSqlite } = await import('${module}');
      loadNodeSqlite()(':memory:', { readonly: false, busyTimeoutMs: 0 }).close();
      process.emitWarning('SQLite something', 'Warning');
      process.emitWarning('SQLite is something else', 'ExperimentalWarning');`;
    const { stderr } = spawnSync(node22 ?? 'missing', ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: environment(),
    });
    expect(stderr).not.toContain('SQLite is an experimental feature');
    expect(stderr).toContain('Warning: SQLite something');
    expect(stderr).toContain('ExperimentalWarning: SQLite is something else');
  });
});
