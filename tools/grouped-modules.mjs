// An esbuild plugin that decides which modules of a bundle share a file. It rewrites `import('…')` to import the file of
// the module's group, because esbuild would write a file for each module that is loaded on demand. It also rewrites
// `import.meta.url` to the place of the compiled module.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Modules that are loaded on demand, grouped by the file that contains them; the first pattern that fits decides. `*` is
 * one name of a path, `**` any number, `{a,b}` either. The bundle `program` is the service, `commands` everything else.
 * Groups save files: each file costs npm a millisecond or more when it unpacks the package, and Node some time at
 * startup. A module that is not listed has its own file.
 */
export const GROUPS = {
  program: {
    // What every service loads. What only some services load is in `programs`.
    service: [
      'core/service',
      'core/cli/commands/serve-command',
      'features/*/{run,demo}-command',
      'features/*/{open,pages}',
      // A service that has no descriptor left can still answer with what it has loaded.
      'core/http/*/handlers',
    ],
    access: ['features/access/*', 'features/*/handlers'],
    mcp: ['features/mcp/endpoint', 'features/*/tools'],
    documents: ['core/http/openapi/*', '{core/http,features}/*/document'],
    search: ['features/search/**'],
    hub: ['features/fleet/hub/*'],
    fleet: ['features/fleet/agent/*'],
    desk: ['features/fleet/setup/*'],
    storage: ['features/**/*-store', 'features/oauth/public-document', 'core/config/settings-report'],
    programs: ['core/http/attachments/multipart', 'features/mcp/subscriptions/*', 'features/*/*'],
  },
  commands: {
    mac: ['features/doctor/cli/*', 'features/installation/*'],
    demo: ['features/simulator/*'],
    files: ['features/archive/*', 'features/backup/*'],
    programs: ['features/imsg/*', 'features/*/cli/*'],
    client: ['core/cli/**', 'client/*', 'features/*/{shown,*command,*commands}'],
  },
};
const DYNAMIC_IMPORT = /(?<!typeof )\bimport\('(\.[^']+\.ts)'\)/g;
const WILDCARDS = { '**': '.*', '*': '[^/]*', '{': '(?:', ',': '|', '}': ')' };

/** Returns the path below src/, without the file extension. */
const moduleOf = (file) => relative(`${root}src`, file).replace(/\.ts$/, '');
const memberOf = (file) => moduleOf(file).replaceAll(/\W/g, '_');
const names = (entry, file) =>
  new RegExp(`^${entry.replaceAll(/\*\*|[*{,}]/g, (found) => WILDCARDS[found])}$`).test(moduleOf(file));
const groupIn = (bundle, file) =>
  Object.entries(GROUPS[bundle]).find(([, entries]) => entries.some((entry) => names(entry, file)))?.[0];
const isServing = (file) => GROUPS.program.service.some((entry) => names(entry, file));
const isCommand = (file) =>
  /^(?:core\/cli\/|features\/[\w-]+\/(?:cli\/[\w-]+|shown|[\w-]*commands?)$)/.test(moduleOf(file)) && !isServing(file);

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
  // A feature may have been removed.
  .filter((entry) => !entry.startsWith('features/') && ![...onDemand].some((file) => names(entry, file)));
if (unused.length > 0) throw new Error(`GROUPS names modules that nothing loads on demand: ${unused.join(', ')}`);

/** Groups of the program that a command loads without a service. */
const WITHOUT_SERVICE = new Set(['desk', 'programs']);

/**
 * Returns imports of what is loaded before a group anyway. esbuild gives each set of modules that the same files need a
 * file of its own; with these imports, the modules of every service are two sets instead of some seventy.
 */
function alreadyLoaded(group) {
  if (WITHOUT_SERVICE.has(group)) return [];
  if (group !== 'service') return ["import 'group:service';"];
  const main = readFileSync(`${root}src/main.ts`, 'utf8');
  return [...main.matchAll(/^import (?!type)[^;]* from '\.(\/[^']+)';/gm)].map(([, path]) => `import './src${path}';`);
}

/**
 * Puts modules into the files of GROUPS, each as a member of its file. Sets `import.meta.url` to the place of the
 * compiled module, so that modules find their scripts and pages beside themselves.
 */
export function groupedModules(bundle) {
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
          .filter((file) => groupIn(bundle, file) === group && !(bundle === 'program' ? isCommand : isServing)(file))
          .map((file) => `export * as ${memberOf(file)} from '${file}';`)
          .concat(bundle === 'program' ? alreadyLoaded(group) : [])
          .join('\n'),
        resolveDir: root,
      }));
    },
  };
}
