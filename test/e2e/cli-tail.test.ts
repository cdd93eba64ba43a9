import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Event } from '../../src/core/model/event.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { MAIN, type Running, startPostern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { ABSENT, BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
const chat = database.chat('any;-;+15550100', ['+15550100']);
const handle = database.handle('+15550100');
const running: Running[] = [];
let service: Service;

beforeAll(async () => {
  write('history');
  service = await Service.here({ chatDbPath: database.path });
});
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await service.dispose();
  database.close();
});

function write(text: string): number {
  return database.message({ chat, text, handle_id: handle });
}

function tail(...args: readonly string[]): Running {
  const started = startPostern(['tail', '--config-dir', service.configFolder, ...args]);
  running.push(started);
  return started;
}

function events({ stdout }: Running): readonly Event[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event);
}

function rows(of: Running): readonly number[] {
  return events(of).map(({ data }) => Number(data.id));
}

/** Declares a test that is skipped without util-linux's `script`, which starts a program in a terminal. */
function inTerminal(name: string, run: () => Promise<void>): void {
  const isThere = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;
  testIf(isThere, 'needs script of util-linux')(name, run);
}

/** Resolves once it prints newly written rows. */
async function listening(to: Running): Promise<void> {
  await waitFor(() => {
    write('are you there?');
    return to.stdout !== '';
  });
}

describe('tail', () => {
  test('prints a line an event, and ends with 0 by Ctrl+C', async () => {
    const running = tail();
    await listening(running);
    write('two\nlines');
    await eventually(() => expect(running.stdout).toMatch(/\S ← \+15550100 {2}two ⏎ lines\n/));
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(0);
    expect(running.stderr).toBe('');
  });

  test('ends at once by Ctrl+C, also while what it calls takes the call and never answers', async () => {
    const calls: Socket[] = [];
    const mute = createServer((call) => void calls.push(call)).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    try {
      const keyFile = join(folder, 'key.txt');
      writeFileSync(keyFile, 'its key');
      const { port } = mute.address() as AddressInfo;
      const running = tail('--url', `http://127.0.0.1:${port}`, '--key-file', keyFile);
      await eventually(() => expect(calls.length).toBeGreaterThan(0));
      running.child.kill('SIGINT');
      await waitFor(() => running.child.exitCode !== null || running.child.signalCode === 'SIGINT');
    } finally {
      for (const call of calls) call.destroy();
      mute.close();
    }
  });

  inTerminal('says in a terminal, also in one of unknown width, how to continue', async () => {
    const row = write('the last line');
    const command = `'${process.execPath}' '${MAIN}' tail --config-dir '${service.configFolder}' --after ${row - 1}`;
    const terminal = spawn('script', ['-qec', `stty cols 0; ${command}`, '/dev/null'], {
      env: { ...BARE_ENVIRONMENT, HOME: ABSENT, SHELL: '/bin/sh' },
    });
    let printed = '';
    terminal.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    try {
      await eventually(() => expect(stripVTControlCharacters(printed)).toMatch(/\S ← \+15550100 {2}the last line\r\n/));
      terminal.stdin.write('\x03');
      await once(terminal, 'close');
    } finally {
      terminal.kill('SIGKILL');
    }
    expect(printed).toContain('\x1b[36m←\x1b[39m');
    expect(printed).toContain(`To continue from here: --after ${row}\r\n`);
  });

  test('--after begins with the earlier events, in order', async () => {
    const running = tail('--after', '0', '--json');
    const newest = write('newest');
    await eventually(() => expect(rows(running)).toContain(newest));
    expect(rows(running)).toEqual(Array.from({ length: newest }, (_, place) => place + 1));
  });

  test('--type prints these events alone', async () => {
    database.message({ chat, text: 'own', is_from_me: 1 });
    const before = tail('--after', '0', '--type', 'message.sent', '--json');
    await eventually(() => expect(events(before).length).toBeGreaterThan(0));
    expect(new Set(events(before).map(({ type }) => type))).toEqual(new Set(['message.sent']));
    const both = tail('--after', '0', '--type', 'message.sent', '--type', 'message.received', '--json');
    await eventually(() => expect(new Set(events(both).map(({ type }) => type)).size).toBe(2));
  });

  test('of one conversation prints its events alone', async () => {
    const other = database.chat('any;-;+15550101', ['+15550101']);
    const running = tail('iMessage;-;+15550100', '--json');
    await listening(running);
    database.message({ chat: other, text: 'elsewhere', handle_id: database.handle('+15550101') });
    const last = write('here');
    await eventually(() => expect(rows(running)).toContain(last));
    expect(running.stdout).not.toContain('elsewhere');
  });

  test('--exec gives each event to a command, one after the other, and its text is no part of a command', async () => {
    const file = join(folder, 'events');
    const evil = `"; touch ${folder}/evil; $(touch ${folder}/evil) \`touch ${folder}/evil\` '`;
    const first = write(evil);
    const last = write('last');
    const command = `echo "begin $POSTERN_EVENT_TYPE $POSTERN_EVENT_POSITION" >> ${file}; ps -o args= -p $$ >> ${file}; cat >> ${file}; echo end >> ${file}; exit 3`;
    const running = tail('--after', String(first - 1), '--exec', command);
    await eventually(() => expect(running.stderr).toContain(`--after ${last}\n`));
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.filter((line) => /^begin|^end/.test(line)).slice(0, 4)).toEqual([
      `begin message.received ${first}`,
      'end',
      `begin message.received ${last}`,
      'end',
    ]);
    const bodies = lines.filter((line) => line.startsWith('{')).map((line) => (JSON.parse(line) as Event).data);
    expect(bodies[0]).toMatchObject({ id: String(first), body: evil });
    expect(lines.filter((line) => line.startsWith('/bin/sh')).join()).not.toContain('evil');
    expect(existsSync(join(folder, 'evil'))).toBe(false);
    expect(running.stderr).toContain(
      `The command ended with code 3 for message.received. To continue after this event: --after ${first}`,
    );
    expect(running.stdout).toBe('');
  });

  test('continues without gap or repeat after the service was killed, says so once, and still ends by a signal', async () => {
    await service.becomeProcess();
    const running = tail('--json');
    await listening(running);
    await service.stop('SIGKILL');
    const written = [write('while nobody looks'), write('again')];
    await eventually(() => expect(running.stderr).toContain('Reconnecting'));
    await service.launch();
    written.push(write('afterwards'));
    await eventually(() => expect(rows(running)).toContain(written[2] ?? 0));
    const [first = 0] = rows(running);
    expect(rows(running)).toEqual(rows(running).map((_, place) => first + place));
    expect(rows(running)).toEqual(expect.arrayContaining(written));
    expect(running.stderr.match(/Reconnecting/g)).toHaveLength(1);

    await service.kill();
    await eventually(() => expect(running.stderr.match(/Reconnecting/g)?.length).toBe(2));
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    await service.launch();
  });

  test('ends with 0 when nobody reads it any more', async () => {
    const running = tail('--after', '0');
    await eventually(() => expect(running.stdout).not.toBe(''));
    running.child.stdout.destroy();
    await waitFor(() => {
      write('one more');
      return running.child.exitCode !== null;
    });
    expect(running.child.exitCode).toBe(0);
    expect(running.stderr).toBe('');
  });

  test('ends with a sentence when the row id means nothing', async () => {
    const running = tail('--after', '999999');
    expect(await running.ended).toBe(65);
    expect(running.stderr).toMatch(/^[^\n]+\.\n/);
    expect(running.stderr).not.toContain('    at ');
  });

  test('ends with 77 when the key is another one after a restart', async () => {
    const running = tail('--json');
    await listening(running);
    await service.stop();
    service.configure({ auth: { api_key: 'another' } });
    await service.launch().catch(() => undefined);
    expect(await running.ended).toBe(77);
    expect(running.stderr).toContain('The API key is missing or wrong.');
    await service.stop();
    service.configure();
    await service.launch();
    expect(running.stderr).not.toContain(KEY);
  });
});
