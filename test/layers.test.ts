import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Which modules a module may import from, besides itself. A file at the top of src/ is a module of its own. */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  fleet: ['domain', 'runtime'],
  access: ['domain'],
  wire: ['domain'],
  changes: ['domain'],
  events: ['domain'],
  config: ['domain', 'runtime'],
  runtime: ['domain'],
  mac: ['domain', 'runtime'],
  sender: ['domain', 'runtime'],
  chatdb: ['domain', 'runtime'],
  contacts: ['domain', 'runtime'],
  state: ['domain', 'runtime'],
  search: ['domain', 'runtime'],
  uploads: ['domain'],
  media: ['domain', 'runtime'],
  simulator: ['domain', 'runtime'],
  client: ['domain', 'runtime'],
  http: ['domain', 'wire', 'runtime'],
  mcp: ['domain', 'wire', 'runtime'],
  streams: ['domain'],
  // streams: WebSocket clients are served as those of plain HTTP are.
  ws: ['domain', 'wire', 'streams'],
  webhooks: ['domain', 'wire'],
  // chatdb: the uninstaller asks which staged files Messages still shows.
  installer: ['domain', 'client', 'config', 'mac', 'runtime', 'chatdb'],
  status: ['domain'],
  diagnostics: ['domain', 'chatdb', 'runtime'],
  'reader-worker': ['domain', 'chatdb', 'search', 'runtime'],
  hub: ['domain', 'wire', 'runtime', 'fleet'],
  'hub-app': [
    'domain',
    'app',
    'config',
    'events',
    'fleet',
    'http',
    'hub',
    'runtime',
    'state',
    'streams',
    'webhooks',
    'wire',
    'ws',
  ],
  app: [
    'reader-worker',
    'domain',
    'fleet',
    'access',
    'status',
    'diagnostics',
    'config',
    'wire',
    'changes',
    'chatdb',
    'contacts',
    'events',
    'state',
    'search',
    'sender',
    'uploads',
    'media',
    'webhooks',
    'http',
    'mcp',
    'ws',
    'streams',
    'mac',
    'runtime',
  ],
  // chatdb and state: backup and restore work without a service.
  // fleet: its keys and servers are set up without a service.
  cli: [
    'domain',
    'client',
    'app',
    'hub-app',
    'config',
    'runtime',
    'mac',
    'simulator',
    'wire',
    'installer',
    'chatdb',
    'state',
    'fleet',
  ],
  main: ['domain', 'cli'],
};

/** The modules that may use an outside package, or a module of Node that touches the machine. */
const ALLOWED_USERS: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['runtime'],
  // Asked of Node while running, because some have none.
  'node:sqlite': [],
  '@tinyhttp/app': ['http'],
  'rate-limiter-flexible': ['http'],
  'raw-body': ['http'],
  '@fastify/busboy': ['http'],
  'prom-client': ['http'],
  ws: ['ws', 'client'],
  axios: ['webhooks'],
  'axios-retry': ['webhooks'],
  '@ltd/j-toml': ['config'],
  // mcp: the protocol's package takes the inputs of tools as schemas.
  zod: ['wire', 'mcp'],
  '@modelcontextprotocol/server': ['mcp'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['main', 'cli'],
  plist: ['installer'],
  'node-mac-permissions': ['mac'],
  '@nats-io/transport-node': ['fleet'],
  '@nats-io/nats-core': ['fleet', 'hub'],
  '@nats-io/jetstream': ['fleet', 'hub'],
  '@nats-io/kv': ['fleet', 'hub'],
  '@nats-io/nkeys': ['fleet'],
  'node:child_process': ['runtime', 'simulator'],
};

interface Import {
  readonly file: string;
  readonly line: number;
  readonly target: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('node_modules'));
}

function imports(file: string): Import[] {
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const found = /(?:from |import |import\()\s*['"]([^'"]+)['"]/.exec(text);
      return found?.[1] === undefined ? [] : [{ file, line: index + 1, target: found[1] }];
    });
}

function moduleOf(file: string): string {
  const [top, second = ''] = file.split('/');
  return top === 'src' ? second.replace(/\.ts$/, '') : (top ?? '');
}

const everyImport = [...sources('src'), ...sources('installer')].flatMap(imports);

describe('the modules', () => {
  test('are all in the table', () => {
    const modules = new Set([...sources('src'), ...sources('installer')].map(moduleOf));
    expect([...modules].filter((module) => ALLOWED_IMPORTS[module] === undefined)).toEqual([]);
  });

  test('import only what the table allows', () => {
    const wrong = everyImport
      .filter(({ target }) => target.startsWith('.'))
      .filter(({ file, target }) => {
        const from = moduleOf(file);
        const to = moduleOf(relative(root, resolve(root, dirname(file), target)));
        return from !== to && !ALLOWED_IMPORTS[from]?.includes(to);
      });
    expect(wrong).toEqual([]);
  });

  test('use every allowance of the table', () => {
    const used = new Set(
      everyImport
        .filter(({ target }) => target.startsWith('.'))
        .map(
          ({ file, target }) => `${moduleOf(file)}: ${moduleOf(relative(root, resolve(root, dirname(file), target)))}`,
        ),
    );
    const users = new Set(everyImport.map(({ file, target }) => `${target.split('/')[0]}: ${moduleOf(file)}`));
    const allowed = Object.entries(ALLOWED_IMPORTS).flatMap(([from, to]) => to.map((one) => `${from}: ${one}`));
    const packages = Object.entries(ALLOWED_USERS).flatMap(([name, by]) => by.map((one) => [name, one] as const));
    expect(allowed.filter((one) => !used.has(one))).toEqual([]);
    expect(
      packages.filter(([name, by]) => !users.has(`${name.split('/')[0]}: ${by}`)).map(([name, by]) => `${by}: ${name}`),
    ).toEqual([]);
  });

  test('use only the outside packages that the table allows them', () => {
    // A path inside a package, such as `zod/v4`, counts as the package.
    const usersOf = (target: string): readonly string[] | undefined =>
      ALLOWED_USERS[Object.keys(ALLOWED_USERS).find((name) => target === name || target.startsWith(`${name}/`)) ?? ''];
    const wrong = everyImport.filter(({ file, target }) => usersOf(target)?.includes(moduleOf(file)) === false);
    expect(wrong).toEqual([]);
  });

  test('domain imports nothing, not even of Node', () => {
    const isOwn = ({ file, target }: Import): boolean =>
      target.startsWith('.') && relative(root, resolve(root, dirname(file), target)).startsWith('src/domain/');
    const wrong = everyImport.filter((one) => one.file.startsWith('src/domain/') && !isOwn(one));
    expect(wrong).toEqual([]);
  });

  test('read the clock, the platform and the environment only where the rules allow it', () => {
    const rules = [
      {
        pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])set(?:Timeout|Interval)\(/,
        users: ['runtime'],
      },
      { pattern: /\bprocess\.env\b/, users: ['config'] },
      { pattern: /\bprocess\.platform\b|\bos\.platform\(/, users: ['main', 'cli', 'config'] },
    ];
    const wrong = [...sources('src'), ...sources('installer')].flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((text, index) =>
          rules.some(({ pattern, users }) => pattern.test(text) && !users.includes(moduleOf(file)))
            ? [`${file}:${index + 1} ${text.trim()}`]
            : [],
        ),
    );
    expect(wrong).toEqual([]);
  });

  test('have at most 300 lines a file, and tests 400', () => {
    const isLong = (max: number) => (file: string) =>
      readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > max;
    expect([...sources('src'), ...sources('installer')].filter(isLong(300))).toEqual([]);
    expect(sources('test').filter(isLong(400))).toEqual([]);
  });
});
