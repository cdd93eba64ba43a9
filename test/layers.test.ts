import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  everyImport,
  imports,
  isOfBrowser,
  pathOf,
  relativeImports,
  roomOf,
  root,
  sources,
  usersIn,
} from './support/imports.ts';
import { featureNames } from './support/without-features.ts';

/**
 * The rooms of src/, and which others each may import. In one sentence: model ← runtime, schema, tools, config ←
 * chatdb, sender, mac, log, streams, webhooks, state ← http, status ← the files of core/ ← cli ← features ← main.
 */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  runtime: ['model'],
  schema: ['model'],
  // runtime: the counters of sends.
  tools: ['model', 'runtime'],
  config: ['model', 'runtime'],
  chatdb: ['model', 'runtime'],
  sender: ['model', 'runtime'],
  mac: ['model', 'runtime'],
  log: ['model', 'runtime'],
  state: ['model', 'runtime'],
  streams: ['model', 'schema'],
  webhooks: ['model', 'runtime', 'schema'],
  http: ['model', 'runtime', 'schema', 'config'],
  status: ['model', 'runtime'],
  // It opens every room above. cli: what a feature may add to it. reader-worker: the types of its answers.
  core: [
    ...['model', 'runtime', 'schema', 'config', 'chatdb', 'sender', 'mac', 'log', 'state', 'streams', 'webhooks'],
    ...['http', 'status', 'cli', 'tools', 'reader-worker'],
  ],
  // schema: instants on the command line are those of the API.
  cli: ['model', 'runtime', 'schema', 'config', 'core', 'client', 'installer'],
  features: [
    ...['model', 'runtime', 'schema', 'config', 'chatdb', 'sender', 'mac', 'log', 'state', 'streams', 'webhooks'],
    ...['http', 'core', 'cli', 'client', 'tools', 'installer'],
  ],
  client: ['model', 'runtime'],
  // chatdb: the uninstaller asks which staged files Messages still shows.
  installer: ['model', 'runtime', 'config', 'chatdb', 'mac', 'client'],
  'reader-worker': ['model', 'runtime', 'chatdb'],
  main: ['cli'],
};

/** The rooms inside a feature, and which others each may import. A feature that is not listed may do as it likes. */
const ROOMS_OF_FEATURES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  console: { service: [], parts: ['service'], views: ['service', 'parts'], app: ['service', 'parts', 'views'] },
  fleet: {
    protocol: ['problems.ts'],
    agent: ['protocol', 'settings.ts', 'problems.ts', 'document.ts'],
    hub: ['protocol', 'problems.ts'],
    setup: ['protocol'],
  },
  search: {
    language: ['ports.ts', 'types.ts'],
    index: ['query', 'ports.ts', 'problems.ts', 'types.ts'],
    query: ['index', 'ports.ts', 'problems.ts', 'types.ts'],
  },
};

/** The rooms that may use an outside package, or a module of Node that touches the machine. */
const ALLOWED_USERS: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['runtime'],
  // Requested from Node at run time, because some builds of Node lack it.
  'node:sqlite': [],
  '@tinyhttp/app': ['http'],
  'rate-limiter-flexible': ['http'],
  '@fastify/busboy': ['http'],
  'prom-client': ['http'],
  ws: ['streams', 'client'],
  axios: ['webhooks'],
  'axios-retry': ['webhooks'],
  '@ltd/j-toml': ['config'],
  'markdown-it': ['http'],
  zod: ['schema', 'http', 'tools', 'core', 'features'],
  '@modelcontextprotocol/server': ['features/mcp'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['cli', 'features'],
  plist: ['installer'],
  'node-mac-permissions': ['mac'],
  preact: ['features/console'],
  '@preact/signals': ['features/console'],
  '@nats-io/transport-node': ['features/fleet/protocol'],
  '@nats-io/nats-core': ['features/fleet'],
  '@nats-io/jetstream': ['features/fleet'],
  '@nats-io/kv': ['features/fleet'],
  '@nats-io/nkeys': ['features/fleet'],
  'node:child_process': ['runtime', 'features/simulator'],
};

/**
 * Names that several modules may export because they mean the same thing: the simulator writes the property lists that
 * `mac` reads, `create` makes a view of the console, and a feature's declaration loads its `HANDLERS`, its `DOCUMENT`
 * and its `TOOLS`.
 */
const SAME_THING: ReadonlySet<string> = new Set([
  ...['PlistDictionary', 'PlistValue', 'create'],
  ...['HANDLERS', 'DOCUMENT', 'TOOLS'],
]);

/** The module that parses URLs from outside, and the files that parse others or those that it has checked. */
const URL_PARSERS: readonly string[] = [
  'core/model/parsed-url.ts',
  // Webhooks, subscriptions and redirect addresses that were checked when they were registered.
  'features/oauth/consents.ts',
  'features/backup/restore-command.ts',
  'core/model/status.ts',
  'core/model/webhook.ts',
  'core/webhooks/delivery-record.ts',
  'core/webhooks/poster.ts',
  'core/state/state-database.ts',
  // The owner's configuration, options and environment, and the addresses of a fleet.
  'features/bluebubbles/feature.ts',
  'features/console/open-command.ts',
  'features/imsg/imsg-command.ts',
  'features/oauth/issuer-host.ts',
  'features/oauth/open-issuer.ts',
  'features/oauth/settings.ts',
  'features/webhook-listener/listen-command.ts',
  'features/webhook-listener/receiver.ts',
  'features/mcp/cli/mcp-pipe.ts',
  'core/cli/service-connection.ts',
  'core/config/service-address.ts',
  'core/config/settings.ts',
  'core/model/local-network.ts',
  'features/fleet/agent/answers.ts',
  'features/fleet/protocol/membership.ts',
  'features/fleet/protocol/connection.ts',
  'features/fleet/setup/addresses.ts',
  // The service's own answers, and the program's own files.
  'features/console/pages.ts',
  'client/postern-client.ts',
  'client/request.ts',
  'client/search-results.ts',
  'core/mac/permission-watcher.ts',
];

describe('the rooms', () => {
  test('are all in the table', () => {
    const rooms = new Set([...sources('src'), ...sources('installer')].map(roomOf));
    expect([...rooms].sort()).toEqual(Object.keys(ALLOWED_IMPORTS).sort());
  });

  test('and the features are the rows of the tables in ARCHITECTURE.md', () => {
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const named = [...page.matchAll(/^\| ((?:`[\w./-]+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([\w-]+?)(?:\.ts|\/)`/g)].map(([, name = '']) => name),
    );
    const rooms = Object.keys(ALLOWED_IMPORTS).filter((name) => name !== 'installer' && name !== 'features');
    expect(named.sort()).toEqual([...rooms, ...featureNames()].sort());
  });

  test('import only what the table allows', () => {
    const wrong = relativeImports.filter((one) => {
      const [from, to] = [roomOf(one.file), roomOf(pathOf(one))];
      // What may import a feature is said in features.test.ts.
      return from !== to && to !== 'features' && !ALLOWED_IMPORTS[from]?.includes(to);
    });
    expect(wrong).toEqual([]);
  });

  test('of a feature import only what its table allows', () => {
    const wrong = relativeImports.filter((one) => {
      const [, , name = '', from = ''] = one.file.split('/');
      const [, , , to = ''] = pathOf(one).split('/');
      const rooms = ROOMS_OF_FEATURES[name];
      const isInside = pathOf(one).startsWith(`src/features/${name}/`) && rooms !== undefined;
      return isInside && from !== to && rooms[from] !== undefined && !rooms[from].includes(to);
    });
    expect(wrong).toEqual([]);
  });

  // What reads chat.db is large, and changes with macOS: features see of it what one file names.
  test('of chatdb show features and the installer only its public module', () => {
    const inside = relativeImports.filter(
      (one) =>
        ['features', 'installer'].includes(roomOf(one.file)) &&
        roomOf(pathOf(one)) === 'chatdb' &&
        pathOf(one) !== 'src/core/chatdb/public.ts',
    );
    expect(inside).toEqual([]);
  });

  test('use every allowance of the tables', () => {
    const used = new Set(relativeImports.map((one) => `${roomOf(one.file)}: ${roomOf(pathOf(one))}`));
    const users = new Set(
      everyImport.flatMap(({ file, target }) => usersIn(file).map((user) => `${target.split('/')[0]}: ${user}`)),
    );
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
    const wrong = everyImport.filter(({ file, target }) => {
      const users = usersOf(target);
      return users !== undefined && !usersIn(file).some((user) => users.includes(user));
    });
    expect(wrong).toEqual([]);
  });

  test('of the model import nothing, not even of Node', () => {
    const wrong = everyImport.filter(
      (one) => roomOf(one.file) === 'model' && !(one.target.startsWith('.') && roomOf(pathOf(one)) === 'model'),
    );
    expect(wrong).toEqual([]);
  });

  test('of what runs in a browser are the console, the model and the types of clients', () => {
    const wrong = relativeImports.filter(
      (one) => isOfBrowser(one.file) && !isOfBrowser(pathOf(one)) && !['model', 'client'].includes(roomOf(pathOf(one))),
    );
    expect(wrong).toEqual([]);
  });

  test('read the clock, the platform and the environment only where the rules allow it', () => {
    const rules = [
      {
        pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])set(?:Timeout|Interval)\(/,
        users: ['runtime'],
      },
      // better-sqlite3 can be told to allow `file:` URIs only by a variable.
      { pattern: /\bprocess\.env\b(?!\.SQLITE_USE_URI)/, users: ['config'] },
      { pattern: /\bprocess\.platform\b|\bos\.platform\(/, users: ['main', 'cli', 'config'] },
    ];
    const ours = [...sources('src'), ...sources('installer')].filter((file) => !isOfBrowser(file));
    const wrong = ours.flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((text, index) =>
          rules.some(({ pattern, users }) => pattern.test(text) && !users.includes(roomOf(file)))
            ? [`${file}:${index + 1} ${text.trim()}`]
            : [],
        ),
    );
    expect(wrong).toEqual([]);
  });

  test('parse URLs from outside in one module', () => {
    const parses = /\bURL\.(?:canParse|parse)\(|\bnew URL\((?!.*import\.meta\.url\))/;
    const ours = sources('src').filter((file) => !isOfBrowser(file));
    const parsers = ours.filter((file) => parses.test(readFileSync(join(root, file), 'utf8')));
    expect(parsers.map((file) => relative('src', file)).sort()).toEqual([...URL_PARSERS].sort());
  });

  test.each([
    ['src', (file: string) => !isOfBrowser(file)],
    ['the console', isOfBrowser],
  ])('have one name for one thing: no two modules of %s export the same name', (_, isOurs) => {
    const exported = new Map<string, string[]>();
    for (const path of sources('src').filter(isOurs)) {
      const named =
        /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm;
      const names = [...readFileSync(join(root, path), 'utf8').matchAll(named)].map(([, name = '']) => name);
      for (const name of new Set(names)) exported.set(name, [...(exported.get(name) ?? []), path]);
    }
    const shared = [...exported].filter(([name, paths]) => paths.length > 1 && !SAME_THING.has(name));
    expect(shared.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
  });
});

// Nothing else notices a benchmark whose import has moved away, until somebody measures.
test('the benchmarks and tools import only modules that exist', () => {
  const missing = ['bench', 'tools', 'docs/site', 'docs/img']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.mjs'))
    .flatMap(imports)
    .filter(({ target }) => target.startsWith('.') && !target.includes('${'))
    .map((one) => pathOf(one))
    .filter(
      (path) => ![path, path.replace(/^dist\//, '').replace(/\.js$/, '.ts')].some((one) => existsSync(join(root, one))),
    );
  expect(missing).toEqual([]);
});
