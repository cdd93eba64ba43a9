import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { MAIN } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const SCRIPTS = fileURLToPath(new URL('../../src/features/shell/completions/', import.meta.url));
const folder = temporaryFolder();
const evil = `Evil $(touch ${folder}/evil) ;touch`;
const evilInQuotes = `Quote '; touch ${folder}/evil; '"; touch ${folder}/evil; "`;
/**
 * Names of groups that a shell could take for an option, or a script for a command. The invisible marks before them are
 * removed.
 */
const commanding = ['--exec=touch $HOME/owned', '\u200e--url=http://127.0.0.1:9', ':files', ':folders', '-x'];
const env = {
  PATH: `${folder}/bin:${process.env.PATH ?? ''}`,
  HOME: folder,
  TMPDIR: folder,
  TERM: 'dumb',
  LANG: 'C.UTF-8',
};
let service: Service;
let webhook = '';

beforeAll(async () => {
  const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
  const groups: readonly (readonly [id: string, name: string])[] = [
    ['chat1', 'Garden party'],
    ['chat2', evil],
    ['chat3', evilInQuotes],
    ['shop', 'urn:biz:shop'],
    ['chat4', 'Special `\\!"'],
    ...commanding.map((name, index) => [`command${index}`, name] as const),
  ];
  for (const [id, name] of groups) {
    const chat = database.chat(`any;+;${id}`, ['+15550100', '+15550101'], { display_name: name });
    database.message({ chat, text: 'Hello', handle_id: database.handle('+15550100') });
  }
  const chat = database.chat('any;-;--url=x@example.net', ['--url=x@example.net']);
  database.message({ chat, text: 'Hello', handle_id: database.handle('--url=x@example.net') });
  const nameless = database.chat('-e;+;chat9', ['+15550100', '+15550101'], { display_name: '' });
  database.message({ chat: nameless, text: 'Hello', handle_id: database.handle('+15550100') });
  database.close();
  service = await Service.start({ chatDbPath: database.path });
  const answer = await service.post('/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.sent'] });
  webhook = (answer.json as { readonly id: string }).id;
  mkdirSync(join(folder, 'bin'));
  // Completes words as the program does, and otherwise prints its arguments. The program prints nothing if the service
  // does not answer within a second; every word here can be completed, so such a word is tried again.
  writeFileSync(
    join(folder, 'bin/postern'),
    `#!/bin/sh
[ "$1" = complete ] || { printf '<%s>' "$@"; echo; exit; }
for attempt in 1 2 3 4 5 6 7 8 9; do
  found=$('${process.execPath}' '${MAIN}' "$@")
  [ -n "$found" ] && printf '%s\\n' "$found" && exit
done
`,
  );
  chmodSync(join(folder, 'bin/postern'), 0o755);
});
afterAll(() => service.dispose());

const place = (): string => `--config-dir ${service.configFolder}`;

/** Declares a test that is skipped if this shell is not installed. */
function inShell(shell: string, name: string, run: () => Promise<void> | void): void {
  const isThere = spawnSync(shell, ['--version']).error === undefined;
  testIf(isThere, `needs ${shell}`)(`${shell} ${name}`, run);
}

/** Returns what an interactive shell in a terminal prints after these keys. */
async function typed(shell: readonly string[], setup: string, keys: string): Promise<string> {
  const [command = '', ...args] = shell;
  const words = [command, ...args].join(' ');
  const terminal = spawn('script', ['-qec', words, '/dev/null'], { env: { ...env, SHELL: '/bin/sh' }, cwd: folder });
  let shown = '';
  terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  // An open quote ends with the input.
  terminal.stdin.end(`${setup}\n${keys}\nexit\n`);
  await once(terminal, 'close');
  return shown;
}

function run(shell: readonly string[], script: string): string {
  const [command = '', ...args] = shell;
  const { stdout, stderr } = spawnSync(command, [...args, script], { env, cwd: folder, encoding: 'utf8' });
  return stdout + stderr;
}

function bash(line: string): readonly string[] {
  const script = `source ${SCRIPTS}postern.bash; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMP_LINE="\${COMP_WORDS[*]}"; _postern; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run(['bash', '--norc', '-c'], script).trim().split('\n');
}

function fish(line: string): readonly string[] {
  const script = `source ${SCRIPTS}postern.fish; complete -C ${JSON.stringify(line)}`;
  return run(['fish', '--no-config', '-c'], script).trim().split('\n');
}

describe('completion', () => {
  inShell('bash', 'offers commands, options and the names of conversations, quoted', () => {
    expect(bash('postern send x --att')).toEqual(['--attach']);
    expect(bash(`postern ${place()} messages Gard`)).toEqual(['Garden\\ party']);
    expect(bash(`postern ${place()} messages "'Gard"`)).toEqual(['Garden party']);
    expect(bash(`postern ${place()} webhooks show ''`)).toEqual([webhook.slice(0, 8)]);
  });

  inShell('fish', 'offers them with what they are', () => {
    expect(fish('postern webh')).toEqual([expect.stringMatching(/^webhooks\tList, add/)]);
    expect(fish(`postern ${place()} messages Gard`)).toEqual(['Garden party\tany;+;chat1']);
    expect(fish(`postern ${place()} webhooks show `)).toEqual([`${webhook.slice(0, 8)}\thttp://127.0.0.1:9/hook`]);
    expect(fish('postern send x --attach bi')).toEqual(['bin/']);
  });

  inShell('zsh', 'completes what is typed, quoted', async () => {
    const setup = `PS1='> '; autoload -U compinit; compinit -D -u; source ${SCRIPTS}_postern; stty -echo`;
    const shown = await typed(['zsh', '-f', '-i'], setup, `postern ${place()} messages Gard\t --js\t`);
    expect(shown).toContain(`<--config-dir><${service.configFolder}><messages><Garden party><--json>`);
  });

  inShell('bash', 'and the others never run the name of a group', async () => {
    expect(bash(`postern ${place()} messages Ev`).join()).toContain('\\$\\(touch');
    if (spawnSync('fish', ['--version']).error === undefined) fish(`postern ${place()} messages Ev`);
    if (spawnSync('zsh', ['--version']).error === undefined) {
      const setup = `autoload -U compinit; compinit -D -u; source ${SCRIPTS}_postern`;
      const shown = await typed(['zsh', '-f', '-i'], setup, `postern ${place()} messages Ev\t`);
      expect(shown).toContain(`<${evil}>`);
    }
    expect(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout).not.toContain('evil');
  });

  inShell('bash', 'offers the id of a group named like an option or a command of the script', () => {
    const offered = bash(`postern ${place()} tail ''`);
    expect(offered.filter((value) => /^[-:]/.test(value))).toEqual([]);
    for (const index of commanding.keys()) expect(offered).toContain(`any\\;+\\;command${index}`);
    expect(offered).toContain('any\\;-\\;--url=x@example.net');
    expect(offered).toContain('Garden\\ party');
  });

  inShell('fish', 'offers the id of a group named like an option or a command of the script', () => {
    const offered = fish(`postern ${place()} tail `).map((line) => line.split('\t')[0]);
    expect(offered.filter((value) => /^[-:]/.test(value ?? ''))).toEqual([]);
    for (const index of commanding.keys()) expect(offered).toContain(`any;+;command${index}`);
    expect(offered).toContain('any;-;--url=x@example.net');
    expect(offered).toContain('Garden party');
  });

  inShell('zsh', 'inserts no group name as an option, whatever TAB TAB takes first', async () => {
    const setup = `PS1='> '; autoload -U compinit; compinit -D -u; source ${SCRIPTS}_postern; stty -echo`;
    const shown = await typed(['zsh', '-f', '-i'], setup, `postern ${place()} tail \t\t`);
    expect(shown).toMatch(/<tail><(?:any|Garden|Evil|Quote)/);
    expect(shown).not.toMatch(/<tail><[-:]/);
  });

  inShell('bash', 'goes on after a word with : or =, at which bash splits it', async () => {
    const setup = `PS1='> '; stty -echo; source ${SCRIPTS}postern.bash`;
    for (const [line, words] of [
      [`messages --url ${service.url} --js`, `<messages><--url><${service.url}><--json>`],
      [`messages --url=http://127.0.0.1:9 ${place()} --js`, '<--json>'],
      ['tail --type=message.rec', '<tail><--type=message.received>'],
      ['tail --type=r', '<tail><--type=reaction.>'],
      ['tail --type message.rec', '<tail><--type><message.received>'],
      [`${place()} tail any:x`, '<tail><any:x>'],
      [`${place()} tail urn:bi`, '<tail><urn:biz:shop>'],
      [`messages ${place()} --url=${service.url} Gard`, `<--url=${service.url}><Garden party>`],
    ] as const) {
      expect(await typed(['bash', '--norc', '-i'], setup, `postern ${line}\t`)).toContain(words);
    }
  });

  inShell('bash', 'runs nothing of a group name that is completed within quotes', async () => {
    const setup = `PS1='> '; stty -echo; source ${SCRIPTS}postern.bash`;
    for (const begun of [`"Ev`, `'Ev`, `"Ev"`, `'Ev'`, `'Quo`]) {
      const shown = await typed(['bash', '--norc', '-i'], setup, `postern ${place()} messages ${begun}\t`);
      expect(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout).not.toContain('evil');
      expect(shown).toContain(`<${begun.includes('Ev') ? evil : evilInQuotes}>`);
    }
  });

  inShell('bash', 'quotes a name for the quote that is open', () => {
    expect(bash(`postern ${place()} messages "'Quo"`)).toEqual([evilInQuotes.replaceAll("'", `'\\''`)]);
    expect(bash(`postern ${place()} messages '"Ev'`)).toEqual([evil.replace('$', '\\$')]);
    expect(bash(`postern ${place()} messages '"Sp'`)).toEqual([`Special \\\`\\\\"'!'"\\"`]);
  });

  test('is silent and soon over where no service answers', () => {
    const args = [MAIN, 'complete', '--', '--config-dir', ABSENT, 'messages', ''];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
