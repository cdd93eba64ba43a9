import { expect, test } from '@jest/globals';
import type { Config } from '../../src/core/config/config.ts';
import type { ClientSetup } from '../../src/core/model/client-lines.ts';
import { SCOPES, type Scope } from '../../src/core/model/key.ts';
import { clientLines } from '../../src/features/access/client-lines.ts';
import { bluebubbles } from '../../src/features/bluebubbles/feature.ts';
import { imsg } from '../../src/features/imsg/feature.ts';
import { mcp } from '../../src/features/mcp/feature.ts';

const KEY: ClientSetup = {
  secret: 'postern_7f3a9c1e_secret',
  scopes: SCOPES,
  url: 'http://127.0.0.1:3001',
  invocation: (command) => ({ command: '/usr/bin/node', args: ['/a b/main.js', command] }),
};
const SERVER = { host: '127.0.0.1', port: 3001 } as Config['server'];
const linesFor = (key = KEY, values?: Record<string, string | number>) =>
  clientLines(key, {
    features: [mcp, imsg, bluebubbles],
    config: { server: SERVER, features: values === undefined ? {} : { bluebubbles: values } },
  });

const linesOf = (client: string, values?: Record<string, string | number>): readonly string[] =>
  linesFor(KEY, values).find((one) => one.client === client)?.lines ?? [];

test('every client of the documents has lines, with the key in them', () => {
  const all = linesFor();
  expect(all.map(({ client }) => client)).toEqual([
    'Claude Code',
    'Claude Desktop, Cursor and others',
    'Claude Code, as a channel',
    'Codex',
    'ChatGPT',
    'OpenClaw',
    'Hermes',
    'Home Assistant',
    'n8n',
    'curl',
  ]);
  const silent = all.filter(({ lines }) => !lines.join('\n').includes(KEY.secret)).map(({ client }) => client);
  expect(silent).toEqual(['ChatGPT']);
});

test.each([
  [['send'], ['Claude Code', 'Claude Desktop, Cursor and others', 'Codex', 'ChatGPT', 'n8n', 'curl']],
  [
    ['read', 'webhooks'],
    ['Claude Code', 'Claude Desktop, Cursor and others', 'Codex', 'ChatGPT', 'Hermes', 'Home Assistant', 'n8n', 'curl'],
  ],
  [['approve'], ['n8n', 'curl']],
] as const)('a client that needs more than %s is left out', (scopes: readonly Scope[], clients) => {
  expect(linesFor({ ...KEY, scopes }).map(({ client }) => client)).toEqual(clients);
});

test('a path with a space stays one word in JSON, in TOML and in the shell', () => {
  const json = linesOf('Claude Code, as a channel');
  // One line would have to be scrolled sideways.
  expect(Math.max(...json.map(({ length }) => length))).toBeLessThan(80);
  expect(JSON.parse(json.join('\n'))).toEqual({
    mcpServers: {
      messages: {
        command: '/usr/bin/node',
        args: ['/a b/main.js', 'mcp', '--channel'],
        env: { POSTERN_API_KEY: KEY.secret },
      },
    },
  });
  expect(linesOf('Codex')).toContain('args = ["/a b/main.js", "mcp"]');
  expect(linesOf('OpenClaw').at(-1)).toBe(`exec /usr/bin/node '/a b/main.js' imsg "$@"`);
});

test('the lines for BlueBubbles say how to switch it on, and then only where it is', () => {
  expect(linesOf('Hermes')[0]).toMatch(/^Set bluebubbles\.port/);
  const on = { host: '127.0.0.1', port: 4321 };
  expect(linesOf('Home Assistant', on)).toEqual(['URL: http://127.0.0.1:4321', `Password: ${KEY.secret}`]);
});
