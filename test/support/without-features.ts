import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as TypeScript from 'typescript';

const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
const ROOT = resolve(fileURLToPath(new URL('../..', import.meta.url)));
const FEATURES = join(ROOT, 'src/features');

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

/** A copy of a list without the lines of the features that are gone, which exists only for the compiler. */
interface ShortList {
  readonly file: string;
  readonly text: string;
}

/** What the compiler says about src/ and installer/ once folders of features are deleted. */
export class CompilerWithoutFeatures {
  readonly #options: TypeScript.CompilerOptions;
  readonly #files: readonly string[];
  /** Key: a file. Value: the files of src/ and installer/ that it imports, for types too. */
  readonly #imports: ReadonlyMap<string, readonly string[]>;

  constructor() {
    const path = join(ROOT, 'tsconfig.build.json');
    const parsed = ts.parseJsonConfigFileContent(
      ts.readConfigFile(path, (file) => ts.sys.readFile(file)).config,
      ts.sys,
      ROOT,
    );
    this.#options = { ...parsed.options, noEmit: true, declaration: false, emitDeclarationOnly: false };
    this.#files = parsed.fileNames;
    this.#imports = new Map(
      this.#files.map((file) => {
        const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
        return [file, importedFiles.map(({ fileName }) => resolve(dirname(file), fileName))];
      }),
    );
  }

  /**
   * Returns the imports that are left without a file. No other error is possible: of the files that stay only the lists
   * change, so whoever imports nothing that is gone sees the types that it saw.
   */
  brokenImports(gone: readonly string[]): readonly string[] {
    const isGone = (file: string): boolean => gone.some((name) => file.startsWith(`${FEATURES}/${name}/`));
    return [...this.#imports]
      .filter(([file]) => !isGone(file) && !isList(file))
      .flatMap(([file, targets]) =>
        targets.filter(isGone).map((target) => `${relative(ROOT, file)}: ${relative(ROOT, target)}`),
      )
      .sort();
  }

  /** Returns the files of features that declare members of a module outside, or of the global scope. */
  augmenting(): readonly string[] {
    return this.#files
      .filter((file) => file.startsWith(`${FEATURES}/`))
      .filter((file) => /^declare (?:module|global)\b/m.test(readFileSync(file, 'utf8')))
      .map((file) => relative(ROOT, file));
  }

  /** Returns the errors in the lists without each of these sets of features. They are checked in one program. */
  listErrors(sets: readonly (readonly string[])[]): readonly string[] {
    const shortLists = this.#files.filter(isList).flatMap((list) =>
      sets.map((gone): ShortList => {
        const file = list.replace(/\.ts$/, `-without-${gone.join('-')}.ts`);
        return { file, text: listWithout(readFileSync(list, 'utf8'), gone) };
      }),
    );
    const textOf = (file: string): string | undefined => shortLists.find((one) => one.file === file)?.text;
    const host = ts.createCompilerHost(this.#options);
    const program = ts.createProgram(
      shortLists.map(({ file }) => file),
      this.#options,
      {
        ...host,
        fileExists: (file) => textOf(file) !== undefined || host.fileExists(file),
        readFile: (file) => textOf(file) ?? host.readFile(file),
        getSourceFile(file, options) {
          const text = textOf(file);
          return text === undefined ? host.getSourceFile(file, options) : ts.createSourceFile(file, text, options);
        },
      },
    );
    return shortLists.flatMap(({ file }) =>
      program
        .getSemanticDiagnostics(program.getSourceFile(file))
        .map(({ messageText }) => `${relative(ROOT, file)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`),
    );
  }
}

/** Reports whether a file is a list of features: all others are in the folder of one. */
function isList(file: string): boolean {
  return dirname(file) === FEATURES;
}
