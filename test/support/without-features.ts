import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf, relativeImports, root, sources } from './imports.ts';

const FEATURES = join(root, 'src/features');
/** The lists of features: all other files are in the folder of one. */
const LISTS = ['src/features/list.ts', 'src/features/rows.ts'];

/** Returns the names of the folders of src/features/. */
export function featureNames(): readonly string[] {
  return readdirSync(FEATURES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** Reports whether the folder has a declaration. */
export function isDeclared(name: string): boolean {
  return existsSync(join(FEATURES, name, 'feature.ts'));
}

/** Returns the features that the declaration of a feature says it needs. */
export function needsOf(name: string): readonly string[] {
  if (!isDeclared(name)) return [];
  const text = readFileSync(join(FEATURES, name, 'feature.ts'), 'utf8');
  const [, list = ''] = /\bneeds: \[([^\]]*)\]/.exec(text) ?? [];
  return [...list.matchAll(/'([\w-]+)'/g)].map(([, needed = '']) => needed);
}

/** Returns a feature with all that need it, directly or not: the folders to delete together. */
export function deletedWith(name: string): readonly string[] {
  const deleted = new Set([name]);
  // Sees what is added while it runs.
  for (const gone of deleted) {
    for (const other of featureNames()) if (needsOf(other).includes(gone)) deleted.add(other);
  }
  return [...deleted].sort();
}

/** Returns a list of features without the lines of those that are gone. */
function listWithout(text: string, gone: readonly string[]): string {
  const lines = text.split('\n');
  const removed = lines.flatMap((line) => {
    const [, name, folder = ''] = /^import (?:type )?\{ (\w+) \} from '\.\/([\w-]+)\//.exec(line) ?? [];
    return name !== undefined && gone.includes(folder) ? [{ line, name }] : [];
  });
  const left = lines.filter((line) => !removed.some((one) => one.line === line)).join('\n');
  return removed.reduce(
    (shorter, { name }) => shorter.replace(new RegExp(`(?<=[[\\s])${name}(?:,|(?=\\]))`), ''),
    left,
  );
}

/** Matches all that a list may have beside its imports: an array of one type, which any shorter array has too. */
const ARRAY = /^(?:\/\*\*.*\*\/\n)?export const \w+: readonly \w+\[\] = \[([^\]]*)\];$/gm;

/** Returns what would not compile in the lists without these features. */
export function listErrors(gone: readonly string[]): readonly string[] {
  return LISTS.flatMap((list) => {
    const text = listWithout(readFileSync(join(root, list), 'utf8'), gone);
    const imported = [...text.matchAll(/^import (?:type )?\{ (\w+) \} from '[^']+';$/gm)];
    const used = [...text.matchAll(ARRAY)].flatMap(([, names = '']) => names.match(/\w+/g) ?? []);
    const unknown = used.filter((name) => !imported.some(([, one]) => one === name));
    const rest = imported.reduce((left, [line]) => left.replace(line, ''), text.replaceAll(ARRAY, '')).trim();
    return [...unknown.map((name) => `${list}: ${name} is not imported`), ...(rest === '' ? [] : [`${list}: ${rest}`])];
  });
}

/**
 * Returns the imports that are left without a file once folders are deleted. No other error is possible: of the files
 * that stay only the lists change, so whoever imports nothing that is gone sees the types that it saw.
 */
export function brokenImports(gone: readonly string[]): readonly string[] {
  const isGone = (file: string): boolean => gone.some((name) => file.startsWith(`src/features/${name}/`));
  return relativeImports
    .filter(({ file }) => !isGone(file) && !LISTS.includes(file))
    .filter((one) => isGone(pathOf(one)))
    .map((one) => `${one.file}: ${pathOf(one)}`)
    .sort();
}

/** Returns the files of features that declare members of a module outside, or of the global scope. */
export function augmenting(): readonly string[] {
  return sources('src/features').filter((file) =>
    /^declare (?:module|global)\b/m.test(readFileSync(join(root, file), 'utf8')),
  );
}
