import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, waitFor } from '../support/eventually.ts';
import { freePort } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const sh = promisify(execFile);

const folder = join(temporaryFolder(), "the person's demo");
let demo: ChildProcess;
let port = 0;
let output = '';

/** Returns the lines to copy that it printed. */
function printed(): readonly string[] {
  return output.split('\n').filter((line) => /^ {2}(KEY=|curl|node)/.test(line));
}

function key(): string {
  return /^api_key = "(.+)"/m.exec(readFileSync(join(folder, 'config.toml'), 'utf8'))?.[1] ?? '';
}

beforeAll(async () => {
  port = await freePort();
  demo = spawn(process.execPath, [MAIN, 'demo', '--dir', folder, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...BARE_ENVIRONMENT, HOME: folder },
  });
  for (const stream of [demo.stdout, demo.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitFor(() => {
    if (demo.exitCode !== null) throw new Error(output);
    return output.includes('Ctrl+C');
  });
});

afterAll(async () => {
  if (demo.exitCode !== null) return;
  const ended = once(demo, 'exit');
  demo.kill('SIGTERM'); // its Messages ends with it, and takes its socket along
  await ended;
});

describe('the demo', () => {
  test('says that it is a simulation, and prints no key', () => {
    expect(output).toContain('This is a simulated Mac');
    expect(key()).toMatch(/^[\da-f-]{36}$/);
    expect(output).not.toContain(key());
  });

  test('has its own configuration, for the owner alone, with the port and the simulated Mac in it', () => {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'config.toml')).mode & 0o777).toBe(0o600);
    const text = readFileSync(join(folder, 'config.toml'), 'utf8');
    expect(text).toContain(`\nchat_db_path = "${folder}/`);
    expect(text).toContain(`\nport = ${port}\n`);
    expect(text).toContain(`\nosascript_path = "${folder}/`);
  });

  test('a second demo in its folder, which --config-dir names, is refused and leaves it alone: its sends still work', async () => {
    const osascript = (): string => readFileSync(join(folder, 'bin/osascript'), 'utf8');
    const before = osascript();
    const place = ['--config-dir', folder, '--port', String(await freePort())];
    const second = await sh(process.execPath, [MAIN, 'demo', ...place]).catch((error: unknown) => error);
    expect(second).toMatchObject({ code: 69, stderr: expect.stringContaining(`another Postern is using ${folder}.`) });
    expect(osascript()).toBe(before);
    const sent = ['send', '--config-dir', folder, '+15550100', 'Still here?'];
    expect((await sh(process.execPath, [MAIN, ...sent])).stdout).toMatch(/^Sent to \+15550100 as message \d+/);
  });

  test('it starts on an address that other machines reach only with --allow-network', async () => {
    for (const host of ['0.0.0.0', '::', '127.example.net']) {
      const started = await sh(process.execPath, [MAIN, 'demo', '--host', host]).catch((error: unknown) => error);
      expect(started).toMatchObject({ code: 64, stderr: expect.stringContaining('add --allow-network') });
    }
  });

  test('a demo does not move into the folder of a real service', async () => {
    const real = join(folder, '../real');
    await sh(process.execPath, [MAIN, 'serve', '--config-dir', real]);
    const refused = await sh(process.execPath, [MAIN, 'demo', '--config-dir', real]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 78, stderr: expect.stringContaining('is not the configuration of a demo') });
    expect(readdirSync(real)).toEqual(['config.toml']);
  });

  test.each([
    ['home/Library/Messages/chat.db', 'unable to open database file'],
    ['bin/osascript', 'EISDIR: '],
  ])('whose %s cannot be written does not start, and says so in a sentence', async (file, reason) => {
    const dir = temporaryFolder();
    mkdirSync(join(dir, file), { recursive: true });
    const started = sh(process.execPath, [MAIN, 'demo', '--dir', dir, '--port', '0'], { env: { HOME: folder } });
    const sentence = `Postern does not start: a file in ${dir} cannot be used: ${reason}`;
    await expect(started).rejects.toMatchObject({ code: 78, stderr: expect.stringContaining(sentence) });
    await expect(started).rejects.not.toMatchObject({ stderr: expect.stringContaining('    at ') });
  });

  test('prints lines that work when they are pasted: watch, list, send', async () => {
    const [watch = '', assignment = '', list = '', send = ''] = printed();
    const listener = spawn('/bin/sh', ['-c', `exec ${watch.trim()}`], {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let lines = '';
    listener.stdout.on('data', (chunk: Buffer) => (lines += chunk.toString()));
    try {
      const paste = async (line: string): Promise<unknown> =>
        JSON.parse((await sh('/bin/sh', ['-c', `${assignment}\n${line} --silent`], { cwd: '/' })).stdout);
      expect(await paste(list)).toHaveLength(3);
      // The people start writing within seconds.
      await eventually(() => expect(lines).toContain(' ← '));
      const sent = (await paste(send)) as { id: string; body: string };
      expect(sent.body).toBe('Hello');
      await eventually(() => expect(lines).toContain(' → Ana Silva (+15550100)  Hello\n'));
      await eventually(() => {
        expect(lines).toContain(`reacted with`);
        expect(lines).toContain(`to message ${sent.id}`);
      });
    } finally {
      listener.kill('SIGKILL');
    }
  });

  test('ends with 0 when it is asked to, and so does its Mac', async () => {
    const ended = once(demo, 'close');
    demo.kill('SIGINT');
    // The pipes close only once no child process holds them.
    expect((await ended)[0]).toBe(0);
  });
});
