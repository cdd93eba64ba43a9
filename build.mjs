// Completes what the compiler put into dist/: the files it does not copy, the entry, and the bundled program.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './tools/packages.mjs';
import { STANDALONE } from './tools/standalone.mjs';

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

/** Minifies the console's scripts and style sheets, and replaces each style sheet's imports by their content. */
async function shrinkConsole() {
  const folder = 'src/api/console';
  const files = (ending) =>
    readdirSync(`${root}${folder}`)
      .filter((name) => name.endsWith(ending))
      .map((name) => `${folder}/${name}`);
  const shrunk = {
    absWorkingDir: root,
    outdir: `dist/${folder}`,
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  };
  await build({ ...shrunk, entryPoints: files('.js') });
  await build({ ...shrunk, entryPoints: files('.css'), bundle: true, external: ['swagger-ui.css'] });
}

/** Transpiles every module separately, for child processes and the typed client. The compiler only checks types. */
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

/**
 * Modules that are loaded on demand, grouped by the file that contains them. The bundle `program` is the service,
 * `commands` everything else. Groups save files: each file costs npm a millisecond or more when it unpacks the package,
 * and Node some time at startup. A module that is not listed has its own file.
 */
const GROUPS = {
  program: {
    service: ['app/service', 'cli/commands/serve-command', 'cli/commands/run-command', 'cli/commands/demo-command'],
    access: [
      'access/*',
      'app/access-parts',
      'api/http/routes/on-demand-routes',
      'schema/demo-request',
      'schema/sign-in-schema',
    ],
    mcp: ['api/mcp/*'],
    documents: ['api/openapi/*'],
    search: ['search/*'],
    programs: [
      'api/oauth/*',
      'api/wires/*',
      'events/webhooks/subscriptions/*',
      'api/http/issuer-door',
      'api/http/wire-port',
      'api/http/multipart',
    ],
    storage: [
      'store/state/oauth-store',
      'store/state/subscriptions-store',
      'runtime/public-document',
      'config/settings-report',
    ],
    fleet: ['app/hub', 'app/open-fleet', 'cli/commands/hub-command'],
  },
  commands: {
    fleet: ['cli/commands/fleet-*', 'fleet/*'],
    mac: [
      'cli/doctor/*',
      'cli/commands/doctor-command',
      'cli/commands/install-command',
      'cli/commands/uninstall-command',
      'cli/commands/agent-command',
      'cli/commands/logs-command',
    ],
    demo: ['cli/commands/demo-people-commands'],
    files: [
      'cli/commands/export-command',
      'cli/commands/export-verify-command',
      'cli/commands/backup-command',
      'cli/commands/restore-command',
    ],
    programs: ['cli/commands/imsg-command', 'cli/commands/mcp-command', 'cli/mcp-channel'],
    client: ['cli/*', 'client/*'],
  },
};
const DYNAMIC_IMPORT = /(?<!typeof )\bimport\('(\.[^']+\.ts)'\)/g;

/** Returns the path below src/, without the file extension. */
const moduleOf = (file) => relative(`${root}src`, file).replace(/\.ts$/, '');
const memberOf = (file) => moduleOf(file).replaceAll(/\W/g, '_');
const names = (entry, file) =>
  entry.endsWith('*') ? moduleOf(file).startsWith(entry.slice(0, -1)) : moduleOf(file) === entry;
const groupIn = (bundle, file) =>
  Object.entries(GROUPS[bundle]).find(([, entries]) => entries.some((entry) => names(entry, file)))?.[0];
const isCommand = (file) => moduleOf(file).startsWith('cli/') && groupIn('program', file) === undefined;

/** Every module that another one loads on demand. */
const onDemand = new Set(
  readdirSync(`${root}src`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .flatMap(({ parentPath, name }) =>
      [...readFileSync(join(parentPath, name), 'utf8').matchAll(DYNAMIC_IMPORT)].map(([, to]) => join(parentPath, to)),
    ),
);

const unused = Object.values(GROUPS)
  .flatMap((groups) => Object.values(groups).flat())
  .filter((entry) => ![...onDemand].some((file) => names(entry, file)));
if (unused.length > 0) throw new Error(`GROUPS names modules that nothing loads on demand: ${unused.join(', ')}`);

/**
 * Puts modules into the files of GROUPS, each as a member of its file. Sets `import.meta.url` to the place of the
 * compiled module, so that modules find their scripts and pages beside themselves.
 */
function groupedModules(bundle) {
  const loading = (file) => {
    if (bundle === 'program' && isCommand(file)) {
      return `import('../commands/${groupIn('commands', file)}.mjs').then((of) => of.${memberOf(file)})`;
    }
    const group = groupIn(bundle, file);
    return group && `import('group:${group}').then((of) => of.${memberOf(file)})`;
  };
  return {
    name: 'grouped-modules',
    setup({ onLoad, onResolve }) {
      onLoad({ filter: /\/(src|installer)\/.*\.ts$/ }, ({ path }) => {
        const compiled = relative(root, path).replace(/\.ts$/, '.js');
        const contents = readFileSync(path, 'utf8')
          .replaceAll('import.meta.url', `new URL('../${compiled}', import.meta.url).href`)
          .replaceAll(DYNAMIC_IMPORT, (found, to) => loading(join(dirname(path), to)) ?? found);
        return { contents, loader: 'ts' };
      });
      onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice('group:'.length), namespace: 'group' }));
      onResolve({ filter: /^\.\.\/commands\/\w+\.mjs$/ }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /./, namespace: 'group' }, ({ path: group }) => ({
        contents: [...onDemand]
          .filter(
            (file) =>
              groupIn(bundle, file) === group &&
              (bundle === 'program' || isCommand(file) || !moduleOf(file).startsWith('cli/')),
          )
          .map((file) => `export * as ${memberOf(file)} from '${file}';`)
          .join('\n'),
        resolveDir: root,
      }));
    },
  };
}

/** Packages whose licence must accompany their code. */
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

copyAssets();
await shrinkConsole();
await transpile();
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
  target: 'node20',
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
  target: 'node20',
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
writeFileSync(`${root}dist/postern.1`, execFileSync(process.execPath, [`${root}dist/main.js`, 'man']));
// Builds the guide from its Markdown, which takes 0.3 s.
await import('./docs/site/build.mjs');
