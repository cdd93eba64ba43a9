import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Conversation } from '../../src/core/model/conversation.ts';
import type { Message } from '../../src/core/model/message.ts';
import { eventually } from '../support/eventually.ts';
import { type Ended, MAIN, postern } from '../support/postern.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const folder = join(root, 'demo');
let demo: ReturnType<typeof start>;

function start() {
  const child = spawn(process.execPath, [MAIN, 'demo', '--dir', folder, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...BARE_ENVIRONMENT, HOME: root },
  });
  const running = { child, output: '' };
  child.stdout.on('data', (chunk: Buffer) => (running.output += chunk.toString()));
  return running;
}

async function stop(): Promise<void> {
  if (demo.child.exitCode !== null) return;
  demo.child.kill('SIGTERM');
  await once(demo.child, 'exit');
}

const line = (...args: readonly string[]): readonly string[] => ['demo', ...args, '--dir', folder];
const on = (...args: readonly string[]): Promise<Ended> => postern(line(...args));

const url = (): string => /"url":"(http[^"]+)"/.exec(demo.output)?.[1] ?? '';
const ownersKey = (): string => /^api_key = "(.+)"/m.exec(readFileSync(join(folder, 'config.toml'), 'utf8'))?.[1] ?? '';

async function messages(): Promise<readonly Message[]> {
  const answer = await fetch(`${url()}/api/v1/messages?limit=200`, { headers: { 'x-api-key': ownersKey() } });
  return (await answer.json()) as Message[];
}

async function done(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await on(...args, '--json');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return String((JSON.parse(stdout) as { row?: number }).row);
}

beforeAll(async () => {
  // Allows more requests than a person makes in a minute. A folder without `home` does not count as a demo's.
  mkdirSync(join(folder, 'home'), { recursive: true, mode: 0o700 });
  const settings = ['[server]', 'rate_limit_per_minute = 1000', '[auth]', 'api_key = "the-key-of-the-demo"'];
  writeFileSync(join(folder, 'config.toml'), `${settings.join('\n')}\n`, { mode: 0o600 });
  demo = start();
  await eventually(() => expect(demo.output).toContain('"msg":"serving"'));
});
afterAll(stop);

describe('the people of the demo', () => {
  test('write a given text, in a conversation and with a file', async () => {
    writeFileSync(join(root, 'plan.txt'), 'the plan');
    const said = line('say', '+15550101', 'Who is in?', '--in', 'Garden', '--attach', 'plan.txt', '--json');
    const { stdout } = await postern(said, { cwd: root });
    const id = String((JSON.parse(stdout) as { readonly row: number }).row);
    await eventually(async () => {
      const message = (await messages()).find((one) => one.id === id);
      expect(message).toMatchObject({ sender: '+15550101', conversation_id: 'any;+;chat424242' });
      expect(message?.attachments).toEqual([expect.stringMatching(/plan\.txt$/)]);
    });
    const own = await done('say', 'me', 'I am', '--in', 'Garden');
    await eventually(async () =>
      expect((await messages()).find((one) => one.id === own)).toMatchObject({ is_from_me: true, body: 'I am' }),
    );
  });

  test('send a picture without a text, and do not send nothing', async () => {
    writeFileSync(join(root, 'x.png'), 'a picture');
    const id = await done('say', '+15550101', '', '--attach', join(root, 'x.png'));
    await eventually(async () =>
      expect((await messages()).find((one) => one.id === id)?.attachments).toEqual([expect.stringMatching(/x\.png$/)]),
    );
    expect(await on('say', '+15550101', '')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('There is nothing to say'),
    });
  });

  test('have no options of the service in their help', async () => {
    const { stdout } = await on('say', '--help');
    for (const option of ['--dir', '--config-dir']) expect(stdout).toContain(option);
    for (const option of ['--port', '--quiet', '--host', '--allow-network']) expect(stdout).not.toContain(option);
  });

  test('are reached by a new key at the port that the system chose', async () => {
    const headers = { 'x-api-key': ownersKey(), 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'agent', preset: 'reader' });
    const made = await fetch(`${url()}/api/v1/keys?include=clients`, { method: 'POST', headers, body });
    const { clients } = (await made.json()) as { clients: readonly { client: string; lines: readonly string[] }[] };
    expect(clients.find(({ client }) => client === 'curl')?.lines.join()).toContain(`${url()}/`);
    const added = await postern(['keys', 'add', 'other', '--preset', 'reader', '--config-dir', folder]);
    expect(added.stdout).toContain(`${url()}/`);
    expect(JSON.stringify(clients) + added.stdout).not.toContain(':0/');
  });

  test('are named in the list of approvals with every invisible character shown', async () => {
    const headers = { 'x-api-key': ownersKey(), 'content-type': 'application/json' };
    const settings = { name: 'sly', preset: 'assistant', send: ['+15550101'] };
    const made = await fetch(`${url()}/api/v1/keys`, { method: 'POST', headers, body: JSON.stringify(settings) });
    const { key } = (await made.json()) as { key: string };
    await fetch(`${url()}/api/v1/messages`, {
      method: 'POST',
      headers: { ...headers, 'x-api-key': key },
      body: JSON.stringify({ recipient: '+15550101', body: 'Pay \u200b100 \u202e001' }),
    });
    const { stdout } = await postern(['approvals', 'list', '--config-dir', folder]);
    expect(stdout).toContain('Pay ⟨U+200B⟩100 ⟨U+202E⟩001');
  });

  test('react, edit, unsend and delete', async () => {
    const id = await done('say', 'Ana Silva', 'wright');
    await done('edit', id, 'right');
    expect((await messages()).find((one) => one.id === id)?.body).toBe('right');
    await done('react', id, '🎉', '--from', '+15550100');
    await done('react', id, 'love');
    await done('unsend', id);
    await done('delete', id);
    expect((await messages()).map((one) => one.id)).not.toContain(id);
  });

  test('change no message that does not exist, and say so', async () => {
    for (const words of [
      ['edit', '99999', 'x'],
      ['unsend', '99999'],
      ['delete', '99999'],
      ['read', '99999'],
    ]) {
      expect(await on(...words)).toMatchObject({
        exitCode: 65,
        stdout: '',
        stderr: expect.stringContaining('there is no row 99999'),
      });
    }
  });

  test('are started by the command that is named where there is no demo', async () => {
    const { exitCode, stderr } = await postern(['demo', 'say', '+15550100', 'hi', '--dir', join(root, 'none')]);
    expect(exitCode).toBe(78);
    expect(stderr).toMatch(/^There is no configuration at .*\nStart the demo first: postern demo\n$/);
  });

  test('answer ping, and let a message fail on request', async () => {
    const send = (text: string) => postern(['send', '+15550100', text, '--config-dir', folder]);
    await done('fail');
    await send('lost');
    await eventually(async () => expect((await messages()).find(({ body }) => body === 'lost')?.status).toBe('failed'));
    await send('ping');
    await eventually(async () => expect((await messages()).map(({ body }) => body)).toContain('pong'));
  });

  test('tell their story again', async () => {
    const kettles = async (): Promise<number> =>
      (await messages()).filter(({ body }) => body.startsWith('The kettle is on.')).length;
    await eventually(async () => expect(await kettles()).toBe(1));
    expect(await on('story')).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
    await eventually(async () => expect(await kettles()).toBe(2));
  });

  test('leave nothing unread in a conversation that the owner opens', async () => {
    await done('say', '+15550101', 'Unread?');
    const headers = { 'x-api-key': ownersKey(), 'content-type': 'application/json' };
    const unread = async (): Promise<number | undefined> => {
      const id = encodeURIComponent('any;-;+15550101');
      const answer = await fetch(`${url()}/api/v1/conversations/${id}?include=details`, { headers });
      return ((await answer.json()) as Conversation).details?.unread_count;
    };
    await eventually(async () => expect(await unread()).toBeGreaterThan(0));
    const body = JSON.stringify({ conversation_id: 'any;-;+15550101' });
    // The story may add another message to the conversation.
    await eventually(async () => {
      const opened = await fetch(`${url()}/api/v1/demo/read`, { method: 'POST', headers, body });
      expect(opened.status).toBe(204);
      expect(await unread()).toBe(0);
    });
    const unknown = await fetch(`${url()}/api/v1/demo/read`, { method: 'POST', headers, body: '{}' });
    expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('conversation_id')]);
  });

  test('obey the owner over HTTP, and no other key', async () => {
    const post = async (path: string, body: unknown, key: string) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const answer = await fetch(`${url()}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const owner = (await postern(['config', 'key', '--config-dir', folder])).stdout.trim();
    const words = { from: '+15550101', text: 'Over HTTP', conversation_id: 'any;+;chat424242' };
    const said = await post('demo/say', words, owner);
    expect(said.status).toBe(201);
    expect((await messages()).find(({ id }) => id === said.body.id)).toMatchObject({ sender: '+15550101' });
    const reaction = { from: '+15550100', message_id: said.body.id, reaction: 'love' };
    expect((await post('demo/react', reaction, owner)).status).toBe(201);
    expect(await post('demo/react', { from: ' ', message_id: 'x', reaction: '' }, owner)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/from' }, { pointer: '/message_id' }, { pointer: '/reaction' }] },
    });
    expect(await post('demo/say', { ...words, conversation_id: 'any;+;none' }, owner)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('there is no chat any;+;none') },
    });
    const limited = await post('keys', { name: 'bot', preset: 'assistant', read: '*', send: '*' }, owner);
    expect(limited).toMatchObject({ status: 201 });
    for (const [path, body] of [
      ['demo/say', words],
      ['demo/react', reaction],
    ] as const) {
      expect(await post(path, body, String(limited.body.key))).toMatchObject({
        status: 403,
        body: { code: 'scope_missing' },
      });
    }
  });

  test.each([
    ['somebody nobody knows', ['say', 'Nobody', 'x'], 65, 'Nobody'],
    ['a message that is not there', ['react', '9999', 'love'], 65, 'there is no row 9999'],
    ['no message', ['edit', 'x', 'y'], 64, 'whole number'],
    ['a file that is not there', ['say', '+15550100', 'x', '--attach', 'none.txt'], 65, 'There is no file'],
    ['me nowhere', ['say', 'me', 'x'], 64, '--in'],
    ['a reset while it runs', ['reset'], 69, 'is running'],
  ])('say what is wrong with %s', async (_what, args, exitCode, words) => {
    const ended = await on(...args);
    expect(ended).toMatchObject({ exitCode, stdout: '' });
    expect(ended.stderr).toContain(words);
  });

  test('start from the beginning after a reset, with the same key, and say when no demo runs', async () => {
    const key = (await postern(['config', 'key', '--config-dir', folder])).stdout;
    await stop();
    expect(await on('edit', '1', 'x')).toMatchObject({
      exitCode: 69,
      stderr: expect.stringContaining('No demo is running'),
    });
    expect((await on('reset')).exitCode).toBe(0);
    demo = start();
    await eventually(() => expect(demo.output).toContain('"msg":"serving"'));
    expect((await messages()).map(({ body }) => body)).not.toContain('Who is in?');
    expect((await postern(['config', 'key', '--config-dir', folder])).stdout).toBe(key);
  });
});
