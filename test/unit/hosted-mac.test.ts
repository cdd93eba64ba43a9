import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SCRIPT = join(ROOT, '.ci/hosted-mac');
const WORKFLOW = join(ROOT, '.github/workflows/ci.yml');
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

interface Job {
  readonly strategy?: { readonly matrix: { readonly os: readonly string[] } };
  readonly steps: readonly { readonly run?: string; readonly if?: string }[];
}

testIf(has('ruby'), 'needs ruby')('the workflow is YAML, with labels that exist and steps that the script has', () => {
  const program = 'puts YAML.load_file(ARGV[0]).to_json';
  const { stdout, stderr } = spawnSync('ruby', ['-ryaml', '-rjson', '-e', program, WORKFLOW], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { jobs } = JSON.parse(stdout) as { readonly jobs: Readonly<Record<string, Job>> };
  // actions/runner-images: README (macos-26-intel), #13518 (macos-14 ended on 2 November 2026).
  const labels = ['macos-15', 'macos-15-intel', 'macos-26', 'macos-26-intel'];
  expect([jobs.macos?.strategy?.matrix.os, jobs['hosted-mac']?.strategy?.matrix.os]).toEqual([labels, labels]);
  const called = jobs['hosted-mac']?.steps.flatMap(({ run }) => /^\.ci\/hosted-mac (\w+)$/.exec(run ?? '')?.[1] ?? []);
  // A step that fails skips none of the others.
  const [, ...later] = jobs['hosted-mac']?.steps.filter(({ run }) => run?.startsWith('.ci/hosted-mac')) ?? [];
  expect(later.filter((step) => !/^\$\{\{ !cancelled\(\) \}\}$/.test(step.if ?? ''))).toEqual([]);
  const usage = spawnSync(SCRIPT, ['nothing'], {
    encoding: 'utf8',
    env: { ...process.env, HOSTED_MAC_OUT: join(root, 'usage') },
  });
  expect([usage.status, called?.join('|')]).toEqual([64, /hosted-mac (\S+)/.exec(usage.stderr)?.[1]]);
});

testIf(has('shellcheck'), 'needs shellcheck')('shellcheck objects to nothing in the steps', () => {
  expect(spawnSync('shellcheck', [SCRIPT], { encoding: 'utf8' }).stdout).toBe('');
});

const root = temporaryFolder();
let macs = 0;

/** The columns of TCC's table since macOS 14 (actions/runner-images, configure-tccdb-macos.sh). */
const TCC_TABLE = `CREATE TABLE access (service TEXT NOT NULL, client TEXT NOT NULL, client_type INTEGER NOT NULL,
  auth_value INTEGER NOT NULL, auth_reason INTEGER NOT NULL, auth_version INTEGER NOT NULL, csreq BLOB, policy_id INTEGER,
  indirect_object_identifier_type INTEGER, indirect_object_identifier TEXT NOT NULL DEFAULT 'UNUSED',
  indirect_object_code_identity BLOB, flags INTEGER, last_modified INTEGER NOT NULL DEFAULT 0, pid INTEGER,
  pid_version INTEGER, boot_uuid TEXT NOT NULL DEFAULT 'UNUSED', last_reminded INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (service, client, client_type, indirect_object_identifier))`;

/** Creates a Mac of programs that only record their calls, except sqlite3, which is real. */
function newMac() {
  macs += 1;
  const folder = join(root, `mac-${macs}`);
  const programs = join(folder, 'bin');
  const home = join(folder, 'home');
  const support = join(home, 'Library/Application Support/Postern');
  for (const path of [programs, support, join(home, 'Library/Messages')]) mkdirSync(path, { recursive: true });
  const program = (path: string, script: string): void =>
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const note = `echo "$(basename "$0") $*" >> '${folder}/asked'`;
  const plain = 'open log screencapture osascript sips say afconvert tccutil lsof file stat sysadminctl uuidgen'.split(
    ' ',
  );
  for (const name of plain) program(join(programs, name), note);
  program(join(programs, 'codesign'), `${note}\necho CDHash=0123 >&2`);
  program(join(programs, 'make'), `${note}\n[ "$1" != uninstall ] || touch '${folder}/gone'`);
  program(join(programs, 'launchctl'), `${note}\n[ ! -e '${folder}/gone' ]`);
  // The system's TCC database is the test's here.
  const sudo = `${note}
[ "$1" != -u ] || shift 2
[ "$1" = sqlite3 ] || exec "$@"
shift 3
exec sqlite3 '${folder}/tcc.db' "$2"`;
  program(join(programs, 'sudo'), sudo);
  program(
    join(support, 'postern'),
    `${note}
[ ! -e '${folder}/connected' ] && value=false || value=true
case "$*" in
  *--watch*) cat '${folder}/watched' ;;
  *--mac-report*) cat '${folder}/report' ;;
  *--prompt*--json*) cat '${folder}/answer' ;;
  *) echo "{\\"connected\\": $value}" ;;
esac`,
  );
  const sqlite = (file: string, sql: string): string => spawnSync('sqlite3', [file, sql], { encoding: 'utf8' }).stdout;
  sqlite(join(folder, 'tcc.db'), TCC_TABLE);
  const chatDb = join(home, 'Library/Messages/chat.db');
  sqlite(chatDb, `.read ${join(ROOT, 'src/features/simulator/schemas/macos-26.sql')}`);
  sqlite(chatDb, 'CREATE TRIGGER zz_new AFTER DELETE ON chat BEGIN\n  SELECT 1;\nEND');
  writeFileSync(join(folder, 'watched'), '"delay_ms": 12\n'.repeat(5));
  const probes = '"picture_in_sandbox": true,\n"sound_in_sandbox": true,\n"home_in_sandbox": false';
  writeFileSync(join(folder, 'report'), probes);
  writeFileSync(join(folder, 'answer'), 'Postern is not allowed to control Messages.');
  const results = join(folder, 'out');
  const run = (step: string) =>
    spawnSync('bash', [SCRIPT, step], {
      encoding: 'utf8',
      env: {
        PATH: `${programs}:/usr/bin:/bin`,
        HOME: home,
        HOSTED_MAC_OUT: results,
        HOSTED_MAC_SECOND: '0',
      },
    });
  const asked = (): string => (existsSync(join(folder, 'asked')) ? readFileSync(join(folder, 'asked'), 'utf8') : '');
  return { folder, results, chatDb, run, sqlite, asked };
}

testIf(has('sqlite3'), 'needs sqlite3')(
  'each step runs to its end on a Mac of stand-ins, and leaves what it found',
  () => {
    const { folder, results, chatDb, run, sqlite, asked } = newMac();
    const passes = (step: string): void => expect([step, run(step)]).toMatchObject([step, { status: 0 }]);
    for (const step of ['schema', 'install', 'denied']) passes(step);
    expect(readFileSync(join(results, 'schema.sql'), 'utf8')).toContain('CREATE TABLE message');
    expect(readFileSync(join(results, 'schema.diff'), 'utf8')).toContain(
      '> CREATE TRIGGER zz_new AFTER DELETE ON chat BEGIN\n>   SELECT 1;\n> END;\n',
    );
    expect(run('grant').status).toBe(1); // the agent does not notice
    writeFileSync(join(folder, 'connected'), '');
    for (const step of ['grant', 'dialog', 'rows', 'files', 'refused', 'report', 'accounts']) passes(step);
    expect(run('denied').status).toBe(1); // health no longer says so
    expect(
      sqlite(join(folder, 'tcc.db'), 'SELECT service, client, auth_value, indirect_object_identifier FROM access'),
    ).toBe(
      [
        'kTCCServiceSystemPolicyAllFiles|local.postern|2|UNUSED',
        'kTCCServiceSystemPolicyAllFiles|/opt/hca/hosted-compute-agent|2|UNUSED',
        'kTCCServiceAppleEvents|local.postern|0|com.apple.MobileSMS\n',
      ].join('\n'),
    );
    expect(sqlite(chatDb, 'SELECT count(*), count(DISTINCT guid), min(date) > 0 FROM message')).toBe('5|5|1\n');
    const whole = `SELECT count(*), count(DISTINCT chat_id) FROM message m JOIN chat_message_join ON message_id = m.ROWID
      JOIN handle h ON h.ROWID = m.handle_id JOIN chat c ON c.ROWID = chat_id WHERE c.chat_identifier = h.id`;
    expect(sqlite(chatDb, whole)).toBe('5|1\n');
    expect(asked()).toContain('make install ARGS=--no-wait --renew-runtime');
    expect(asked().match(/launchctl kickstart -k gui\/\d+\/local\.postern\.agent/g)).toHaveLength(2);
    expect(readFileSync(join(results, 'other-account.txt'), 'utf8')).toBe('1\n1\n');
    expect(asked()).toContain('tccutil reset AppleEvents local.postern');
    passes('uninstall');
  },
);

testIf(has('sqlite3'), 'needs sqlite3')(
  'a step fails when what its name says does not happen, and shows what macOS decided',
  () => {
    const { folder, results, run } = newMac();
    writeFileSync(join(folder, 'bin/log'), '#!/bin/sh\necho AUTHREQ_RESULT: denied\n', { mode: 0o755 });
    const failing = (step: string): void =>
      expect(run(step)).toMatchObject({ status: 1, stderr: expect.stringContaining('AUTHREQ_RESULT: denied') });
    // The question of an earlier step is still open.
    writeFileSync(join(folder, 'answer'), 'Messages has not answered yet. macOS is asking on the screen');
    failing('refused');
    writeFileSync(join(folder, 'watched'), `${'"delay_ms": 12\n'.repeat(4)}"delay_ms": null`);
    failing('rows');
    for (const probe of ['picture_in_sandbox', 'sound_in_sandbox', 'home_in_sandbox']) {
      const told = readFileSync(join(folder, 'report'), 'utf8');
      const isTrue = told.includes(`"${probe}": true`);
      writeFileSync(join(folder, 'report'), told.replace(`"${probe}": ${isTrue}`, `"${probe}": ${!isTrue}`));
      failing('report');
      writeFileSync(join(folder, 'report'), told);
    }
    // Another app than before, of the same Node.
    writeFileSync(
      join(folder, 'bin/codesign'),
      '#!/bin/sh\necho CDHash=$(wc -l < "$0.calls") >&2; echo >> "$0.calls"\n',
      { mode: 0o755 },
    );
    writeFileSync(join(folder, 'bin/codesign.calls'), '');
    failing('install');
    expect(existsSync(join(results, 'tcc-failed.txt'))).toBe(true);
  },
);

testIf(has('sqlite3'), 'needs sqlite3')('an agent that is still there after it was removed fails its step', () => {
  const { folder, run } = newMac();
  writeFileSync(join(folder, 'bin/make'), '#!/bin/sh\n', { mode: 0o755 });
  expect(run('uninstall').status).toBe(1);
});
