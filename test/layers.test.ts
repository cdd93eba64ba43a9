import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { featureNames, isDeclared, needsOf } from './support/without-features.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * The rooms of src/, and which others each may import. In one sentence: model ← runtime, schema, config ← chatdb, sender,
 * mac, log, streams, webhooks, state ← http, status, doctor ← the files of core/ ← cli ← features ← main.
 */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  runtime: ['model'],
  schema: ['model'],
  // core: the interface `Feature`, whose settings are sections of config.toml. http and cli take its type from there too.
  config: ['model', 'runtime', 'core'],
  chatdb: ['model', 'runtime'],
  sender: ['model', 'runtime'],
  mac: ['model', 'runtime'],
  log: ['model', 'runtime'],
  state: ['model', 'runtime'],
  streams: ['model', 'schema'],
  webhooks: ['model', 'runtime', 'schema'],
  http: ['model', 'runtime', 'schema', 'config', 'core'],
  // core: what a feature adds to the status.
  status: ['model', 'runtime', 'core'],
  // cli and installer: doctor is a command, and its report names what the installer has put in place.
  doctor: ['model', 'runtime', 'schema', 'config', 'chatdb', 'mac', 'webhooks', 'client', 'cli', 'installer'],
  // It opens every room above. cli and doctor: what a feature may add to them. reader-worker: the types of its answers.
  core: [
    ...['model', 'runtime', 'schema', 'config', 'chatdb', 'sender', 'mac', 'log', 'state', 'streams', 'webhooks'],
    ...['http', 'status', 'doctor', 'cli', 'reader-worker'],
  ],
  // chatdb, mac and state: backup, restore and diagnostics need no service.
  cli: ['model', 'runtime', 'config', 'chatdb', 'mac', 'state', 'doctor', 'core', 'client', 'installer'],
  features: [
    ...['model', 'runtime', 'schema', 'config', 'chatdb', 'sender', 'mac', 'log', 'state', 'streams', 'webhooks'],
    ...['http', 'doctor', 'core', 'cli', 'client', 'reader-worker'],
  ],
  client: ['model', 'runtime'],
  // chatdb: the uninstaller asks which staged files Messages still shows.
  installer: ['model', 'runtime', 'config', 'chatdb', 'mac', 'client'],
  'reader-worker': ['model', 'runtime', 'chatdb'],
  main: ['model', 'cli'],
};

/** The rooms inside a feature, and which others each may import. A feature that is not listed may do as it likes. */
const ROOMS_OF_FEATURES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  fleet: { protocol: [], agent: ['protocol'], hub: ['protocol'], setup: ['protocol'] },
  search: { language: [], index: ['query'], query: ['index'] },
};

/** The rooms that may use an outside package, or a module of Node that touches the machine. */
const ALLOWED_USERS: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['runtime'],
  // Requested from Node at run time, because some builds of Node lack it.
  'node:sqlite': [],
  '@tinyhttp/app': ['http'],
  'rate-limiter-flexible': ['http'],
  'raw-body': ['http'],
  '@fastify/busboy': ['http'],
  'prom-client': ['http'],
  ws: ['streams', 'client'],
  axios: ['webhooks'],
  'axios-retry': ['webhooks'],
  '@ltd/j-toml': ['config'],
  'markdown-it': ['schema'],
  zod: ['schema', 'http', 'core', 'features'],
  '@modelcontextprotocol/server': ['features/mcp'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['main', 'cli', 'core', 'features'],
  plist: ['installer'],
  'node-mac-permissions': ['mac'],
  '@nats-io/transport-node': ['features/fleet/protocol'],
  '@nats-io/nats-core': ['features/fleet'],
  '@nats-io/jetstream': ['features/fleet'],
  '@nats-io/kv': ['features/fleet'],
  '@nats-io/nkeys': ['features/fleet'],
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

/** Returns the room of a file: a folder of src/core/, `core` for a file beside them, `features`, `client`, a root. */
function roomOf(file: string): string {
  const [top, second = '', third = ''] = file.split('/');
  if (top !== 'src') return top ?? '';
  return second === 'core' && !third.includes('.') ? third : second.replace(/\.ts$/, '');
}

/** Returns who uses a package in this file: its room, the feature, and the room of the feature. */
function usersIn(file: string): readonly string[] {
  const parts = dirname(file).split('/').slice(1);
  return [roomOf(file), parts.slice(0, 2).join('/'), parts.slice(0, 3).join('/')];
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
  'features/bluebubbles/feature.ts',
  'features/imsg/imsg-command.ts',
  'features/oauth/open-issuer.ts',
  'core/cli/commands/open-command.ts',
  'core/cli/commands/webhooks-listen-command.ts',
  'core/cli/listen-receiver.ts',
  'core/cli/mcp-pipe.ts',
  'core/cli/service-connection.ts',
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

const relativeImports = everyImport.filter(({ target }) => target.startsWith('.'));

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
      // What may import a feature is said below.
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
          rules.some(({ pattern, users }) => pattern.test(text) && !users.includes(roomOf(file)))
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

/** Returns how often each text occurs. */
function counted(texts: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}

/** The files that may import a feature's declaration. */
const LISTS = [`${FEATURES}list.ts`];
/** The files that may import a list. */
const ROOTS = ['src/main.ts', 'src/reader-worker.ts'];

/** How often rooms of the core import a feature. The list only shrinks: lower a number here when it falls. */
const CORE_NAMES_FEATURES: Readonly<Record<string, number>> = {
  'cli: fleet': 22,
  'core: access': 2,
  'core: changes': 1,
  'core: contacts': 5,
  'core: mcp': 2,
  'core: oauth': 2,
  'core: overview': 2,
  'core: search': 1,
  'doctor: fleet': 2,
  'http: search': 2,
  'reader-worker: search': 4,
};

/** How often a feature imports what another one does not show. The list only shrinks. */
const FEATURES_NAME_FEATURES: Readonly<Record<string, number>> = {
  'access: contacts': 1,
  'access: mcp': 1,
  'archive: contacts': 3,
  'mcp: search': 2,
  'oauth: access': 1,
  'overview: access': 1,
  'scheduled: mcp': 3,
};

/** Folders of features/ whose code has moved there, but which have no `feature.ts` yet. The list only shrinks. */
const NOT_YET_FEATURES = ['access', 'changes', 'console', 'contacts', 'mcp', 'oauth', 'overview', 'search'];

/** What a feature shows to those that need it. */
const SHARED_FILE = /^(?:port|types)\.ts$/;

/** The small tables and words that a declaration may load of its own feature. Every command loads them. */
const LIGHT_FILES = ['text.ts', 'problems.ts', 'scheduled.ts', 'demo-commands.ts'];

/** How a feature is recognised in a line of the core; default: its name. */
const WORDS: Readonly<Record<string, RegExp>> = {
  // What limits keys; access to a resource or to a file is another thing.
  access: /approv|self[-_ ]?chat|audit|limited[-_ ]key|preset|tapback/i,
  // Not Apple's archives of objects.
  archive: /postern export|ARCHIVED_|an archive reads|ArchiveSource/,
  canary: /canar/i,
  // How changes are detected; that there are events about them belongs to the core.
  changes: /changes?[-_ ]?(?:detection|store)|\bsweep|changes\.enabled|fingerprint/i,
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
  access: 706,
  archive: 2,
  bluebubbles: 1,
  changes: 75,
  console: 73,
  contacts: 149,
  fleet: 349,
  imsg: 1,
  mcp: 107,
  media: 7,
  oauth: 54,
  overview: 45,
  scheduled: 51,
  search: 278,
  simulator: 58,
};

describe('the features', () => {
  test('are imported by the core only where this is known, and their list only by the roots', () => {
    const wrong = relativeImports
      .map((one) => ({ file: one.file, to: pathOf(one) }))
      .filter(({ file, to }) => to.startsWith(FEATURES) && featureOf(file) === undefined)
      .filter(({ file, to }) => !(LISTS.includes(to) ? ROOTS.includes(file) : LISTS.includes(file)))
      .map(({ file, to }) => `${roomOf(file)}: ${featureOf(to) ?? to}`);
    expect(counted(wrong)).toEqual(CORE_NAMES_FEATURES);
  });

  test('import of each other only what the other shows, and say that they need it', () => {
    const between = relativeImports
      .map((one) => ({ ...one, from: featureOf(one.file), to: featureOf(pathOf(one)) }))
      .filter(({ from, to }) => from !== undefined && to !== undefined && from !== to);
    const wrong = between.filter(
      (one) => !SHARED_FILE.test(basename(pathOf(one))) || !needsOf(one.from ?? '').includes(one.to ?? ''),
    );
    expect(counted(wrong.map(({ from, to }) => `${from}: ${to}`))).toEqual(FEATURES_NAME_FEATURES);
    const used = new Set(between.map(({ from, to }) => `${from}: ${to}`));
    const said = featureNames().flatMap((name) => needsOf(name).map((needed) => `${name}: ${needed}`));
    expect(said.filter((one) => !used.has(one))).toEqual([]);
  });

  test('have a declaration, but for those that are still opened by the core', () => {
    expect(featureNames().filter((name) => !isDeclared(name))).toEqual(NOT_YET_FEATURES);
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
    expect([...order].sort()).toEqual(featureNames().filter(isDeclared));
    const early = order.flatMap((name, at) => needsOf(name).filter((needed) => order.indexOf(needed) >= at));
    expect(early).toEqual([]);
  });

  // A declaration is loaded by every command, so it loads nothing of its feature but small tables and words.
  test('are declared by modules that load no other code of theirs', () => {
    const heavy = featureNames()
      .filter(isDeclared)
      .flatMap((name) =>
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
    const found = featureNames().map((name) => {
      const word = WORDS[name] ?? new RegExp(name, 'i');
      return [name, lines.filter((text) => word.test(text)).length];
    });
    // A new feature begins at 0.
    const allowed = featureNames().map((name) => [name, NAMED[name] ?? 0]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed));
  });
});
