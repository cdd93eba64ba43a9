// The simulated Messages as a separate process. It writes chat.db beside the gateway, and a test can kill it at any
// moment. Takes its settings as one JSON argument. Ends when its standard input does.
import { existsSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { boundedLines } from '../../core/runtime/bounded-lines.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { openSqlite } from '../../core/runtime/sqlite.ts';
import type { Command } from './commands.ts';
import type { MacosVersion } from './macos-versions.ts';
import { Messages } from './simulated-messages.ts';
import { SimulatedPeople } from './simulated-people.ts';

/** Settings of one simulated Messages. */
export interface ProcessSettings {
  readonly home: string;
  readonly socketPath: string;
  readonly version: MacosVersion;
  /** True to add simulated people who write and answer on their own. */
  readonly hasPeople: boolean;
  /** True if the simulated people write nothing unprompted after their story. */
  readonly isQuiet: boolean;
  /** True to start as after a kill: deletes and recreates -wal and -shm. */
  readonly isReborn: boolean;
}

/** More than any command has. */
const MAX_COMMAND_BYTES = 64 * 1024 * 1024;

const settings = JSON.parse(process.argv[2] ?? '{}') as ProcessSettings;
const path = `${settings.home}/Library/Messages/chat.db`;
if (settings.isReborn && existsSync(path)) {
  // Moves the commits of the killed Messages from -wal to chat.db. Then removes -wal and -shm, so that SQLite creates
  // new ones.
  const database = openSqlite(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
}

let people: SimulatedPeople | undefined;
const messages = new Messages({
  home: settings.home,
  version: settings.version,
  clock: systemClock,
  onSent: (chat, row, text) => people?.answer(chat, row, text),
});
if (settings.hasPeople) {
  people = new SimulatedPeople(messages, systemClock, settings);
  people.start();
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  void take(socket);
});
rmSync(settings.socketPath, { force: true });
server.listen(settings.socketPath, () => process.stdout.write('ready\n'));
process.stdin.on('end', end).resume();
process.on('SIGTERM', end);
process.on('SIGINT', () => undefined); // Ctrl+C is for the gateway, which then ends this process

async function take(socket: Socket): Promise<void> {
  try {
    for await (const line of boundedLines(socket, MAX_COMMAND_BYTES)) void obey(line ?? '', socket);
  } catch {
    // The program that sent the command has ended.
  }
}

async function obey(line: string, socket: Socket): Promise<void> {
  let answer: unknown;
  // Aborts when the program that sent the command has ended, because nobody needs the answer then.
  const ended = new AbortController();
  socket.once('close', () => ended.abort());
  try {
    const command = JSON.parse(line) as Command;
    answer = { ok: true, result: command.do === 'story' ? tellStory() : await messages.perform(command, ended.signal) };
  } catch (error) {
    answer = { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
}

function tellStory(): object {
  if (people === undefined) throw new Error('there are no people');
  people.tell();
  return {};
}

function end(): void {
  rmSync(settings.socketPath, { force: true });
  messages.close();
  process.exit(0);
}
