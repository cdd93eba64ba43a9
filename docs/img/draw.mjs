// Draws the pictures of the README that are no screenshots, from what the programs really print:
//   node docs/img/draw.mjs        (port 3001 must be free; needs script(1) of util-linux, and curl)
// The screenshots come from pages.mjs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { menuPicture } from './menu.mjs';
import { Terminal, terminalPicture } from './terminal.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const home = mkdtempSync(join(tmpdir(), 'postern-pictures-'));
const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', LANG: 'C.UTF-8' };
/** Folders are called what a newcomer's would be called; nothing else is changed. */
const shortened = (text) => text.replaceAll(home, '~').replaceAll(root, '~/postern');
const URL_ = 'http://127.0.0.1:3001';

execFileSync('make', ['--silent', 'build'], { cwd: root, env, stdio: 'inherit' });
const began = performance.now();
const terminals = [];
const open = (command) => {
  const terminal = new Terminal(command, { cwd: root, env, began, shortened });
  terminals.push(terminal);
  return terminal;
};

try {
  const service = open('make run');
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

  // The plugin as SwiftBar runs it, in a home where it finds the demo's configuration and socket.
  const config = join(home, '.config/postern-demo/config.toml');
  const support = join(home, 'Library/Application Support');
  mkdirSync(support, { recursive: true });
  symlinkSync(dirname(config), join(support, 'Postern'));
  const plugin = () =>
    execFileSync('sh', [join(root, 'installer/menubar/postern.30s.sh')], {
      env: { ...env, SWIFTBAR: '1' },
      encoding: 'utf8',
    });
  const fine = plugin();
  const key = /^api_key = "(.+)"/m.exec(readFileSync(config, 'utf8'))[1];
  const post = async (path, body) =>
    (
      await fetch(`${URL_}/api/v1/${path}`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).json();
  await post('webhooks', { url: `${URL_}/openapi.json`, events: ['message.sent'] });
  const { id } = await post('webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.received'] });
  await post(`webhooks/${id}/test`, {});
  const failing = plugin();
  for (const scheme of ['light', 'dark']) {
    writeFileSync(join(here, `menu-${scheme}.svg`), menuPicture([fine, failing], scheme));
  }
} finally {
  for (const terminal of terminals.reverse()) await terminal.close();
  await wait(200);
  rmSync(home, { recursive: true, force: true });
}
