// Where the modules in TypeScript are as JavaScript: in files named after what they were compiled from, so that none is
// stale, also while a file is mutated and keeps its time.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const COMPILED = join(ROOT, 'node_modules/.cache/modules');

/** Returns the name of the compiled form of a module. The path counts too, because the source map names the file. */
export function compiledName(path, source) {
  return `${createHash('sha256').update(`${path}\0${source}`).digest('hex').slice(0, 32)}.js`;
}

/** Returns the path of the compiled form of the module with this URL; undefined if it is not in TypeScript. */
export function compiledPath(url) {
  const path = modulePath(url);
  return path === undefined ? undefined : join(COMPILED, compiledName(path, readFileSync(path, 'utf8')));
}

/** Reports whether the URL is that of a module below test/. */
export function isOfTests(url) {
  return modulePath(url)?.startsWith(join(ROOT, 'test/')) ?? false;
}

function modulePath(url) {
  if (!/^file:.*\.ts(?:\?\d+)?$/.test(url)) return undefined;
  const path = fileURLToPath(url);
  return path.startsWith(ROOT) ? path : undefined;
}
