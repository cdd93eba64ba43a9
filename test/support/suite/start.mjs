// Runs once before all tests: refuses a stale build and creates a temporary folder for the suite.
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compileModules } from './compile.mjs';

/** A folder in memory, on Linux. On ext4, creating a folder or a file takes twenty times the processor time. */
const IN_MEMORY = '/dev/shm';
/** More than a run ever stores at a time. */
const ENOUGH_BYTES = 3 * 1024 ** 3;
const PREFIX = 'pt-';

const BUILT_FROM = [
  'src',
  'installer',
  'build.mjs',
  'tools/grouped-modules.mjs',
  'tools/packages.mjs',
  'tools/standalone.mjs',
  'package.json',
  'tsconfig.build.json',
];

export default async function start({ rootDir }) {
  refuseStaleBuild(rootDir);
  await refuseWithoutSqlite();
  await compileModules();
  process.env.TMPDIR = temporaryFolder(hasRoomInMemory() ? IN_MEMORY : realpathSync('/tmp'));
}

/** Creates a folder for this process, and removes those of runs that have ended. */
function temporaryFolder(parent) {
  const names = readdirSync(parent).filter((name) => /^pt-+\d+$/.test(name));
  for (const name of names.filter(isOfEndedProcess)) rmSync(join(parent, name), { recursive: true, force: true });
  // A socket's path has at most 103 bytes on macOS. The name is as long as one in /private/tmp is there, so that a path
  // which is too long for macOS fails everywhere.
  const length = '/private/tmp/pt-XXXXXX'.length - `${parent}/${PREFIX}`.length;
  const path = join(parent, `${PREFIX}${String(process.pid).padStart(length, '-')}`);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

function isOfEndedProcess(name) {
  const pid = Number(/\d+$/.exec(name)?.[0]);
  try {
    return pid === process.pid || !process.kill(pid, 0);
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/**
 * Reports whether the folder in memory has room for what the tests write, and lets programs in it run: a container's
 * may not.
 */
function hasRoomInMemory() {
  if (process.platform !== 'linux') return false;
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, , kind, options = ''] = mounts.map((line) => line.split(' ')).find(([, path]) => path === IN_MEMORY) ?? [];
  if (kind !== 'tmpfs' || options.split(',').includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > ENOUGH_BYTES;
}

/** Tells at once what every test that opens a database would fail with. */
async function refuseWithoutSqlite() {
  const { assertSqlite } = await import('../../../dist/src/core/runtime/sqlite.js');
  assertSqlite();
}

function refuseStaleBuild(root) {
  const built = statSync(join(root, 'dist/main.js'), { throwIfNoEntry: false });
  if (built === undefined) throw new Error('dist/ is not built. Run make build, or make test, which builds it first.');
  for (const path of BUILT_FROM) {
    const newer = newerThan(built.mtimeMs, join(root, path));
    if (newer !== undefined) throw new Error(`dist/ is older than ${newer}. Run make build, or make test.`);
  }
}

function newerThan(timeMs, path) {
  const status = statSync(path);
  if (!status.isDirectory()) return status.mtimeMs > timeMs ? path : undefined;
  for (const name of readdirSync(path)) {
    const newer = name.startsWith('.') ? undefined : newerThan(timeMs, join(path, name));
    if (newer !== undefined) return newer;
  }
  return undefined;
}
