import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type CheckedConfig, checkConfig } from '../../src/core/config/config.ts';
import { type Environment, processEnvironment } from '../../src/core/config/environment.ts';
import { parseToml } from '../../src/core/config/toml.ts';
import { FEATURES } from '../../src/features/list.ts';
import { temporaryFolder } from '../support/temporary.ts';

const KEY = 'c0ffee00-key-that-nobody-may-see';
const HOME = '/Users/jane doe';
const folder = temporaryFolder();
const environment = processEnvironment({ HOME }, 'darwin', FEATURES);

function check(toml: string, where: Environment = environment): CheckedConfig {
  const parsed = parseToml(toml);
  if ('syntaxError' in parsed) throw new Error(parsed.syntaxError);
  return checkConfig(parsed.tables, '/config', where);
}

function withKey(toml: string, where?: Environment): CheckedConfig {
  return check(`${toml}\n[auth]\napi_key = "${KEY}"\n`, where);
}

function configOf(checked: CheckedConfig) {
  if ('mistakes' in checked) throw new Error(checked.mistakes.join('\n'));
  return checked.config;
}

function mistakesOf(checked: CheckedConfig): readonly string[] {
  return 'mistakes' in checked ? checked.mistakes : [];
}

describe('what is not written', () => {
  test('gives exactly the documented behaviour', () => {
    const checked = withKey('');
    expect(checked.warnings).toEqual([]);
    expect(configOf(checked)).toEqual({
      dir: '/config',
      server: {
        host: '127.0.0.1',
        port: 3001,
        rateLimitPerMinute: 60,
        allowedHosts: [],
        allowedOrigins: [],
      },
      auth: { apiKey: KEY },
      backend: {
        chatDbPath: `${HOME}/Library/Messages/chat.db`,
        pollIntervalMs: 1000,
        osascriptPath: '/usr/bin/osascript',
        associatedRows: 'reactions',
      },
      send: { confirmMs: 3000, attachmentRoots: [] },
      webhooks: { allowedHosts: [], caFile: '' },
      features: {
        ...{ installation: {}, doctor: {}, backup: {}, shell: {}, console: {}, content: {}, access: {} },
        contacts: {
          isEnabled: true,
          callingCode: '',
        },
        changes: { enabled: 'auto' },
        search: { isEnabled: false },
        simulator: {},
        'client-commands': {},
        'webhook-listener': {},
        media: {},
        archive: {},
        'self-chat': { address: '' },
        mcp: { allowOwnerKey: false },
        oauth: { issuer: '' },
        scheduled: {},
        fleet: { file: '', machine: '', backfillHours: 24, changes: false },
        imsg: {},
        bluebubbles: { host: '127.0.0.1', port: 0 },
        overview: {},
        canary: { isEnabled: false },
      },
    });
  });

  test('the database is looked for in the home folder on every platform', () => {
    const config = configOf(withKey('', processEnvironment({ HOME: '/home/jo' }, 'linux', FEATURES)));
    expect(config.backend.chatDbPath).toBe('/home/jo/Library/Messages/chat.db');
  });

  test('elsewhere than on macOS, osascript is the first executable one on PATH', () => {
    for (const [name, mode] of [
      ['not-executable', 0o644],
      ['right', 0o755],
      ['later', 0o755],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'osascript'), '#!/bin/sh\n');
      chmodSync(join(folder, name, 'osascript'), mode);
    }
    mkdirSync(join(folder, 'a-folder/osascript'), { recursive: true });
    const PATH = [
      'relative',
      '',
      join(folder, 'nowhere'),
      ...['a-folder', 'not-executable', 'right', 'later'].map((name) => join(folder, name)),
    ].join(':');
    const found = (env: Record<string, string>, platform: string) =>
      configOf(withKey('', processEnvironment({ HOME, ...env }, platform))).backend.osascriptPath;
    expect(found({ PATH }, 'linux')).toBe(join(folder, 'right/osascript'));
    expect(found({ PATH }, 'darwin')).toBe('/usr/bin/osascript');
    expect(found({}, 'linux')).toBe('/usr/bin/osascript');
  });
});

describe('what may be written', () => {
  test.each([
    ['[server]\nhost = "0.0.0.0"', 'server.host', '0.0.0.0'],
    ['[server]\nhost = "::1"', 'server.host', '::1'],
    ['[server]\nhost = "Janes-Mac.local"', 'server.host', 'Janes-Mac.local'],
    [`[server]\nhost = "${'a.'.repeat(126)}b"`, 'server.host', `${'a.'.repeat(126)}b`],
    ['[server]\nport = 0', 'server.port', 0],
    ['[server]\nport = 1', 'server.port', 1],
    ['[search]\nenabled = true', 'features.search.isEnabled', true],
    ['[server]\nport = 65_535', 'server.port', 65_535],
    ['[server]\nport = 0xBB9', 'server.port', 3001],
    ['server.port = 4000', 'server.port', 4000],
    ['server = { port = 4000 }', 'server.port', 4000],
    ['[server]\nrate_limit_per_minute = 1000000000', 'server.rateLimitPerMinute', 1_000_000_000],
    [
      '[server]\nallowed_hosts = ["Mac.tail1.ts.net", "10.0.0.2:8080", "[fd00::1]:3001", "fd00::1"]',
      'server.allowedHosts',
      ['mac.tail1.ts.net', '10.0.0.2:8080', '[fd00::1]:3001', '[fd00::1]'],
    ],
    [
      '[server]\nallowed_origins = ["https://a.example", "http://b.example:8080", "tauri://localhost"]',
      'server.allowedOrigins',
      ['https://a.example', 'http://b.example:8080', 'tauri://localhost'],
    ],
    ['[backend]\npoll_interval_ms = 10', 'backend.pollIntervalMs', 10],
    ['[backend]\npoll_interval_ms = 60000', 'backend.pollIntervalMs', 60_000],
    ['[backend]\nassociated_rows = "reactions"', 'backend.associatedRows', 'reactions'],
    ['[backend]\nassociated_rows = "by_kind"', 'backend.associatedRows', 'by_kind'],
    ['[send]\nconfirm_ms = 0', 'send.confirmMs', 0],
    ['[self]\naddress = "me@example.com"', 'features.self-chat.address', 'me@example.com'],
    ['[send]\nattachment_roots = ["~/Pictures", "/tmp"]', 'send.attachmentRoots', [`${HOME}/Pictures`, '/tmp']],
    [
      '[webhooks]\nallowed_hosts = ["Hooks.Example.net", "*.example.org", "10.0.0.2", "FD00::0:1"]',
      'webhooks.allowedHosts',
      ['hooks.example.net', '*.example.org', '10.0.0.2', '[fd00::1]'],
    ],
  ] as const)('%s', (toml, name, value) => {
    expect(configOf(withKey(toml))).toHaveProperty(name, value);
  });

  test.each([
    ['~', HOME],
    ['~/chat.db', `${HOME}/chat.db`],
    ['$HOME/chat.db', `${HOME}/chat.db`],
    [`\${HOME}/chat.db`, `${HOME}/chat.db`],
    ['/backup$HOME/chat.db', `/backup${HOME}/chat.db`],
    ['/data/~/$HOMER/chat.db', '/data/~/$HOMER/chat.db'],
    ['/data/ünïcode dir/chat.db', '/data/ünïcode dir/chat.db'],
  ])('the path %s', (written, path) => {
    expect(configOf(withKey(`[backend]\nchat_db_path = '${written}'`)).backend.chatDbPath).toBe(path);
  });

  test('a dollar sign in the home folder stays as it is', () => {
    const where = processEnvironment({ HOME: '/home/$& $1' }, 'linux', FEATURES);
    expect(configOf(withKey('', where)).backend.chatDbPath).toBe('/home/$& $1/Library/Messages/chat.db');
  });

  test.each(['any string', 'schlüssel 🔑', '"quotes"', 'a'.repeat(8192)])('the key %#', (key) => {
    expect(configOf(check(`auth.api_key = ${JSON.stringify(key)}`)).auth.apiKey).toBe(key);
  });

  test('the configuration cannot be changed afterwards', () => {
    const config = configOf(withKey(''));
    expect(
      Object.isFrozen(config) && Object.isFrozen(config.server) && Object.isFrozen(config.server.allowedHosts),
    ).toBe(true);
  });
});

test('a key under 16 characters is a warning that does not show it', () => {
  const short = check('auth.api_key = "fifteen letters"');
  expect(short).toMatchObject({ config: {}, warnings: [expect.stringContaining('16 characters')] });
  expect(JSON.stringify(short.warnings)).not.toContain('fifteen letters');
  expect(check('auth.api_key = "sixteen letters!"').warnings).toEqual([]);
});

describe('mistakes', () => {
  const PORT = 'it must be a whole number from 0 to 65535.';
  test.each([
    ['[search]\nenabled = 1', 'search.enabled is 1; it must be true or false.'],
    ['[search]\nenabled = "false"', 'search.enabled is "false"; it must be true or false.'],
    ['[server]\nport = 65536', `server.port is 65536; ${PORT}`],
    ['[server]\nport = -1', `server.port is -1; ${PORT}`],
    ['[server]\nport = "3001"', `server.port is "3001"; ${PORT}`],
    ['[server]\nport = 3001.0', `server.port is 3001.0; ${PORT}`],
    ['[server]\nport = 9007199254740993', `server.port is 9007199254740993; ${PORT}`],
    ['[server]\nport = inf', `server.port is Infinity; ${PORT}`],
    ['[server]\nport = nan', `server.port is NaN; ${PORT}`],
    ['[server]\nport = true', `server.port is true; ${PORT}`],
    ['[server]\nport = 1979-05-27', `server.port is 1979-05-27; ${PORT}`],
    ['[server]\nport = [3001]', `server.port is [3001]; ${PORT}`],
    ['[server.port]\nx = 1', `server.port is a section; ${PORT}`],
    ['[server]\nhost = ""', 'server.host is ""; it must be a host name or an IP address (IPv6 without brackets).'],
    ['[server]\nhost = "127.0.0.256"', 'server.host is "127.0.0.256"; it must be'],
    ['[server]\nhost = "[::1]"', 'server.host is "[::1]"; it must be'],
    ['[server]\nhost = "http://localhost"', 'server.host is "http://localhost"; it must be'],
    [`[server]\nhost = "${'a.'.repeat(127)}b"`, 'server.host is "a.a.'],
    ['[server]\nhost = "local host"', 'server.host is "local host"; it must be'],
    [
      '[server]\nrate_limit_per_minute = 0',
      'server.rate_limit_per_minute is 0; it must be a whole number from 1 to 1000000000.',
    ],
    ['[server]\nrate_limit_per_minute = 1000000001', 'server.rate_limit_per_minute is 1000000001'],
    ['[server]\nallowed_hosts = "a.example"', 'server.allowed_hosts is "a.example"; it must be a list'],
    [
      '[server]\nallowed_hosts = ["a.example", "https://b.example", 3]',
      'server.allowed_hosts[1] is "https://b.example"',
    ],
    ['[server]\nallowed_hosts = ["a.example:99999"]', 'server.allowed_hosts[0] is "a.example:99999"'],
    ['[server]\nallowed_hosts = ["*"]', 'server.allowed_hosts[0] is "*"'],
    ['[server]\nallowed_origins = ["*"]', 'server.allowed_origins[0] is "*"'],
    ['[server]\nallowed_origins = ["null"]', 'server.allowed_origins[0] is "null"'],
    ['[server]\nallowed_origins = ["https://a.example/"]', 'server.allowed_origins[0] is "https://a.example/"'],
    ['[server]\nallowed_origins = ["https://a.example:443"]', 'server.allowed_origins[0] is "https://a.example:443"'],
    ['[server]\nallowed_origins = ["a.example"]', 'server.allowed_origins[0] is "a.example"'],
    ['[backend]\npoll_interval_ms = 9', 'backend.poll_interval_ms is 9; it must be a whole number from 10 to 60000.'],
    ['[backend]\npoll_interval_ms = 60001', 'backend.poll_interval_ms is 60001'],
    [
      '[backend]\nchat_db_path = "chat.db"',
      'backend.chat_db_path is "chat.db"; it must be an absolute path (it may begin with ~ or $HOME).',
    ],
    ['[backend]\nchat_db_path = "~jane/chat.db"', 'backend.chat_db_path is "~jane/chat.db"'],
    ['[backend]\nchat_db_path = ""', 'backend.chat_db_path is ""'],
    ['[backend]\nchat_db_path = "/a\\u0000b"', 'backend.chat_db_path is "/a\\u0000b"'],
    ['[backend]\nosascript_path = 7', 'backend.osascript_path is 7'],
    ['[backend]\nassociated_rows = true', 'backend.associated_rows is true; it must be "reactions" or "by_kind".'],
    ['[send]\nconfirm_ms = -1', 'send.confirm_ms is -1; it must be a whole number from 0 to 60000.'],
    ['[send]\nattachment_roots = ["Pictures"]', 'send.attachment_roots[0] is "Pictures"'],
    ['[webhooks]\nallowed_hosts = ["http://a.example"]', 'webhooks.allowed_hosts[0] is "http://a.example"'],
    ['[webhooks]\nallowed_hosts = ["a.example:80"]', 'webhooks.allowed_hosts[0] is "a.example:80"'],
    ['[webhooks]\nallowed_hosts = ["*"]', 'webhooks.allowed_hosts[0] is "*"'],
    ['[webhooks]\nallowed_hosts = ["*.10.0.0.2"]', 'webhooks.allowed_hosts[0] is "*.10.0.0.2"'],
    ['[self]\naddress = "Me@example.com"', 'self.address is "Me@example.com"; it must be a number such as "+15550100"'],
    ['[canary]\nenabled = true\n[server]\nport = -1', 'canary.enabled is true, but self.address is empty'],
    ['[bluebubbles]\nport = 3001', 'bluebubbles.port is 3001, as is server.port'],
    ['server = 3', 'server must be a section that begins with [server].'],
    ['[[server]]\nport = 1', 'server must be a section that begins with [server].'],
  ])('%s', (toml, sentence) => {
    expect(mistakesOf(withKey(toml))).toContainEqual(expect.stringContaining(sentence));
  });

  test.each([
    ['', 'auth.api_key is missing'],
    ['[auth]', 'auth.api_key is missing'],
    ['auth.api_key = ""', 'auth.api_key is not valid'],
    [`auth.api_key = " ${KEY}"`, 'auth.api_key is not valid'],
    [`auth.api_key = "${KEY}\\t"`, 'auth.api_key is not valid'],
    [`auth.api_key = "${KEY}\\n${KEY}"`, 'auth.api_key is not valid'],
    [`auth.api_key = "${KEY}\\u007f${KEY}"`, 'auth.api_key is not valid'],
    [`auth.api_key = ["${KEY}"]`, 'auth.api_key is not valid'],
    [`auth.api_key = "${KEY.repeat(300)}"`, 'auth.api_key is not valid'],
    [`auth = "${KEY}"`, 'auth must be a section that begins with [auth].'],
  ])('a key that no header can carry: %#', (toml, sentence) => {
    const checked = check(toml);
    expect(mistakesOf(checked)).toContainEqual(expect.stringContaining(sentence));
    expect(JSON.stringify(checked)).not.toContain(KEY);
  });

  test('are named all at once, and never with the key', () => {
    const checked = check(`
      [server]
      host = "no host"
      port = 70000
      rate_limit_per_minute = "many"
      allowed_hosts = ["ok", "not ok"]
      allowed_origins = 1
      [auth]
      api_key = " ${KEY}"
      [backend]
      chat_db_path = "relative"
      poll_interval_ms = 1
      osascript_path = "osascript"
      [send]
      confirm_ms = 1.5
      attachment_roots = ["a", "/b", "c"]
    `);
    const keys = mistakesOf(checked).map((sentence) => sentence.split(' ')[0]);
    expect(keys).toEqual([
      'server.host',
      'server.port',
      'server.rate_limit_per_minute',
      'server.allowed_hosts[1]',
      'server.allowed_origins',
      'auth.api_key',
      'backend.chat_db_path',
      'backend.poll_interval_ms',
      'backend.osascript_path',
      'send.confirm_ms',
      'send.attachment_roots[0]',
      'send.attachment_roots[2]',
    ]);
    expect(JSON.stringify(checked)).not.toContain(KEY);
  });

  test('a long value is cut', () => {
    const [sentence = ''] = mistakesOf(withKey(`[server]\nport = "${'9'.repeat(5000)}"`));
    expect(sentence.length).toBeLessThan(160);
  });
});

describe('what is not known', () => {
  test.each([
    ['[server]\nprot = 1', 'server.prot', 'server.port'],
    ['[server]\nhsot = "x"', 'server.hsot', 'server.host'],
    ['[sever]\nport = 1', 'sever', 'server'],
    ['[server]\napi_key = "x"', 'server.api_key', 'auth.api_key'],
    ['port = 4000', 'port', 'server.port'],
    ['[backend]\nchat_db = "/x"', 'backend.chat_db', 'backend.chat_db_path'],
    ['[server.__proto__]\nport = 1', 'server.__proto__', 'server.'],
  ])('%s is a warning with the nearest known name', (toml, name, nearest) => {
    const { warnings } = withKey(toml);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`${name} is not known and is ignored; the nearest known name is ${nearest}`);
  });

  test('beyond the first 20 are counted', () => {
    const { warnings } = withKey(Array.from({ length: 500 }, (_, at) => `[name${at}]\n`).join(''));
    expect(warnings).toHaveLength(21);
    expect(warnings.at(-1)).toBe('480 more unknown names are ignored.');
  });

  test('of more than 60 characters are cut', () => {
    const { warnings } = withKey(`[server]\n${'a'.repeat(30_000)} = 1`);
    expect(warnings).toEqual([`server.${'a'.repeat(53)}… is not known and is ignored.`]);
  });
});
