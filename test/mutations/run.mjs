// Breaks one check after the other and sees a test fail. Outside CI, because it takes minutes:
//   npm run build && node test/mutations/run.mjs access|core [beginning of a name]
// One name a line with the test that noticed, or SURVIVED. It edits src/ and puts every file back; run it in a copy with nothing else going on.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [list = 'access', wanted = ''] = process.argv.slice(2);
/** Each check: its name and file, its text, what replaces it, and the tests that must notice. */
const MUTATIONS = JSON.parse(readFileSync(new URL(`${list}.json`, import.meta.url), 'utf8'));

const root = fileURLToPath(new URL('../../', import.meta.url));
function run(command, args) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8' });
}

let survived = 0;
for (const { name, file, text, mutated, tests, note = '' } of MUTATIONS) {
  if (!name.startsWith(wanted)) continue;
  const path = `${root}${file}`;
  const original = readFileSync(path, 'utf8');
  const { atime, mtime } = statSync(path);
  if (original.split(text).length !== 2) {
    console.log(`| ${name} | ${file} | NOT FOUND |`);
    survived += 1;
    continue;
  }
  try {
    writeFileSync(
      path,
      original.replace(text, () => mutated),
    );
    if (tests.some((test) => /^test\/(?:e2e|bluebubbles|imsg)\//.test(test))) {
      // Only the bundle is built, because a mutation that the compiler would reject should still reach the tests.
      const { status, stderr } = run(process.execPath, ['build.mjs']);
      if (status !== 0) throw new Error(stderr);
    }
    utimesSync(path, atime, mtime);
    const jest = ['node_modules/jest/bin/jest.js', '--maxWorkers=1', '--bail', ...tests];
    const { status, stdout, stderr } = run(process.execPath, jest);
    const failed = /● (.*)/.exec(stdout + stderr)?.[1] ?? '';
    if (status === 0) survived += 1;
    console.log(`| ${name} | ${file} | ${status === 0 ? `SURVIVED ${note}` : failed} |`);
  } finally {
    writeFileSync(path, original);
    utimesSync(path, atime, mtime);
  }
}
run(process.execPath, ['build.mjs']);
process.exitCode = survived === 0 ? 0 : 1;
