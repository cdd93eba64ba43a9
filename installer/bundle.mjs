// Puts the program into a few files, dist/program/: loading it from several hundred took longer than all else at its start.
import { readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Own modules find their scripts and pages by their own place: in the bundle too, that is where the compiler put them. */
const ownPlaces = {
  name: 'own-places',
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|installer)\/.*\.ts$/ }, ({ path }) => {
      const compiled = relative(root, path).replace(/\.ts$/, '.js');
      const contents = readFileSync(path, 'utf8').replaceAll(
        'import.meta.url',
        `new URL('../${compiled}', import.meta.url).href`,
      );
      return { contents, loader: 'ts' };
    });
  },
};

rmSync(`${root}dist/program`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outdir: 'dist/program',
  entryNames: 'main',
  chunkNames: '[name]-[hash]',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  legalComments: 'none',
  // What is native, belongs to another runtime, or is read as files.
  external: ['better-sqlite3', 'bun:sqlite', 'node-mac-permissions', 'swagger-ui-dist'],
  // Packages that are CommonJS ask for Node's own modules in their own way.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  plugins: [ownPlaces],
  logLevel: 'warning',
});
