import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * The districts of src/, and which others each may import. In one sentence: domain ← runtime, config, schema ← mac,
 * events, search, access, store ← api, fleet, archive ← app ← cli.
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
  // features: the types of what they answer.
  client: ['domain', 'runtime', 'features'],
  simulator: ['domain', 'runtime'],
  events: ['domain', 'runtime', 'schema'],
  search: ['domain', 'runtime', 'schema'],
  fleet: ['domain', 'runtime', 'schema'],
  // mac: exporting an archive needs no running service.
  archive: ['domain', 'runtime', 'mac'],
  // search: queries are parsed where they are received.
  api: ['domain', 'runtime', 'schema', 'search', 'core'],
  app: ['domain', 'runtime', 'schema', 'config', 'mac', 'access', 'store', 'events', 'search', 'fleet', 'api', 'core'],
  // mac: the uninstaller asks which staged files Messages still shows.
  installer: ['domain', 'runtime', 'config', 'client', 'mac'],
  // fleet, mac and store: setting up a fleet, backup and restore work without a service.
  cli: [
    'domain',
    'runtime',
    'schema',
    'config',
    'client',
    'installer',
    'simulator',
    'mac',
    'store',
    'fleet',
    'archive',
    'app',
    'core',
  ],
  // The one place that knows the list.
  main: ['domain', 'cli', 'features'],
};

/** Rooms that others of the same district may import. All other rooms of a district do not import each other. */
const SHARED_ROOMS = ['fleet/protocol', 'search/language', 'search/index', 'search/query', 'api/openapi'];
const DISTRICTS_WITH_ROOMS = ['mac', 'events', 'search', 'store', 'api', 'fleet'];

/** The districts or rooms that may use an outside package, or a module of Node that touches the machine. */
const ALLOWED_USERS: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['runtime'],
  // Requested from Node at run time, because some builds of Node lack it.
  'node:sqlite': [],
  '@tinyhttp/app': ['api/http'],
  'rate-limiter-flexible': ['api/http'],
  'raw-body': ['api/http'],
  '@fastify/busboy': ['api/http'],
  'prom-client': ['api/http'],
  ws: ['events/streams', 'client'],
  axios: ['events/webhooks'],
  'axios-retry': ['events/webhooks'],
  '@ltd/j-toml': ['config'],
  'markdown-it': ['schema'],
  // mcp: the protocol's package takes the input schemas of tools.
  zod: ['schema', 'api/mcp', 'api/openapi', 'core', 'features'],
  '@modelcontextprotocol/server': ['api/mcp'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['main', 'cli', 'core', 'features'],
  plist: ['installer'],
  'node-mac-permissions': ['mac/system'],
  '@nats-io/transport-node': ['fleet/protocol'],
  '@nats-io/nats-core': ['fleet'],
  '@nats-io/jetstream': ['fleet'],
  '@nats-io/kv': ['fleet'],
  '@nats-io/nkeys': ['fleet'],
  'node:child_process': ['runtime', 'simulator'],
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

/** Returns the room of a file, such as `mac/chatdb`; its district if that has no rooms. */
function roomOf(file: string): string {
  const district = districtOf(file);
  return DISTRICTS_WITH_ROOMS.includes(district) ? file.split('/').slice(1, 3).join('/') : district;
}

const pathOf = ({ file, target }: Import): string => relative(root, resolve(root, dirname(file), target));

const everyImport = [...sources('src'), ...sources('installer')].flatMap(imports);

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
        return from !== to && districtOf(one.file) === districtOf(pathOf(one)) && !SHARED_ROOMS.includes(to);
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
          rules.some(({ pattern, users }) => pattern.test(text) && !users.includes(districtOf(file)))
            ? [`${file}:${index + 1} ${text.trim()}`]
            : [],
        ),
    );
    expect(wrong).toEqual([]);
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

  test('have at most 350 lines a file, and tests 400', () => {
    const isLong = (max: number) => (file: string) =>
      readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > max;
    expect([...sources('src'), ...sources('installer')].filter(isLong(350))).toEqual([]);
    const pages = readdirSync(join(root, 'src/api/console')).filter((name) => /\.(?:js|css)$/.test(name));
    expect(pages.map((name) => `src/api/console/${name}`).filter(isLong(300))).toEqual([]);
    expect(sources('test').filter(isLong(400))).toEqual([]);
  });
});

describe('the features', () => {
  const names = readdirSync(join(root, 'src/features'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  /** Returns the feature that a file belongs to; undefined for a file of the core. */
  const featureOf = (file: string): string | undefined => /^src\/features\/([\w-]+)\//.exec(file)?.[1];

  test('are imported by nothing but the list, and as types by the client', () => {
    const wrong = everyImport
      .filter(({ target }) => target.startsWith('.'))
      .filter((one) => featureOf(pathOf(one)) !== undefined && featureOf(one.file) !== featureOf(pathOf(one)))
      .filter(({ file }) => file !== 'src/features/list.ts' && !file.startsWith('src/client/'));
    expect(wrong).toEqual([]);
  });

  // A declaration is loaded by every command, so it loads nothing of its feature but small tables and words.
  test('are declared by modules that load no other code', () => {
    const light =
      /^(?:commander|\.\.\/\.\.\/(?:core\/feature|config|cli\/declaration|domain)|\.\/(?:text|problems|scheduled)\.ts)/;
    const heavy = names.flatMap((name) =>
      imports(`src/features/${name}/feature.ts`).filter(({ file, line, target }) => {
        const text = readFileSync(join(root, file), 'utf8').split('\n')[line - 1] ?? '';
        return !text.includes('import type') && !text.includes('import(') && !light.test(target);
      }),
    );
    expect(heavy).toEqual([]);
  });

  // Numbers of lines outside a feature that name it. They may only fall: lower them here when they do.
  const NAMED: Readonly<Record<string, number>> = { bluebubbles: 1, canary: 0, fleet: 682, scheduled: 60 };
  const WORDS: Readonly<Record<string, RegExp>> = {
    canary: /canar/i,
    // Without Send Later of Messages, and what the code itself schedules.
    scheduled:
      /scheduled[_ ]?(?:send|message|list|cancel|id|api|answer)|scheduler|'scheduled?'|\bscheduled\(|\.scheduled\b/i,
  };

  test.each(names)('are not named by the core: %s', (name) => {
    const word = WORDS[name] ?? new RegExp(name, 'i');
    const lines = sources('src')
      .filter((file) => featureOf(file) === undefined && file !== 'src/features/list.ts')
      .flatMap((file) =>
        readFileSync(join(root, file), 'utf8')
          .split('\n')
          .filter((text) => word.test(text)),
      );
    expect(lines.length).toBe(NAMED[name] ?? 0);
  });
});
