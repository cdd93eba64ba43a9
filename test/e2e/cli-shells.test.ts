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

const SCRIPTS = fileURLToPath(new URL('../../src/cli/completions/', import.meta.url));
const folder = temporaryFolder();
const evil = `Evil $(touch ${folder}/evil) ;touch`;
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
  for (const [id, name] of [
    ['chat1', 'Garden party'],
    ['chat2', evil],
  ] as const) {
    const chat = database.chat(`any;+;${id}`, ['+15550100', '+15550101'], { display_name: name });
    database.message({ chat, text: 'Hello', handle_id: database.handle('+15550100') });
  }
  database.close();
  service = await Service.start({ chatDbPath: database.path });
  const answer = await service.post('/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.sent'] });
  webhook = (answer.json as { readonly id: string }).id;
  mkdirSync(join(folder, 'bin'));
  // Completes as the program does, and otherwise prints the words it was given.
  writeFileSync(
    join(folder, 'bin/postern'),
    `#!/bin/sh\n[ "$1" = complete ] && exec '${process.execPath}' '${MAIN}' "$@"\nprintf '<%s>' "$@"\necho\n`,
  );
  chmodSync(join(folder, 'bin/postern'), 0o755);
});
afterAll(() => service.dispose());

const place = (): string => `--config-dir ${service.configFolder}`;

/** A test that is skipped where there is no such shell. */
function inShell(shell: string, name: string, run: () => Promise<void> | void): void {
  const isThere = spawnSync(shell, ['--version']).error === undefined;
  testIf(isThere, `needs ${shell}`)(`${shell} ${name}`, run);
}

/** What an interactive shell in a terminal prints when these keys are pressed. */
async function typed(shell: readonly string[], setup: string, keys: string): Promise<string> {
  const [command = '', ...args] = shell;
  const words = [command, ...args].join(' ');
  const terminal = spawn('script', ['-qec', words, '/dev/null'], { env: { ...env, SHELL: '/bin/sh' }, cwd: folder });
  let shown = '';
  terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  terminal.stdin.write(`${setup}\n${keys}\nexit\n`);
  await once(terminal, 'close');
  return shown;
}

function run(shell: readonly string[], script: string): string {
  const [command = '', ...args] = shell;
  const { stdout, stderr } = spawnSync(command, [...args, script], { env, cwd: folder, encoding: 'utf8' });
  return stdout + stderr;
}

function bash(line: string): readonly string[] {
  const script = `source ${SCRIPTS}postern.bash; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _postern; printf '%s\\n' "\${COMPREPLY[@]}"`;
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

  test('is silent and soon over where no service answers', () => {
    const args = [MAIN, 'complete', '--', '--config-dir', ABSENT, 'messages', ''];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
