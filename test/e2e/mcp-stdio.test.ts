import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { limitedKey } from '../support/limited-key.ts';
import { postern } from '../support/postern.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LIST = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
const root = temporaryFolder();

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let key: string;

beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({ chatDbPath: mac.chatDbPath });
  ({ key } = await limitedKey(service, { preset: 'reader', read: '*' }));
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

function pipe(messages: readonly unknown[], args: readonly string[] = [], env: Record<string, string> = {}) {
  const input = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message))).join('\n');
  return postern(['mcp', '--config-dir', service.configFolder, ...args], { env, input });
}

const answers = (stdout: string): unknown[] =>
  stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));

describe('postern mcp', () => {
  test('never uses the key of config.toml: without its own key it ends with 77 and says how to get one', async () => {
    for (const env of [{}, { POSTERN_API_KEY: '  ' }]) {
      const ended = await pipe([LIST], [], env);
      expect(ended).toMatchObject({ exitCode: 77, stdout: '' });
      expect(ended.stderr).toMatch(/There is no key.*\n.*keys add.*POSTERN_API_KEY.*--key-file/);
    }
  });

  test('answers what is asked before its input ends, and ends with it', async () => {
    const keyFile = join(root, 'agent.key');
    writeFileSync(keyFile, `${key}\n`);
    chmodSync(keyFile, 0o600);
    const batch = [
      LIST,
      '',
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { ...LIST, id: 'b', method: 'ping' },
    ];
    const { exitCode, stdout, stderr } = await pipe(batch, ['--key-file', keyFile]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(answers(stdout)).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 7, result: expect.objectContaining({ tools: expect.any(Array) }) },
        { jsonrpc: '2.0', id: 'b', result: {} },
      ]),
    );
  });

  test('passes on the refusal of the service, in words', async () => {
    const { exitCode, stdout, stderr } = await pipe([LIST], [], { POSTERN_API_KEY: 'postern_00000000_wrong' });
    expect(exitCode).toBe(0);
    const [answer] = answers(stdout);
    expect(answer).toMatchObject({
      id: 7,
      error: { message: expect.stringMatching(/^The limited key is missing or unknown, has expired/) },
    });
    expect(stderr).toContain('The limited key is missing or unknown, has expired, or was revoked.');
    expect(stdout + stderr).not.toContain('postern_00000000_wrong');
  });

  test('says that Postern does not answer, and keeps asking', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { exitCode, stdout } = await pipe([LIST, { ...LIST, id: 8 }], ['--url', url], { POSTERN_API_KEY: key });
    expect(exitCode).toBe(0);
    const error = { message: `Postern does not answer at ${url} (ECONNREFUSED): is it running?` };
    for (const id of [7, 8]) {
      expect(answers(stdout)).toContainEqual(expect.objectContaining({ id, error: expect.objectContaining(error) }));
    }
  });

  test('takes a line for a line only at a line feed, not at what Unicode calls a separator', async () => {
    const { stdout } = await pipe([{ ...LIST, method: 'ping', id: 'a\u2028b\u2029c\u0085d' }], [], {
      POSTERN_API_KEY: key,
    });
    expect(
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([{ jsonrpc: '2.0', id: 'a\u2028b\u2029c\u0085d', result: {} }]);
  });

  test('answers what is no JSON as the protocol does', async () => {
    const { stdout } = await pipe(['{"jsonrpc":', '[]'], [], { POSTERN_API_KEY: key });
    expect(answers(stdout)).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32_700 }) }),
    );
  });
});
