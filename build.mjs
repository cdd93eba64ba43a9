// Completes what the compiler put into dist/: the files it does not copy, the entry, and the bundled program.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GROUPS, groupedModules } from './tools/grouped-modules.mjs';
import { build, TARGET } from './tools/packages.mjs';
import { STANDALONE } from './tools/standalone.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));

/** The folders of packages. After `make run` those for building are only in the second. */
const PACKAGES = [`${root}node_modules`, `${root}tools/node_modules`];
const NOT_COMPILED = /^(?:|\.(?:applescript|sql|jsonl|html|css|js|svg|icns|bash|fish))$/;
/** Features that make more files for dist/ than the compiler does, each by its build.mjs. */
const BUILDERS = readdirSync(`${root}src/features`)
  .map((name) => `./src/features/${name}/build.mjs`)
  .filter((path) => existsSync(new URL(path, import.meta.url)));
/** Modules that run in a browser, and their style sheets. The feature's build.mjs bundles them. */
const IS_OF_BROWSER = /src\/features\/console\/(?!static\b)\w+(?:\/|$)/;

function copyAssets() {
  // The names of its bundles change.
  rmSync(`${root}dist/src/features/console`, { recursive: true, force: true });
  for (const folder of ['src', 'installer']) {
    cpSync(`${root}${folder}`, `${root}dist/${folder}`, {
      recursive: true,
      filter: (path) => NOT_COMPILED.test(extname(path)) && !IS_OF_BROWSER.test(path),
    });
    writeFileSync(`${root}dist/${folder}/package.json`, '{"type": "module"}\n');
  }
  cpSync(`${root}src/entry.cjs`, `${root}dist/main.js`);
  chmodSync(`${root}dist/main.js`, 0o755);
  writeFileSync(`${root}dist/package.json`, '{"type": "commonjs"}\n');
}

/** Transpiles every module separately, for the tests and the benchmark. The compiler only checks types. */
async function transpile() {
  const files = ['src', 'installer'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true }).map((path) => `${folder}/${path}`),
  );
  await build({
    absWorkingDir: root,
    entryPoints: files.filter((path) => /(?<!\.d)\.ts$/.test(path) && !IS_OF_BROWSER.test(path)),
    outdir: 'dist',
    outbase: '.',
    format: 'esm',
    platform: 'node',
    target: TARGET,
    sourcemap: true,
    sourcesContent: false,
    plugins: [compiledImports],
    logLevel: 'warning',
  });
}

/** Makes modules import compiled modules: replaces `.ts` in relative imports by `.js`. */
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

/** Packages whose licence must accompany their code, in the program and in the console. */
const LICENSED = [
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/core',
  '@nats-io/transport-node',
  '@nats-io/nats-core',
  '@nats-io/jetstream',
  '@nats-io/kv',
  '@nats-io/nkeys',
  'preact',
  '@preact/signals',
  '@preact/signals-core',
];

function copyLicences() {
  mkdirSync(`${root}dist/program/licences`, { recursive: true });
  for (const name of LICENSED) {
    const path = PACKAGES.map((folder) => `${folder}/${name}/LICENSE`).find((each) => existsSync(each));
    if (path === undefined) throw new Error(`${name} has no licence`);
    cpSync(path, `${root}dist/program/licences/${name.replace('/', '-')}.txt`);
  }
}

copyAssets();
for (const path of BUILDERS) await import(path);
// Only tests and the benchmark read these modules, and `make run` alone does not install what those need.
if (!existsSync(`${root}node_modules/.for-running`)) await transpile();
// Scripts of threads and child processes, and the typed client, each as one file: a thread then starts in 45 ms instead
// of 60.
await build({
  absWorkingDir: root,
  entryPoints: STANDALONE.map((path) => `${path}.ts`),
  outdir: 'dist',
  outbase: '.',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: TARGET,
  sourcemap: true,
  external: ['better-sqlite3', 'bun:sqlite', 'ws'],
  logLevel: 'warning',
});
for (const folder of ['program', 'commands']) rmSync(`${root}dist/${folder}`, { recursive: true, force: true });
// A few large files, because loading several hundred modules takes longer than the rest of startup.
const bundle = {
  absWorkingDir: root,
  chunkNames: '[name]-[hash]',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: TARGET,
  legalComments: 'none',
  // Keeps names, so that a stack in the log can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  // Native modules, those of another runtime, and files that are served.
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
  plugins: [groupedModules('program')],
});
await build({
  ...bundle,
  entryPoints: Object.keys(GROUPS.commands).map((group) => ({ in: `group:${group}`, out: group })),
  outdir: 'dist/commands',
  plugins: [groupedModules('commands')],
});
copyLicences();
// The feature may have been removed.
if (existsSync(`${root}src/features/shell`)) {
  writeFileSync(`${root}dist/postern.1`, execFileSync(process.execPath, [`${root}dist/main.js`, 'man']));
}
