// Completes what the compiler put into dist/: the files it does not copy, the entry, and the bundled program.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './tools/packages.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));

const NOT_COMPILED = new Set(['.applescript', '.sql', '.html', '.css', '.js', '.svg', '.icns', '.bash', '.fish']);

function copyAssets() {
  for (const folder of ['src', 'installer']) {
    cpSync(`${root}${folder}`, `${root}dist/${folder}`, {
      recursive: true,
      filter: (path) => extname(path) === '' || NOT_COMPILED.has(extname(path)),
    });
    writeFileSync(`${root}dist/${folder}/package.json`, '{"type": "module"}\n');
  }
  cpSync(`${root}src/entry.cjs`, `${root}dist/main.js`);
  chmodSync(`${root}dist/main.js`, 0o755);
  writeFileSync(`${root}dist/package.json`, '{"type": "commonjs"}\n');
}

/** Every module for itself, for child processes and the typed client; the compiler only checks types. */
async function transpile() {
  const files = ['src', 'installer'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true }).map((path) => `${folder}/${path}`),
  );
  await build({
    absWorkingDir: root,
    entryPoints: files.filter((path) => /(?<!\.d)\.ts$/.test(path)),
    outdir: 'dist',
    outbase: '.',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    plugins: [compiledImports],
    logLevel: 'warning',
  });
}

/** A module imports what its neighbour is compiled to. */
const compiledImports = {
  name: 'compiled-imports',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(/((?:\bfrom|\bimport)\s*\(?\s*'\.{1,2}\/[^']*)\.ts'/g, "$1.js'");
      return { contents, loader: 'ts' };
    });
  },
};

/** Modules find their scripts and pages beside themselves: in the bundle, where the compiler put the module. */
const modulePaths = {
  name: 'module-paths',
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

/** Paths of the commands beside the service, by name. */
const commands = new Map();
/** These run the service. */
const SERVING = new Set(['serve', 'run', 'demo']);

/**
 * The other commands have a bundle of their own: esbuild makes a file of each set of modules that the same entries
 * need, and with every command among them a start of the service reads 67 files, without them 45.
 */
const commandsApart = {
  name: 'commands-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir, kind }) => {
      const from = join(resolveDir, path);
      const name = basename(path, '.ts');
      if (kind !== 'dynamic-import' || !from.startsWith(`${root}src/cli/`) || SERVING.has(name)) return undefined;
      if (commands.has(name) && commands.get(name) !== from) throw new Error(`two commands are in files named ${name}`);
      commands.set(name, from);
      return { path: `../commands/${name}.mjs`, external: true };
    });
  },
};

/** Packages whose licence must stand beside their code. */
const APACHE_LICENSED = [
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/core',
  '@nats-io/transport-node',
  '@nats-io/nats-core',
  '@nats-io/jetstream',
  '@nats-io/kv',
  '@nats-io/nkeys',
];

function copyLicences() {
  mkdirSync(`${root}dist/program/licences`, { recursive: true });
  for (const name of APACHE_LICENSED) {
    cpSync(`${root}node_modules/${name}/LICENSE`, `${root}dist/program/licences/${name.replace('/', '-')}.txt`);
  }
}

// Bundled into a few files, because loading several hundred takes longer than the rest of a start.
copyAssets();
await transpile();
// In one file a thread starts in 45 ms instead of 60.
await build({
  absWorkingDir: root,
  entryPoints: ['src/app/reader-worker.ts'],
  outfile: 'dist/src/app/reader-worker.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  external: ['better-sqlite3', 'bun:sqlite'],
  logLevel: 'warning',
});
for (const folder of ['program', 'commands']) rmSync(`${root}dist/${folder}`, { recursive: true, force: true });
const bundle = {
  absWorkingDir: root,
  chunkNames: '[name]-[hash]',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  legalComments: 'none',
  // Names stay, so that a stack in the log can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  // Native modules, another runtime's, and files that are served.
  external: ['better-sqlite3', 'bun:sqlite', 'node-mac-permissions', 'swagger-ui-dist'],
  // CommonJS packages call require for Node's own modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
};
await build({
  ...bundle,
  entryPoints: ['src/main.ts'],
  outdir: 'dist/program',
  entryNames: 'main',
  plugins: [commandsApart, modulePaths],
});
await build({
  ...bundle,
  entryPoints: Object.fromEntries(commands),
  outdir: 'dist/commands',
  plugins: [modulePaths],
});
copyLicences();
writeFileSync(`${root}dist/postern.1`, execFileSync(process.execPath, [`${root}dist/main.js`, 'man']));
// The guide, out of the same Markdown: 0.3 s.
await import('./docs/site/build.mjs');
