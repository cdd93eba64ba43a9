// Draws the pictures of the README that are no screenshots, from what the programs really print:
//   node docs/img/draw.mjs        (port 3001 must be free; needs script(1) of util-linux)
// The screenshots come from pages.mjs, the menus from menu-states.mjs.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Terminal, terminalPicture } from './terminal.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const home = mkdtempSync(join(tmpdir(), 'postern-pictures-'));
const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', LANG: 'C.UTF-8' };
/** Folders are called what a newcomer's would be called; nothing else is changed. */
const shortened = (text) => text.replaceAll(home, '~').replaceAll(root, '~/postern');

execFileSync('make', ['--silent', 'build'], { cwd: root, env, stdio: 'inherit' });
const began = performance.now();
const terminals = [];
const open = (command) => {
  const terminal = new Terminal(command, { cwd: root, env, began, shortened });
  terminals.push(terminal);
  return terminal;
};

try {
  const service = open('make demo');
  await service.until('Stop with Ctrl+C');
  const tail = open('node dist/main.js tail --demo');
  await tail.until('←');
  const send = open("node dist/main.js send --demo +15550100 'Shall I bring the ladder?'");
  await send.ended;
  await tail.until('I would say yes');
  writeFileSync(
    join(here, 'terminal.svg'),
    terminalPicture([
      service.upTo((line) => line.includes('tail --demo')),
      tail.upTo((line) => line.includes('I would say yes')),
      send.upTo(() => false),
    ]),
  );
} finally {
  for (const terminal of terminals.reverse()) await terminal.close();
  await wait(200);
  rmSync(home, { recursive: true, force: true });
}
