import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { imports, pathOf, relativeImports, roomOf, root, sources } from './support/imports.ts';
import { featureNames, isDeclared, needsOf } from './support/without-features.ts';

const FEATURES = 'src/features/';

/** Returns the feature that a file belongs to; undefined for a file of the core. */
function featureOf(file: string): string | undefined {
  return new RegExp(`^${FEATURES}([\\w-]+)/`).exec(file)?.[1];
}

/** The files that may import a feature's declaration. */
const LISTS = [`${FEATURES}list.ts`, `${FEATURES}rows.ts`];
/** The files that may import a list. */
const ROOTS = ['src/main.ts', 'src/reader-worker.ts'];

/** What a feature shows to those that need it. */
const SHARED_FILE = /^(?:port|types)\.ts$/;

/** The small tables and words that a declaration may load of its own feature. Every command loads them. */
const LIGHT_FILES = [
  'text.ts',
  'problems.ts',
  'scheduled.ts',
  'rules.ts',
  'demo-commands.ts',
  'commands.ts',
  'webhook-declarations.ts',
  'send-time.ts',
  'settings.ts',
  'clients.ts',
  'ended.ts',
  'tables.ts',
];

/** How a feature is recognised in a line of the core; default: its name. */
const WORDS: Readonly<Record<string, RegExp>> = {
  // That a key may be limited belongs to the core: every port says what such a key gets of it.
  access: /approv|audit|preset/i,
  // Not Apple's archives of objects.
  archive: /postern export|ARCHIVED_|an archive reads|ArchiveSource/,
  // Not those of Time Machine.
  backup: /\bbackup\b|backup_unusable|postern restore/i,
  canary: /canar/i,
  // Its webhooks and its port are the only ones of another protocol.
  bluebubbles: /bluebubbles|wire/i,
  // How changes are detected. That there are events about them, and that a row has a fingerprint, belongs to the core.
  changes: /changes?[-_ ]?detection|swept|changes\.enabled/i,
  // Not the value of `include`, which adds names, whoever knows them.
  contacts: /(?<!['`=])\bcontacts/i,
  // What its cards are called; that Messages has links, polls and stickers is known to the core.
  content:
    /\b(?:LinkPreview|AppCard|BusinessCard|ContactCard|LocationPin|DetectedData|(?:Card|File|Run)Content)\b|content-types/,
  doctor: /doctor|diagnos/i,
  fleet: /fleet|\bhub/i,
  // Not the projects that are named as sources.
  imsg: /(?<!\/)\bimsg\b(?! #|, pull| issue)/i,
  installation: /postern (?:install|uninstall|start|stop|restart|logs)\b/,
  // Not what Apple's programs convert.
  media: /media[ -]?cache|MediaConver/i,
  // Without Send Later of Messages, and what the code itself schedules.
  scheduled:
    /\bscheduled[_ ]?(?:send|message|list|cancel|id|api|answer)|scheduler|'scheduled?'|\bscheduled\(|client\.scheduled/i,
  // Not what looks for something, nor the query of a URL.
  search:
    /search[-_]?(?:hit|result|filter|report|index|complete|\.enabled)|`search|\.search\(q|\bsearch: \{|full-text/i,
  // Not the owner's conversation with themselves in chat.db, where Messages stores some rows twice.
  'self-chat': /self[-_]chat|self\.address/i,
  shell: /completion script|manual page|postern (?:completion|man)\b/,
  simulator: /simulat|\bdemo\b/i,
  'webhook-listener': /webhooks listen/,
};

/** Lines of the core that name a feature, and why they may. The numbers only fall: lower them here when they do. */
const NAMED: Readonly<Record<string, readonly [lines: number, why: string]>> = {
  access: [12, 'A deferred send says whether the owner approved it.'],
  backup: [7, 'A feature may end what must not survive a backup.'],
  bluebubbles: [37, 'A webhook may have another protocol, and so may a port.'],
  changes: [
    25,
    'The log of changes is written in one transaction with the cursor, and its table holds the state of detection.',
  ],
  console: [2, 'A link of the menu, and the refusal of a sign-in by another page.'],
  contacts: [10, 'The command line takes a name as a recipient.'],
  doctor: [7, 'A feature may add what doctor finds.'],
  fleet: [37, 'The status of a hub has its Macs, and lacks what one Mac has.'],
  imsg: [1, 'A source.'],
  mcp: [2, 'A feature may add tools, and a way to start a command.'],
  scheduled: [1, 'The description of `send_at`.'],
  shell: [1, 'A comment about the words that it completes.'],
  simulator: [41, '--demo is an option of every command.'],
};

/** Suites of unit/ and integration/ that load a feature. */
const MOST_SUITES = 32;

/** Returns the line of an import. */
function lineOf({ file, line }: { readonly file: string; readonly line: number }): string {
  return readFileSync(join(root, file), 'utf8').split('\n')[line - 1] ?? '';
}

/** Returns the features that a test loads, directly or not. The simulator is a tool of tests; the lists are of all. */
function loadedBy(test: string): readonly string[] {
  const files = new Set([test]);
  const features = new Set<string>();
  // Sees what is added while it runs.
  for (const file of files) {
    for (const one of imports(file)) {
      const isLoaded = one.target.startsWith('.') && !lineOf(one).includes('import type');
      const path = pathOf(one);
      const name = LISTS.includes(path) ? path : featureOf(path);
      if (isLoaded && name !== undefined && name !== 'simulator') features.add(name);
      else if (isLoaded && path.endsWith('.ts') && existsSync(join(root, path))) files.add(path);
    }
  }
  return [...features];
}

describe('the features', () => {
  test('are not imported by the core, and their lists only by the roots', () => {
    const wrong = relativeImports
      .map((one) => ({ file: one.file, to: pathOf(one) }))
      .filter(({ file, to }) => to.startsWith(FEATURES) && featureOf(file) === undefined)
      .filter(({ file, to }) => !(LISTS.includes(to) ? ROOTS.includes(file) : LISTS.includes(file)))
      .map(({ file, to }) => `${roomOf(file)}: ${featureOf(to) ?? to}`);
    expect(wrong).toEqual([]);
  });

  test('import of each other only what the other shows, and say that they need it', () => {
    const between = relativeImports
      .map((one) => ({ ...one, from: featureOf(one.file), to: featureOf(pathOf(one)) }))
      .filter(({ from, to }) => from !== undefined && to !== undefined && from !== to);
    const wrong = between.filter(
      (one) => !SHARED_FILE.test(basename(pathOf(one))) || !needsOf(one.from ?? '').includes(one.to ?? ''),
    );
    expect(wrong.map(({ file, to }) => `${file}: ${to}`)).toEqual([]);
    const used = new Set(between.map(({ from, to }) => `${from}: ${to}`));
    const said = featureNames().flatMap((name) => needsOf(name).map((needed) => `${name}: ${needed}`));
    expect(said.filter((one) => !used.has(one))).toEqual([]);
  });

  test('have a declaration', () => {
    expect(featureNames().filter((name) => !isDeclared(name))).toEqual([]);
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
      imports(`${FEATURES}${name}/feature.ts`).filter((one) => {
        const { target } = one;
        const text = lineOf(one);
        const isLoaded = !text.includes('import type') && !text.includes('import(');
        return isLoaded && target.startsWith('./') && !LIGHT_FILES.includes(basename(target));
      }),
    );
    expect(heavy).toEqual([]);
  });

  // The client has a method for each endpoint, and so names the features: it is the public word for what they do.
  test('are named by the core in few lines', () => {
    const core = sources('src').filter(
      (file) => featureOf(file) === undefined && !LISTS.includes(file) && roomOf(file) !== 'client',
    );
    const lines = core.flatMap((file) => readFileSync(join(root, file), 'utf8').split('\n'));
    const found = featureNames().map((name) => {
      const word = WORDS[name] ?? new RegExp(name, 'i');
      return [name, lines.filter((text) => word.test(text)).length];
    });
    // A new feature begins at 0.
    const allowed = featureNames().map((name) => [name, NAMED[name]?.[0] ?? 0]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed));
  });

  // The suites of unit/ and integration/ that reach none are the core's own tests without any feature.
  test('are loaded by few suites of the core', () => {
    const loading = ['test/unit', 'test/integration']
      .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
      .filter((file) => file.endsWith('.test.ts') && loadedBy(file).length > 0);
    // Only falls: a test of a feature belongs to the feature's folder.
    expect(loading).toHaveLength(MOST_SUITES);
  });
});
