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

/** Returns the files that a file imports, by their paths. Imports of src/ name files, so no search is needed. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g);
  return [...found].map(([, target = '']) => join(dirname(file), target));
}

/** The compiler over src/ and installer/ with folders of features hidden. */
export class CompilerWithoutFeatures {
  readonly #options: TypeScript.CompilerOptions;
  readonly #roots: readonly string[];
  readonly #host: TypeScript.CompilerHost;
  readonly #sources = new Map<string, TypeScript.SourceFile>();
  /** Key: a file. Value: the files that import it. */
  readonly #importers = new Map<string, Set<string>>();
  #gone: readonly string[] = [];

  constructor() {
    const path = join(ROOT, 'tsconfig.build.json');
    const parsed = ts.parseJsonConfigFileContent(
      ts.readConfigFile(path, (file) => ts.sys.readFile(file)).config,
      ts.sys,
      ROOT,
    );
    this.#options = { ...parsed.options, noEmit: true, declaration: false, emitDeclarationOnly: false };
    this.#roots = parsed.fileNames;
    for (const file of this.#roots) {
      for (const target of importsOf(file)) {
        this.#importers.set(target, (this.#importers.get(target) ?? new Set()).add(file));
      }
    }
    const host = ts.createCompilerHost(this.#options);
    this.#host = {
      ...host,
      fileExists: (file) => !this.#isGone(file) && host.fileExists(file),
      readFile: (file) => (this.#isGone(file) ? undefined : host.readFile(file)),
      directoryExists: (folder) => !this.#isGone(`${folder}/`) && ts.sys.directoryExists(folder),
      getSourceFile: (file, options) => this.#source(file, options),
    };
  }

  /**
   * Returns the errors of the compiler without these features, as `file: text`. Checks the files that import a hidden
   * one, and all that depend on a file with an error; no other file can notice.
   */
  errors(gone: readonly string[]): readonly string[] {
    this.#gone = gone;
    const roots = this.#roots.filter((file) => !this.#isGone(file));
    const program = ts.createProgram(roots, this.#options, this.#host);
    const errorsIn = (file: string): readonly string[] =>
      program
        .getSemanticDiagnostics(program.getSourceFile(file))
        .map(({ messageText }) => `${relative(ROOT, file)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
    const hidden = this.#roots.filter((file) => this.#isGone(file));
    const direct = new Set(
      hidden.flatMap((file) => [...(this.#importers.get(file) ?? [])]).filter((file) => !this.#isGone(file)),
    );
    const wrong = new Set([...direct].filter((file) => errorsIn(file).length > 0));
    // Sees what is added while it runs.
    for (const file of wrong) for (const one of this.#importers.get(file) ?? []) if (!this.#isGone(one)) wrong.add(one);
    return [...wrong].flatMap(errorsIn).sort();
  }

  #isGone(file: string): boolean {
    return this.#gone.some((name) => file.startsWith(`${FEATURES}/${name}/`));
  }

  /** Returns a parsed file, parsed once for all programs; a list is parsed without its lines of hidden features. */
  #source(file: string, options: TypeScript.ScriptTarget | TypeScript.CreateSourceFileOptions) {
    if (this.#isGone(file)) return undefined;
    const isList = dirname(file) === FEATURES;
    const key = isList ? `${file} without ${this.#gone.join()}` : file;
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    const text = ts.sys.readFile(file);
    if (text === undefined) return undefined;
    const made = ts.createSourceFile(file, isList ? listWithout(text, this.#gone) : text, options);
    this.#sources.set(key, made);
    return made;
  }
}
