import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { awkFolder, type MenubarShell, menubarShells } from '../support/menubar-shells.ts';
import { freePort } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const SCRIPT = fileURLToPath(new URL('../../installer/menubar/postern.30s.sh', import.meta.url));
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const folder = temporaryFolder();
const home = join(folder, "Zoë O'Neil");
const support = join(home, 'Library', 'Application Support', 'Postern');
const programs = join(folder, 'programs');
const link = join(folder, 'plugins of mine', 'postern.30s.sh');
mkdirSync(support, { recursive: true, mode: 0o700 });
mkdirSync(programs);
mkdirSync(join(folder, 'plugins of mine'));
mkdirSync(join(home, 'Library', 'LaunchAgents'), { recursive: true });
symlinkSync(SCRIPT, link);
for (const name of ['launchctl', 'open', 'pbcopy']) {
  writeFileSync(
    join(programs, name),
    `#!/bin/sh\necho "${name} $*" >> "${folder}/asked"\n[ ${name} = pbcopy ] && cat >> "${folder}/asked"\n[ "$1" = print ] && cat "${folder}/job" 2> /dev/null\nexit 0\n`,
  );
  chmodSync(join(programs, name), 0o755);
}
// This process answers the plugin, and may pause for longer than the 3 s that the plugin waits. The last limit counts.
const patient = join(folder, 'patient');
mkdirSync(patient);
writeFileSync(join(patient, 'curl'), '#!/bin/sh\nexec /usr/bin/curl "$@" --max-time 60\n', { mode: 0o755 });
const socket = join(support, 'postern.sock');
const command = join(support, 'postern');
const plist = join(home, 'Library', 'LaunchAgents', 'local.postern.agent.plist');

interface Output {
  readonly code: number | null;
  readonly text: string;
}

/** The shell that the tests run in. */
let shell: MenubarShell;

function run(env: Readonly<Record<string, string>> = {}, ...args: string[]): Promise<Output> {
  return runAt(link, env, ...args);
}

function runAt(path: string, env: Readonly<Record<string, string>>, ...args: string[]): Promise<Output> {
  const [program, ...options] = shell.command;
  const child = spawn(program, [...options, path, ...args], {
    env: {
      PATH: `${programs}:${patient}:${awkFolder(folder, shell)}:/usr/bin:/bin`,
      HOME: home,
      TMPDIR: folder,
      ...env,
    },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })));
}

function configure(port = 3001, key = '"plain-key"', extra = ''): void {
  writeFileSync(
    join(support, 'config.toml'),
    `# a comment with api_key = "wrong"\n[ server ] # here\n${extra}port = ${port}   # the port\n[auth]\napi_key = ${key} # secret\n`,
  );
}

let server: Server;
let asked: IncomingMessage[];
let answer: { status: number; text: string };
beforeEach(async () => {
  asked = [];
  answer = { status: 200, text: 'Title\n---\nRunning\n' };
  server = createServer((request, response) => {
    asked.push(request);
    response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  configure();
  writeFileSync(plist, '');
  rmSync(join(folder, 'asked'), { force: true });
});
afterEach(async () => {
  await closed(server);
  rmSync(socket, { recursive: true, force: true });
});

function closed(running: { close(done: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => void running.close(() => resolve()));
}

const bash = `bash="${link}"`;
const RUNNING_ITEMS = [
  '---',
  `Open console | ${bash} param1=open-console terminal=false refresh=true`,
  `Copy API key | ${bash} param1=copy-key terminal=false refresh=true`,
  `Restart | ${bash} param1=restart terminal=false refresh=true`,
  `Quit | ${bash} param1=quit terminal=false refresh=true`,
  `Open logs | ${bash} param1=logs terminal=false refresh=true`,
  `Doctor | ${bash} param1=doctor terminal=true refresh=true`,
  '',
];

const shells = menubarShells();

describe.each(shells.present)('the menu bar plugin in %s', (_name, its) => {
  beforeAll(() => {
    shell = its;
  });

  test.each([
    ['swiftbar', { SWIFTBAR: '1' }],
    ['xbar', {}],
  ])('asks once, as %s, and shows what the gateway says above its own items', async (host, env) => {
    const { code, text } = await run(env);
    expect(code).toBe(0);
    expect(text).toBe(['Title', '---', 'Running', ...RUNNING_ITEMS].join('\n'));
    expect(asked.map(({ url }) => url)).toEqual([`/api/v1/status?as=${host}`]);
    expect(asked[0]?.headers['x-api-key']).toBe('plain-key');
  });

  test.each([
    ['SwiftBar', { SWIFTBAR: '1' }, '| sfimage=xmark.circle'],
    ['xbar', {}, 'Postern -'],
  ])('says in %s that the gateway is not running, and offers to start it', async (_host, env, title) => {
    await closed(server);
    configure(await freePort());
    const { code, text } = await run(env);
    expect(code).toBe(0);
    expect(text).toBe(
      [
        title,
        '---',
        'Not running',
        '---',
        `Copy API key | ${bash} param1=copy-key terminal=false refresh=true`,
        `Start | ${bash} param1=start terminal=false refresh=true`,
        `Open logs | ${bash} param1=logs terminal=false refresh=true`,
        `Doctor | ${bash} param1=doctor terminal=true refresh=true`,
        '',
      ].join('\n'),
    );
  });

  test('prints a valid menu without a configuration, and for every answer of the gateway', async () => {
    for (const [status, sentence] of [
      [429, 'Running, busy just now'],
      [401, 'Running, with another key'],
      [500, 'Running, but it answers 500'],
    ] as const) {
      answer = { status, text: '{"secret": "problem"}' };
      const { code, text } = await run();
      expect(code).toBe(0);
      expect(text).toContain(sentence);
      expect(text).not.toContain('problem');
    }
    rmSync(join(support, 'config.toml'));
    rmSync(plist);
    const { code, text } = await run({ http_proxy: 'http://127.0.0.1:1' });
    expect(code).toBe(0);
    expect(text).not.toBe('');
  });

  test.each([
    ['"a\\"b\\\\c # d"', 'a"b\\c # d'],
    ["'lit\"eral \\ key'", 'lit"eral \\ key'],
  ])('reads the key %s as TOML means it, for the gateway and for the clipboard', async (written, key) => {
    configure(3001, written);
    await run();
    expect(asked[0]?.headers['x-api-key']).toBe(key);
    await run({}, 'copy-key');
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe(`pbcopy \n${key}`);
  });

  test.each([
    ['Windows line ends', '[auth]\r\napi_key = "Zoë"\r\n'],
    ['a byte order mark', '\uFEFF[auth]\napi_key = "Zoë"\n'],
    ['a dotted name', 'auth.api_key = "Zoë"\n'],
    ['an escaped character', '[auth]\napi_key = "Zo\\u00eb"\n'],
  ])('has the key from Postern itself, so that it may be written with %s', async (_, text) => {
    writeFileSync(join(support, 'config.toml'), text);
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
    try {
      await run({}, 'copy-key');
    } finally {
      rmSync(command);
    }
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('pbcopy \nZoë');
  });

  test.each([
    ['Windows line ends', '[auth]\r\napi_key = "plain-key"\r\n'],
    ['a byte order mark', '\uFEFF[auth]\napi_key = "plain-key"\n'],
  ])('reads a configuration with %s itself where Postern refuses it', async (_, text) => {
    writeFileSync(join(support, 'config.toml'), text);
    await run();
    expect(asked[0]?.headers['x-api-key']).toBe('plain-key');
  });

  test('no process list ever shows the key', async () => {
    const spy = join(programs, 'curl');
    writeFileSync(spy, `#!/bin/sh\necho "$*" > "${folder}/curl-arguments"\ncat > /dev/null\n`);
    chmodSync(spy, 0o755);
    try {
      await run();
      expect(readFileSync(join(folder, 'curl-arguments'), 'utf8')).toContain('--config -');
      expect(readFileSync(join(folder, 'curl-arguments'), 'utf8')).not.toContain('plain-key');
    } finally {
      rmSync(spy);
    }
  });

  test('prints no line that could run a program, whatever program answered', async () => {
    const harmless = [
      '| sfimage=envelope',
      '---',
      'Not connected | color=red',
      '--https://example.net – 500',
      'Open documentation | href=http://[::1]:3001/docs color=#ff0000,#00ff00',
    ];
    const harmful = [
      'Restart | bash="/bin/sh" param1="-c" param2="id > owned" terminal=false',
      'Restart |bash=/bin/sh',
      'Restart | color=red bash=/bin/sh',
      'Restart | color=red | bash=/bin/sh',
      'Restart | color=red\u2028Doctor | bash=/bin/sh',
      'Restart | color=red\rDoctor | bash=/bin/sh',
      'Restart | shell=/bin/sh',
      'Restart | href=file:///bin/sh',
      'Restart | href=http://a/ href=http://b/',
      'Restart | href="http://a" bash=/bin/sh',
      'Restart | refresh=true',
    ];
    answer = { status: 200, text: `${[...harmful, ...harmless, ...harmful].join('\n')}\n` };
    expect((await run({ SWIFTBAR: '1' })).text).toBe([...harmless, ...RUNNING_ITEMS].join('\n'));
  });

  test.each<[string, () => void, string]>([
    ['a file has its name', () => writeFileSync(socket, ''), 'postern.sock is not a socket'],
    ['a link has its name', () => symlinkSync(ABSENT, socket), 'postern.sock is not a socket'],
    ['others may write to its folder', () => chmodSync(support, 0o777), 'others may replace it'],
  ])('sends nothing and says why when %s', async (_, prepare, reason) => {
    if (reason.includes('not a socket') && !reason.includes('replace')) await closed(server);
    prepare();
    writeFileSync(join(folder, 'job'), '\tstate = running\n');
    try {
      const { text } = await run();
      expect(asked).toEqual([]);
      expect(text).toContain(reason);
      expect(text).toContain('\nRunning\n');
    } finally {
      chmodSync(support, 0o700);
      rmSync(join(folder, 'job'));
    }
  });

  test('sends the port nothing while the agent is away, and says that another program has taken it', async () => {
    await closed(server);
    const received: string[] = [];
    const squatter = createTcpServer((connection) => {
      received.push('connection');
      connection.on('data', (chunk) => received.push(String(chunk)));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const { port } = squatter.address() as AddressInfo;
    configure(port);
    // Does what macOS does with -z: connects, sends nothing, and exits with 0.
    const connect = `require('net').connect(process.argv[2], process.argv[1], () => process.exit(0)).on('error', () => process.exit(1))`;
    const nc = join(programs, 'nc');
    writeFileSync(
      nc,
      `#!/bin/sh\n[ "$1 $2 $3" = "-z -w 1" ] && exec '${process.execPath}' -e "${connect}" "$4" "$5"\n`,
      { mode: 0o755 },
    );
    try {
      expect((await run()).text).toContain(`\nNot running\nPort ${port} is taken by another program\n---\n`);
      expect(received).toEqual(['connection']);
    } finally {
      rmSync(nc);
      await closed(squatter);
    }
  });

  test('its items start, restart and quit the agent and open the logs', async () => {
    for (const action of ['start', 'restart', 'quit', 'logs']) await run({}, action);
    const uid = process.getuid?.() ?? 0;
    expect(readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')).toEqual([
      `launchctl enable gui/${uid}/local.postern.agent`,
      `launchctl bootstrap gui/${uid} ${plist}`,
      `launchctl kickstart -k gui/${uid}/local.postern.agent`,
      `launchctl bootout gui/${uid}/local.postern.agent`,
      `open ${home}/Library/Logs/Postern`,
    ]);
  });

  test('a path with a double quote is quoted the other way', async () => {
    const odd = join(folder, 'a "b".sh');
    copyFileSync(SCRIPT, odd);
    expect((await runAt(odd, {})).text).toContain(`bash='${odd}'`);
  });
});

for (const [name, program] of shells.missing) {
  testIf(false, `needs ${program}`)(`the menu bar plugin in ${name}`, () => undefined);
}

const hasShellcheck = existsSync('/usr/bin/shellcheck');
testIf(hasShellcheck, 'needs shellcheck')('shellcheck objects to nothing in the plugin', () => {
  expect(spawnSync('shellcheck', [SCRIPT], { encoding: 'utf8' }).stdout).toBe('');
});
