import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { imports, pathOf, relativeImports, roomOf, root, sources } from './support/imports.ts';
import { featureNames, isDeclared, needsOf } from './support/without-features.ts';

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
const LISTS = [`${FEATURES}list.ts`, `${FEATURES}rows.ts`];
/** The files that may import a list. */
const ROOTS = ['src/main.ts', 'src/reader-worker.ts'];

/** How often rooms of the core import a feature. The list only shrinks: lower a number here when it falls. */
const CORE_NAMES_FEATURES: Readonly<Record<string, number>> = {};

/** How often a feature imports what another one does not show. The list only shrinks. */
const FEATURES_NAME_FEATURES: Readonly<Record<string, number>> = {};

/** Folders of features/ whose code has moved there, but which have no `feature.ts` yet. The list only shrinks. */
const NOT_YET_FEATURES: readonly string[] = [];

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
  'settings.ts',
  'clients.ts',
  'ended.ts',
  'migrations.ts',
];

/** How a feature is recognised in a line of the core; default: its name. */
const WORDS: Readonly<Record<string, RegExp>> = {
  // What limits keys; access to a resource or to a file is another thing.
  access: /approv|self[-_ ]?chat|audit|limited[-_ ]key|preset|tapback/i,
  // Not Apple's archives of objects.
  archive: /postern export|ARCHIVED_|an archive reads|ArchiveSource/,
  // Not those of Time Machine.
  backup: /\bbackup\b|backup_unusable|postern restore/i,
  canary: /canar/i,
  // How changes are detected; that there are events about them belongs to the core.
  changes: /changes?[-_ ]?(?:detection|store)|\bsweep|changes\.enabled|fingerprint/i,
  // What its cards are called; that Messages has links, polls and stickers is known to the core.
  content:
    /\b(?:LinkPreview|AppCard|BusinessCard|ContactCard|LocationPin|DetectedData|(?:Card|File|Run)Content)\b|content-types/,
  doctor: /doctor|diagnos/i,
  // Not the projects that are named as sources.
  imsg: /(?<!\/)\bimsg\b(?! #|, pull| issue)/i,
  installation: /postern (?:install|uninstall|start|stop|restart|logs)\b/,
  media: /conversions?\b|media[ -]?cache/i,
  // Without Send Later of Messages, and what the code itself schedules.
  scheduled:
    /scheduled[_ ]?(?:send|message|list|cancel|id|api|answer)|scheduler|'scheduled?'|\bscheduled\(|\.scheduled\b/i,
  // Not what looks for something, nor the query of a URL.
  search:
    /search[-_]?(?:hit|result|filter|report|index|complete|\.enabled)|`search|\.search\(q|\bsearch: \{|full-text/i,
  shell: /completion script|manual page|postern (?:completion|man)\b/,
  simulator: /simulat|\bdemo\b/i,
};

/** Numbers of lines outside a feature that name it. They only fall: lower them here when they do. */
const NAMED: Readonly<Record<string, number>> = {
  access: 232,
  archive: 2,
  backup: 7,
  bluebubbles: 2,
  changes: 54,
  // A member of an answer, a link of the menu, and the refusal of a sign-in by another page.
  console: 3,
  contacts: 36,
  content: 19,
  doctor: 21,
  fleet: 5,
  imsg: 1,
  mcp: 5,
  media: 3,
  oauth: 5,
  overview: 10,
  scheduled: 37,
  search: 18,
  shell: 1,
  simulator: 42,
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
