// Hooks of Node's module loader, in a thread of its own: finds the compiled form of a module in TypeScript, and gives each
// test file its own copy of the modules of test/, which declare hooks and keep what they opened.
import { readFile } from 'node:fs/promises';
import { compiledPath, isOfTests } from './modules.mjs';

const GLOBALS = ['afterAll', 'afterEach', 'beforeAll', 'beforeEach', 'describe', 'expect', 'test'];

export async function resolve(specifier, context, next) {
  const file = /\?\d+$/.exec(context.parentURL ?? '')?.[0] ?? '';
  if (specifier === '@jest/globals') return { url: `suite:globals${file}`, format: 'module', shortCircuit: true };
  const found = await next(specifier, context);
  return isOfTests(found.url) ? { ...found, format: 'module', url: found.url + file } : found;
}

export async function load(url, context, next) {
  if (url.startsWith('suite:')) {
    const source = GLOBALS.map((name) => `export const ${name} = globalThis.jestGlobals.${name};`).join('\n');
    return { format: 'module', source, shortCircuit: true };
  }
  const path = compiledPath(url);
  if (path === undefined) return next(url, context);
  return { format: 'module', source: await readFile(path), shortCircuit: true };
}
