import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { featureNames, needsOf } from './support/without-features.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * The districts of src/, and which others each may import. In one sentence: domain ← runtime, config, schema ← mac,
 * events, search, access, store ← api, fleet ← app, core ← cli ← features ← main.
 */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  // The core opens what it lists below; the interface `Feature` names, as types, what a feature may be made of.
  core: ['domain', 'runtime', 'schema', 'config', 'mac', 'access', 'store', 'events', 'api', 'app', 'cli'],
  features: ['domain', 'runtime', 'schema', 'config', 'mac', 'client', 'store', 'core', 'api', 'app', 'cli', 'fleet'],
  runtime: ['domain'],
  schema: ['domain'],
  config: ['domain', 'runtime', 'core'],
  mac: ['domain', 'runtime'],
  access: ['domain', 'runtime'],
  store: ['domain', 'runtime'],
  client: ['domain', 'runtime'],
  events: ['domain', 'runtime', 'schema'],
  search: ['domain', 'runtime', 'schema'],
  fleet: ['domain', 'runtime', 'schema'],
  // search: queries are parsed where they are received.
  api: ['domain', 'runtime', 'schema', 'search', 'core'],
  app: ['domain', 'runtime', 'schema', 'config', 'mac', 'access', 'store', 'events', 'search', 'fleet', 'api', 'core'],
  // mac: the uninstaller asks which staged files Messages still shows.
  installer: ['domain', 'runtime', 'config', 'client', 'mac'],
  // fleet, mac and store: setting up a fleet, backup and restore work without a service.
  cli: ['domain', 'runtime', 'schema', 'config', 'client', 'installer', 'mac', 'store', 'fleet', 'app', 'core'],
  // The one place that knows the list.
  main: ['domain', 'cli', 'features'],
};

/** Rooms that others of the same district may import. All other rooms of a district do not import each other. */
const SHARED_ROOMS = [
  'features/fleet/protocol',
  'features/search/language',
  'features/search/index',
  'features/search/query',
  'core/http/openapi',
];
const DISTRICTS_WITH_ROOMS = ['features', 'mac', 'events', 'search', 'store', 'api', 'fleet'];

/** The districts or rooms that may use an outside package, or a module of Node that touches the machine. */
const ALLOWED_USERS: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['runtime'],
  // Requested from Node at run time, because some builds of Node lack it.
  'node:sqlite': [],
  '@tinyhttp/app': ['core/http'],
  'rate-limiter-flexible': ['core/http'],
  'raw-body': ['core/http'],
  '@fastify/busboy': ['core/http'],
  'prom-client': ['core/http'],
  ws: ['core/streams', 'client'],
  axios: ['core/webhooks'],
  'axios-retry': ['core/webhooks'],
  '@ltd/j-toml': ['config'],
  'markdown-it': ['schema'],
  // mcp: the protocol's package takes the input schemas of tools.
  zod: ['schema', 'features/mcp', 'core/http/openapi', 'core', 'features'],
  '@modelcontextprotocol/server': ['features/mcp'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['main', 'cli', 'core', 'features'],
  plist: ['installer'],
  'node-mac-permissions': ['core/mac'],
  '@nats-io/transport-node': ['features/fleet/protocol'],
  '@nats-io/nats-core': ['fleet'],
  '@nats-io/jetstream': ['fleet'],
  '@nats-io/kv': ['fleet'],
  '@nats-io/nkeys': ['fleet'],
  'node:child_process': ['runtime', 'features/simulator'],
};

/**
 * Names that two modules may both export because they mean the same thing: the simulator writes the property lists that
 * `mac` reads.
 */
const SAME_THING: ReadonlySet<string> = new Set(['PlistDictionary', 'PlistValue']);

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

/** Returns the district of a file: a folder of src/, `main`, or `installer`. */
function districtOf(file: string): string {
  const [top, second = ''] = file.split('/');
  return top === 'src' ? second.replace(/\.ts$/, '') : (top ?? '');
}

/** Returns the room of a file, such as `core/chatdb`; its district if that has no rooms. */
function roomOf(file: string): string {
  const district = districtOf(file);
  return DISTRICTS_WITH_ROOMS.includes(district) ? file.split('/').slice(1, 3).join('/') : district;
}

const pathOf = ({ file, target }: Import): string => relative(root, resolve(root, dirname(file), target));

const everyImport = [...sources('src'), ...sources('installer')].flatMap(imports);

/** The module that parses URLs from outside, and the files that parse others or those that it has checked. */
const URL_PARSERS: readonly string[] = [
  'core/model/parsed-url.ts',
  // Webhooks, subscriptions and redirect addresses that were checked when they were registered.
  'features/oauth/consents.ts',
  'core/cli/commands/restore-command.ts',
  'core/model/status.ts',
  'core/model/webhook.ts',
  'core/webhooks/delivery-record.ts',
  'core/webhooks/poster.ts',
  'features/fleet/hub/webhooks/hub-webhooks.ts',
  'core/state/state-database.ts',
  'core/state/webhooks-store.ts',
  // The owner's configuration, options and environment, and the addresses of a fleet.
  'core/http/issuer-host.ts',
  'app/bluebubbles.ts',
  'cli/commands/imsg-command.ts',
  'core/cli/commands/open-command.ts',
  'core/cli/commands/webhooks-listen-command.ts',
  'core/cli/listen-receiver.ts',
  'core/cli/mcp-pipe.ts',
  'core/cli/service-connection.ts',
  'cli/update-notice.ts',
  'core/config/config.ts',
  'core/config/fleet-settings.ts',
  'core/config/service-address.ts',
  'core/config/settings.ts',
  'core/model/local-network.ts',
  'features/fleet/protocol/tls.ts',
  'features/fleet/setup/addresses.ts',
  'features/fleet/setup/invitation.ts',
  // The service's own answers, and the program's own files.
  'core/http/routes/static-files.ts',
  'client/postern-client.ts',
  'client/request.ts',
  'client/search-results.ts',
  'core/mac/permission-watcher.ts',
];

describe('the districts', () => {
  test('are all in the table', () => {
    const modules = new Set([...sources('src'), ...sources('installer')].map(districtOf));
    expect([...modules].filter((module) => ALLOWED_IMPORTS[module] === undefined)).toEqual([]);
  });

  test('are the rows of the table in ARCHITECTURE.md', () => {
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const named = [...page.matchAll(/^\| ((?:`[\w./]+`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([\w.]+?)(?:\.ts|\/)`/g)].map(([, name = '']) => name),
    );
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.name.endsWith('.ts'))
      .map(({ name }) => name.replace(/\.ts$/, ''));
    expect(named.sort()).toEqual(folders.sort());
  });

  test('import only what the table allows', () => {
    const wrong = everyImport
      .filter(({ target }) => target.startsWith('.'))
      .filter(({ file, target }) => {
        const from = districtOf(file);
        const to = districtOf(pathOf({ file, line: 0, target }));
        return from !== to && !ALLOWED_IMPORTS[from]?.includes(to);
      });
    expect(wrong).toEqual([]);
  });

  test('have rooms that do not know each other, but for those that are shared', () => {
    const wrong = everyImport
      .filter(({ target }) => target.startsWith('.'))
      .filter((one) => {
        const [from, to] = [roomOf(one.file), roomOf(pathOf(one))];
        const district = districtOf(one.file);
        // Features have their own rules, below.
        if (district === 'features' || district !== districtOf(pathOf(one))) return false;
        return from !== to && !SHARED_ROOMS.includes(to);
      });
    expect(wrong).toEqual([]);
  });

  test('use every allowance of the table', () => {
    const used = new Set(
      everyImport
        .filter(({ target }) => target.startsWith('.'))
        .map(({ file, target }) => `${districtOf(file)}: ${districtOf(pathOf({ file, line: 0, target }))}`),
    );
    const users = new Set(
      everyImport.flatMap(({ file, target }) =>
        [districtOf(file), roomOf(file)].map((user) => `${target.split('/')[0]}: ${user}`),
      ),
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
      return users !== undefined && !users.includes(districtOf(file)) && !users.includes(roomOf(file));
    });
    expect(wrong).toEqual([]);
  });

  test('domain imports nothing, not even of Node', () => {
    const isOwn = ({ file, target }: Import): boolean =>
      target.startsWith('.') && relative(root, resolve(root, dirname(file), target)).startsWith('src/core/model/');
    const wrong = everyImport.filter((one) => one.file.startsWith('src/core/model/') && !isOwn(one));
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
    const wrong = [...sources('src'), ...sources('installer')].flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((text, index) =>
          rules.some(({ pattern, users }) => pattern.test(text) && !users.includes(districtOf(file)))
            ? [`${file}:${index + 1} ${text.trim()}`]
            : [],
        ),
    );
    expect(wrong).toEqual([]);
  });

  test('parse URLs from outside in one module', () => {
    const parses = /\bURL\.(?:canParse|parse)\(|\bnew URL\((?!.*import\.meta\.url\))/;
    const parsers = sources('src').filter((file) => parses.test(readFileSync(join(root, file), 'utf8')));
    expect(parsers.map((file) => relative('src', file)).sort()).toEqual([...URL_PARSERS].sort());
  });

  test('have one name for one thing: no two modules of src export the same name', () => {
    const exported = new Map<string, string[]>();
    for (const path of sources('src')) {
      const named =
        /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm;
      const names = [...readFileSync(join(root, path), 'utf8').matchAll(named)].map(([, name = '']) => name);
      for (const name of new Set(names)) exported.set(name, [...(exported.get(name) ?? []), path]);
    }
    const shared = [...exported].filter(([name, paths]) => paths.length > 1 && !SAME_THING.has(name));
    expect(shared.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
    expect([...SAME_THING].filter((name) => (exported.get(name) ?? []).length < 2)).toEqual([]);
  });
});

const FEATURES = 'src/features/';

/** Returns the feature that a file belongs to; undefined for a file of the core. */
function featureOf(file: string): string | undefined {
  return new RegExp(`^${FEATURES}([\\w-]+)/`).exec(file)?.[1];
}

/** The files that may import a feature's declaration. */
const LISTS = [`${FEATURES}list.ts`];
/** The files that may import a list. */
const ROOTS = ['src/main.ts'];

/** The imports of features by files of the core, as `file: feature`. The list only shrinks. */
const CORE_NAMES_FEATURES: readonly string[] = [];

/** What a feature shows to those that need it. */
const SHARED_FILE = /^(?:port|types)\.ts$/;

/** The small tables and words that a declaration may load of its own feature. Every command loads them. */
const LIGHT_FILES = ['text.ts', 'problems.ts', 'scheduled.ts', 'demo-commands.ts'];

/** How a feature is recognised in a line of the core; default: its name. */
const WORDS: Readonly<Record<string, RegExp>> = {
  // Not Apple's archives of objects.
  archive: /postern export|ARCHIVED_|an archive reads|ArchiveSource/,
  canary: /canar/i,
  // Not the projects that are named as sources.
  imsg: /(?<!\/)\bimsg\b(?! #|, pull| issue)/i,
  media: /conversions?\b|media[ -]?cache/i,
  // Without Send Later of Messages, and what the code itself schedules.
  scheduled:
    /scheduled[_ ]?(?:send|message|list|cancel|id|api|answer)|scheduler|'scheduled?'|\bscheduled\(|\.scheduled\b/i,
  simulator: /simulat|\bdemo\b/i,
};

/** Numbers of lines outside a feature that name it. They only fall: lower them here when they do. */
const NAMED: Readonly<Record<string, number>> = {
  archive: 2,
  bluebubbles: 1,
  fleet: 677,
  imsg: 1,
  media: 7,
  scheduled: 60,
  simulator: 58,
};

describe('the features', () => {
  const relativeImports = everyImport.filter(({ target }) => target.startsWith('.'));

  test('are imported by nothing of the core, and their list only by the roots', () => {
    const wrong = relativeImports
      .map((one) => ({ file: one.file, to: pathOf(one) }))
      .filter(({ file, to }) => to.startsWith(FEATURES) && featureOf(file) === undefined)
      .filter(({ file, to }) => !(LISTS.includes(to) ? ROOTS.includes(file) : LISTS.includes(file)))
      .map(({ file, to }) => `${file}: ${featureOf(to) ?? to}`);
    expect([...new Set(wrong)].sort()).toEqual(CORE_NAMES_FEATURES);
  });

  test('import of each other only what the other shows, and say that they need it', () => {
    const between = relativeImports
      .map((one) => ({ ...one, from: featureOf(one.file), to: featureOf(pathOf(one)) }))
      .filter(({ from, to }) => from !== undefined && to !== undefined && from !== to);
    const wrong = between.filter(
      (one) => !SHARED_FILE.test(basename(pathOf(one))) || !needsOf(one.from ?? '').includes(one.to ?? ''),
    );
    expect(wrong.map(({ file, line, target }) => `${file}:${line} ${target}`)).toEqual([]);
    const used = new Set(between.map(({ from, to }) => `${from}: ${to}`));
    const said = featureNames().flatMap((name) => needsOf(name).map((needed) => `${name}: ${needed}`));
    expect(said.filter((one) => !used.has(one))).toEqual([]);
  });

  // An order in which each follows what it needs also shows that no two need each other.
  test('follow in the list what they need', () => {
    const list = readFileSync(join(root, LISTS[0] ?? ''), 'utf8');
    const array = list.slice(list.lastIndexOf('['));
    const nameOf = new Map(
      [...list.matchAll(/import \{ (\w+) \} from '\.\/([\w-]+)\//g)].map(([, value = '', folder = '']) => [
        value,
        folder,
      ]),
    );
    const order = [...array.matchAll(/\w+/g)].map(([value]) => nameOf.get(value) ?? value);
    expect([...order].sort()).toEqual(featureNames());
    const early = order.flatMap((name, at) => needsOf(name).filter((needed) => order.indexOf(needed) >= at));
    expect(early).toEqual([]);
  });

  // A declaration is loaded by every command, so it loads nothing of its feature but small tables and words.
  test('are declared by modules that load no other code of theirs', () => {
    const heavy = featureNames().flatMap((name) =>
      imports(`${FEATURES}${name}/feature.ts`).filter(({ file, line, target }) => {
        const text = readFileSync(join(root, file), 'utf8').split('\n')[line - 1] ?? '';
        const isLoaded = !text.includes('import type') && !text.includes('import(');
        return isLoaded && target.startsWith('./') && !LIGHT_FILES.includes(basename(target));
      }),
    );
    expect(heavy).toEqual([]);
  });

  test('are named by the core in fewer and fewer lines', () => {
    const core = sources('src').filter((file) => featureOf(file) === undefined && !LISTS.includes(file));
    const lines = core.flatMap((file) => readFileSync(join(root, file), 'utf8').split('\n'));
    const counted = featureNames().map((name) => {
      const word = WORDS[name] ?? new RegExp(name, 'i');
      return [name, lines.filter((text) => word.test(text)).length];
    });
    // A new feature begins at 0.
    const allowed = featureNames().map((name) => [name, NAMED[name] ?? 0]);
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(allowed));
  });
});
