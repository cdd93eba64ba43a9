// Compiles the modules in TypeScript, once for all workers: those that changed since the last run.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stop, transform } from 'esbuild';
import { COMPILED, compiledName, ROOT } from './modules.mjs';

const FOLDERS = ['src', 'installer', 'test', 'bench'];

export async function compileModules() {
  mkdirSync(COMPILED, { recursive: true });
  const sources = FOLDERS.flatMap((folder) => modulesBelow(join(ROOT, folder))).map((path) => {
    const source = readFileSync(path, 'utf8');
    return { path, source, name: compiledName(path, source) };
  });
  const there = new Set(readdirSync(COMPILED));
  await Promise.all(sources.filter(({ name }) => !there.has(name)).map(compile));
  await stop();
  const wanted = new Set(sources.flatMap(({ name }) => [name, `${name}.map`]));
  for (const name of there) if (!wanted.has(name)) rmSync(join(COMPILED, name), { force: true });
}

function modulesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : modulesBelow(path);
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : [];
  });
}

async function compile({ path, source, name }) {
  const { code, map } = await transform(source, {
    loader: 'ts',
    target: 'es2022',
    sourcemap: 'external',
    sourcefile: basename(path),
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  write(`${name}.map`, map);
  write(name, code);
}

/** Another run in this folder may write or read the same file. */
function write(name, content) {
  const path = join(COMPILED, name);
  writeFileSync(`${path}.${process.pid}`, content);
  renameSync(`${path}.${process.pid}`, path);
}
