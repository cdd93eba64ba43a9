// The simulated Messages as a process of its own, so that chat.db has another writer than the gateway, one that can be
// killed at any moment. One argument: its settings as JSON. It ends when its standard input does.
import { existsSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { systemClock } from '../runtime/clock.ts';
import { openSqlite } from '../runtime/sqlite.ts';
import type { Command } from './commands.ts';
import type { MacosVersion } from './macos-versions.ts';
import { Messages } from './messages.ts';
import { People } from './people.ts';

/** Settings of one simulated Messages. */
export interface ProcessSettings {
  readonly home: string;
  readonly socketPath: string;
  readonly version: MacosVersion;
  /** Whether simulated people write by themselves and answer. */
  readonly hasPeople: boolean;
  /** Begin as after a Messages that was killed: -wal and -shm are deleted and created again. */
  readonly isReborn: boolean;
}

const settings = JSON.parse(process.argv[2] ?? '{}') as ProcessSettings;
const path = `${settings.home}/Library/Messages/chat.db`;
if (settings.isReborn && existsSync(path)) {
  // What the killed Messages had committed stays; only the side files are others.
  const database = openSqlite(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
}

let people: People | undefined;
const messages = new Messages({
  home: settings.home,
  version: settings.version,
  clock: systemClock,
  onSent: (chat, row, text) => people?.answer(chat, row, text),
});
if (settings.hasPeople) {
  people = new People(messages, systemClock);
  people.start();
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  createInterface({ input: socket }).on('line', (line) => void obey(line, socket));
});
rmSync(settings.socketPath, { force: true });
server.listen(settings.socketPath, () => process.stdout.write('ready\n'));
process.stdin.on('end', end).resume();
process.on('SIGTERM', end);
process.on('SIGINT', () => undefined); // Ctrl+C is for the gateway, which then ends this

async function obey(line: string, socket: Socket): Promise<void> {
  let answer: unknown;
  // The program that asked has ended: nobody waits for the answer any more.
  const ended = new AbortController();
  socket.once('close', () => ended.abort());
  try {
    answer = { ok: true, result: await messages.perform(JSON.parse(line) as Command, ended.signal) };
  } catch (error) {
    answer = { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
}

function end(): void {
  rmSync(settings.socketPath, { force: true });
  messages.close();
  process.exit(0);
}
