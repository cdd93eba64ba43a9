// Packs dist/ into one file that npm installs without a compiler or further downloads: release/postern-VERSION.tgz.
// The package contains no native programs and uses the SQLite in Node. Node 20 has none, so there only `postern/client`
// works; `engines` allows Node 20 for its sake.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STANDALONE } from '../../tools/standalone.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const project = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

/** The parts that `postern install` copies, and the program itself. */
const PARTS = ['dist', 'package.json', 'package-lock.json', '.npmrc', 'launchd', 'installer/menubar'];
/** The files loaded from each package outside the bundle. */
const PACKAGES = {
  'swagger-ui-dist': ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'],
};
/** Not packed: pages that dist/guide.pack contains, finished packages, and source maps. */
const LEFT_OUT = /\/dist\/guide$|\.(?:tgz|mcpb|map)$/;
/** Modules and type declarations. Bundles contain most of the modules, so `isKept` decides about each. */
const MODULES = /^(?:src|installer)\//;
const ENDING = /(?:\.d\.ts|\.js)$/;
/** Modules that no bundle contains: the console's scripts, and the simulated osascript. */
const ASSETS = /^src\/features\/(?:console\/static\/|simulator\/osascript$)/;
const TYPES = typesOf('src/client/postern-client');

const stage = mkdtempSync(join(tmpdir(), 'postern-release-'));
try {
  const folder = join(stage, 'package');
  for (const part of PARTS) copy(join(root, part), join(folder, 'project', part));
  for (const file of ['LICENSE', 'README.md']) copy(join(root, file), join(folder, file));
  const bundled = Object.keys(PACKAGES).filter((name) => copyPackage(name, folder));
  writeJson(join(folder, 'package.json'), {
    name: project.name,
    version: project.version,
    description: project.description,
    license: project.license,
    // The project's name in the registry of MCP servers, which reads it from here.
    mcpName: JSON.parse(readFileSync(`${root}server.json`, 'utf8')).name,
    bin: { postern: 'project/dist/main.js' },
    man: ['project/dist/postern.1'],
    exports: {
      './client': {
        types: './project/dist/src/client/postern-client.d.ts',
        default: './project/dist/src/client/postern-client.js',
      },
    },
    engines: project.engines,
    dependencies: Object.fromEntries(bundled.map((name) => [name, '*'])),
    bundleDependencies: bundled,
  });
  const file = `${root}release/${project.name}-${project.version}.tgz`;
  mkdirSync(`${root}release`, { recursive: true });
  execFileSync('tar', ['-czf', file, '-C', stage, 'package']);
  console.log(`${file}: ${(statSync(file).size / 2 ** 20).toFixed(1)} MiB`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, {
    recursive: true,
    filter: isKept,
  });
}

function isKept(path) {
  if (LEFT_OUT.test(path)) return false;
  const file = relative(join(root, 'dist'), path);
  const ending = MODULES.test(file) ? ENDING.exec(file)?.[0] : undefined;
  if (ending === undefined) return true;
  const module = file.slice(0, -ending.length);
  if (ASSETS.test(module)) return true;
  return ending === '.js' ? STANDALONE.includes(module) : TYPES.has(module);
}

/** Returns the modules whose types a module's types refer to, and the module itself. */
function typesOf(module, found = new Set()) {
  if (found.has(module)) return found;
  found.add(module);
  const text = readFileSync(`${root}dist/${module}.d.ts`, 'utf8');
  for (const [, path] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.(?:ts|js)'/g)) {
    typesOf(join(dirname(module), path), found);
  }
  return found;
}

/** Copies a package. Returns false if it is not installed, such as a native one that could not be built. */
function copyPackage(name, folder) {
  const from = join(root, 'node_modules', name);
  if (!PACKAGES[name].every((part) => existsSync(join(from, part)))) return false;
  for (const part of PACKAGES[name]) copy(join(from, part), join(folder, 'node_modules', name, part));
  const { version, license, main } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  // Omits scripts and dependencies, so that installing it neither builds nor downloads anything.
  writeJson(join(folder, 'node_modules', name, 'package.json'), { name, version, license, main });
  return true;
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
