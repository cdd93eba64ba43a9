// Runs once before all tests: refuses a stale build and gives the suite a temporary folder of its own.
import { mkdtempSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

const BUILT_FROM = ['src', 'installer', 'build.mjs', 'package.json', 'tsconfig.build.json'];

export default function start({ rootDir }) {
  refuseStaleBuild(rootDir);
  // A socket's path has at most 103 bytes on macOS, and the usual TMPDIR there takes 49 of them. Elsewhere the name is
  // as long as /private/tmp makes it there, so that a path which is too long for macOS fails everywhere.
  process.env.TMPDIR = mkdtempSync(join(realpathSync('/tmp'), 'pt-').padEnd('/private/tmp/pt-'.length, '-'));
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
