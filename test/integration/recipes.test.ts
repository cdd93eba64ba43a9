import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { type Declare, testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Delivery, Receiver } from '../support/receiver.ts';
import { KEY, Service } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const RECIPES = join(REPOSITORY, 'docs/recipes');
const SECRET = 'a shared secret, with ü';
const ANA = '+15550100';

const root = temporaryFolder();
const keyFile = join(root, 'key.txt');
const children: ChildProcess[] = [];
let mac: SimulatedMac;
let service: Service;
let receiver: Receiver;

beforeAll(async () => {
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
  mac = new SimulatedMac({ dir: join(root, 'mac'), moduleFolder: join(REPOSITORY, 'dist/src/features/simulator/') });
  await mac.start();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  receiver = await Receiver.start();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await service.dispose();
  await receiver.close();
  await mac.stop();
});

function receive(text: string, from = ANA): Promise<unknown> {
  return mac.command({ do: 'receive', from, text });
}

/** Starts a recipe in a new folder, and collects its output. */
function start(
  command: readonly string[],
  cwd = root,
  url = service.url.replace('/api/v1', ''),
  more: NodeJS.ProcessEnv = {},
): { readonly child: ChildProcess; readonly output: () => string } {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment(), POSTERN_URL: url, POSTERN_KEY_FILE: keyFile, ...more },
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

function environment(): NodeJS.ProcessEnv {
  return { ...BARE_ENVIRONMENT, HOME: process.env.HOME ?? root };
}

function isThere(program: string, argument = '--version'): boolean {
  return spawnSync(program, [argument]).status === 0;
}

/** Declares a test that is skipped, with the reason in its name, if the tool is missing. */
function testWith(program: string, argument?: string): Declare {
  return testIf(isThere(program, argument), `needs ${program}`);
}

describe('a real delivery is verified', () => {
  let delivery: Delivery;

  beforeAll(async () => {
    const registration = { url: receiver.url, events: ['message.received'], secret: SECRET };
    expect((await service.post('/webhooks', registration)).status).toBe(201);
    await receive('Grüße 🎉');
    delivery = await waitFor(() => receiver.deliveries[0]);
  });

  for (const [name, program, args, versionArgument] of [
    ['Python', 'python3', ['verify.py'], undefined],
    ['Node', process.execPath, ['verify.mjs'], undefined],
    ['shell', 'openssl', ['verify.sh'], 'version'],
    ['Go', 'go', ['run', 'verify.go'], 'version'],
  ] as const) {
    const run = testWith(program, versionArgument);
    run(`in ${name}`, () => {
      const verify = (body: Buffer, signature: string, secret = SECRET): readonly [number | null, string] => {
        const { status, stdout } = spawnSync(program === 'openssl' ? 'sh' : program, [...args, signature], {
          cwd: RECIPES,
          input: body,
          encoding: 'utf8',
          env: { ...environment(), POSTERN_SECRET: secret },
        });
        return [status, stdout.trim()];
      };
      const signature = String(delivery.headers['x-webhook-signature']);
      expect(verify(delivery.body, signature)).toEqual([0, 'genuine']);
      expect(verify(Buffer.concat([delivery.body, Buffer.from(' ')]), signature)).toEqual([1, 'forged']);
      expect(
        verify(
          delivery.body,
          signature.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        ),
      ).toEqual([1, 'forged']);
      expect(verify(delivery.body, '')).toEqual([1, 'forged']);
      // As many characters as a valid signature, but not as many bytes.
      expect(verify(delivery.body, signature.replace(/.$/, 'é'))).toEqual([1, 'forged']);
      // With an empty secret everybody could sign.
      const unsigned = `sha256=${createHmac('sha256', '').update(delivery.body).digest('hex')}`;
      expect(verify(delivery.body, unsigned, '')[1]).not.toBe('genuine');
    });
  }
});

testWith('python3')('there was no complete receiver: the one in Python verifies, and takes a repeat once', async () => {
  const folder = join(root, 'receiver');
  mkdirSync(folder);
  // A newline at the end of the file is not part of the secret.
  const secretFile = join(folder, 'secret.txt');
  writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  const { output } = start(['python3', join(RECIPES, 'receiver.py'), '0'], folder, '', {
    POSTERN_SECRET_FILE: secretFile,
  });
  const url = await waitFor(() => /^http:\S+/.exec(output())?.[0]);
  const webhook = (await service.post('/webhooks', { url, events: ['message.received'], secret: SECRET })).json as {
    readonly id: string;
  };
  const bodies = (): readonly string[] =>
    output()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as Delivery['event']).data.body as string] : []));
  await receive('Grüße 🎉 for the receiver');
  await waitFor(() => bodies().length === 1);
  for (const signature of ['', 'sha256=0', `sha256=${'é'.repeat(64)}`]) {
    const headers = { 'X-Webhook-Signature': signature, 'X-Webhook-Delivery': 'forged' };
    expect((await fetch(url, { method: 'POST', body: '{"data":{"body":"forged"}}', headers })).status).toBe(401);
  }
  const newest = Number((await service.get('/messages?limit=1').then(({ json }) => json as [{ id: string }]))[0].id);
  expect((await service.post(`/webhooks/${webhook.id}/replay`, { after: newest - 1 })).status).toBe(202);
  await receive('the next one');
  await waitFor(() => bodies().length === 2);
  expect(bodies()).toEqual(['Grüße 🎉 for the receiver', 'the next one']);
  // A delivery is recorded after the receiver has printed it.
  const deliveries = async () => (await service.get(`/webhooks/${webhook.id}/deliveries`)).json as readonly unknown[];
  await waitFor(async () => (await deliveries()).length >= 3);
  expect(await deliveries()).toHaveLength(3);
});

/** Writes until the bot has answered, because only the bot knows when it starts listening. */
async function answersPing(): Promise<void> {
  const before = pongs();
  await receive('nothing for you');
  await waitFor(async () => {
    await receive('Ping?');
    await eventually(() => expect(pongs()).toBeGreaterThan(before), 500);
    return true;
  });
}

function pongs(to = ANA): number {
  return mac.calls.filter(({ values }) => values.BODY === 'pong' && values.RECIPIENT?.includes(to)).length;
}

describe('the auto-reply bot answers, and only what it should', () => {
  const python = testWith('python3');
  python('in Python, with the service killed in between', async () => {
    await service.becomeProcess();
    const { output } = start(['python3', '-u', join(RECIPES, 'auto-reply.py')]);
    await answersPing();
    await service.kill();
    await receive('ping while nobody is there', 'patient@example.com');
    await eventually(() => expect(output()).toContain('refused'));
    await service.launch();
    await eventually(() => expect(pongs('patient@example.com')).toBe(1));
  });

  python('in Python, with the bot itself killed in between', async () => {
    const folder = join(root, 'killed bot');
    mkdirSync(folder);
    const { child } = start(['python3', '-u', join(RECIPES, 'auto-reply.py')], folder);
    await answersPing();
    await waitFor(() => existsSync(join(folder, 'auto-reply.place')));
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await receive('ping while the bot is away', 'unheard@example.com');
    start(['python3', '-u', join(RECIPES, 'auto-reply.py')], folder);
    await eventually(() => expect(pongs('unheard@example.com')).toBe(1));
  });

  python('in Python, with an answer that the service did not take at first', async () => {
    const folder = join(root, 'busy service');
    mkdirSync(folder);
    const keys: (string | string[] | undefined)[] = [];
    const data = { guid: 'G1', body: 'ping', conversation_id: 'any;-;busy@example.com' };
    const event = JSON.stringify({ type: 'message.received', offset: 'first', data });
    const busy = createServer((request, response) => {
      if (request.method === 'GET') return response.end(request.url?.includes('after=0') ? `${event}\n` : '[]');
      keys.push(request.headers['idempotency-key']);
      if (keys.length === 1) return request.socket.destroy();
      return response.writeHead([429, 503][keys.length - 2] ?? 201).end();
    }).listen(0, '127.0.0.1');
    try {
      await once(busy, 'listening');
      const { port } = busy.address() as AddressInfo;
      start(['python3', '-u', join(RECIPES, 'auto-reply.py')], folder, `http://127.0.0.1:${port}`);
      await eventually(() => expect(readFileSync(join(folder, 'auto-reply.place'), 'utf8')).toBe('first'));
      expect(keys).toEqual(Array(4).fill('pong-G1'));
    } finally {
      busy.closeAllConnections();
      busy.close();
    }
  });

  python('in Python, no message twice, also if its event comes again after a 410 and in another run', async () => {
    const folder = join(root, 'repeated');
    mkdirSync(folder);
    writeFileSync(join(folder, 'auto-reply.answered'), 'G0\n');
    const keys: (string | string[] | undefined)[] = [];
    const asked: (string | undefined)[] = [];
    const line = (guid: string, offset: string): string => {
      const data = { guid, body: 'ping', conversation_id: 'any;-;twice@example.com' };
      return `${JSON.stringify({ type: 'message.received', offset, data })}\n`;
    };
    const answers: Record<string, string> = { 0: line('G0', 'a') + line('G1', 'b'), again: line('G1', 'c') };
    const service = createServer((request, response) => {
      if (request.method === 'POST') keys.push(request.headers['idempotency-key']);
      const after = request.url?.match(/after=(\w+)/)?.[1];
      if (after === undefined) return response.end('[]');
      asked.push(after);
      if (after === 'b') return response.writeHead(410).end(JSON.stringify({ detail: 'It expired.', latest: 'again' }));
      return response.end(answers[after] ?? '');
    }).listen(0, '127.0.0.1');
    try {
      await once(service, 'listening');
      const { port } = service.address() as AddressInfo;
      start(['python3', '-u', join(RECIPES, 'auto-reply.py')], folder, `http://127.0.0.1:${port}`);
      await eventually(() => expect(readFileSync(join(folder, 'auto-reply.place'), 'utf8')).toBe('c'));
      expect(keys).toEqual(['pong-G1']);
    } finally {
      service.closeAllConnections();
      service.close();
    }
  });

  const gone = { detail: 'It is gone.' };
  for (const [what, problem] of [
    ['has expired', { latest: 'new', ...gone }],
    ['has expired at a hub', { resume: 'new', latest: 'newer', ...gone }],
    ['is gone with its database', { highest_row_id: 'new', ...gone }],
  ] as const) {
    python(`in Python, where the service says after its place ${what}; a wrong key ends it`, async () => {
      const folder = join(root, what);
      mkdirSync(folder);
      const asked: (string | undefined)[] = [];
      const replaced = createServer((request, response) => {
        if (request.url?.startsWith('/api/v1/messages')) return response.end('[{"id": "7"}]');
        asked.push(request.url?.match(/after=(\w+)/)?.[1]);
        const [status, answer] = asked.length === 1 ? [410, problem] : [401, { detail: 'No.', hint: 'Get one.' }];
        return response.writeHead(status).end(JSON.stringify(answer));
      }).listen(0, '127.0.0.1');
      try {
        await once(replaced, 'listening');
        const { port } = replaced.address() as AddressInfo;
        const { child, output } = start(
          ['python3', '-u', join(RECIPES, 'auto-reply.py')],
          folder,
          `http://127.0.0.1:${port}`,
        );
        const [code] = (await once(child, 'close')) as [number | null];
        expect([code, asked, output()]).toEqual([
          1,
          ['7', 'new'],
          expect.stringContaining('410 It is gone.\n401 No.\nGet one.\n'),
        ]);
      } finally {
        replaced.closeAllConnections();
        replaced.close();
      }
    });
  }

  test('in TypeScript, checked against the types of the package, with the service killed in between', async () => {
    const folder = join(root, 'bot');
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    // As `npm install /path/to/postern` links it.
    symlinkSync(REPOSITORY, join(folder, 'node_modules/postern'));
    symlinkSync(join(REPOSITORY, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
    writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}'); // as npm init -y writes it
    copyFileSync(join(RECIPES, 'auto-reply.mts'), join(folder, 'auto-reply.mts'));
    const compiler = join(REPOSITORY, 'node_modules/@typescript/native/bin/tsc');
    const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', 'auto-reply.mts'];
    const compiled = spawnSync(process.execPath, [compiler, ...options], { cwd: folder, encoding: 'utf8' });
    expect(compiled.stdout + compiled.stderr).toBe('');

    await service.becomeProcess();
    start([process.execPath, 'auto-reply.mjs'], folder);
    await answersPing();
    await service.kill();
    await receive('ping while nobody is there', 'late@example.com');
    await service.launch();
    await eventually(() => expect(pongs('late@example.com')).toBeGreaterThan(0));
    await receive('ping again', 'later@example.com');
    await eventually(() => expect(pongs('later@example.com')).toBeGreaterThan(0));
    expect(pongs('late@example.com')).toBe(1);
  });
});

test('the resuming client misses nothing over restarts of the service and its own', async () => {
  const folder = join(root, 'resume');
  mkdirSync(folder);
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(RECIPES, 'resume.mjs'), join(folder, 'resume.mjs'));
  const command = [process.execPath, 'resume.mjs', 'last-row.txt'];
  const newest = async (): Promise<number> =>
    Number((await service.get('/status').then(({ json }) => json as { newest_row: number })).newest_row);
  const remembered = (): number => Number(readFileSync(join(folder, 'last-row.txt'), 'utf8'));

  await service.becomeProcess();
  const first = start(command, folder);
  const begin = await waitFor(remembered);
  await receive('while both are there');
  await eventually(async () => expect(remembered()).toBe(await newest()));
  await service.kill();
  await receive('while the service is away');
  await service.launch();
  await eventually(async () => expect(remembered()).toBe(await newest()));
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await receive('while the client is away');
  const second = start(command, folder);
  const last = await newest();
  await eventually(() => expect(remembered()).toBe(last));

  // It prints a row before it stores it, but the pipe may be slower than the file.
  await eventually(() => {
    const output = first.output() + second.output();
    const rows = [...output.matchAll(/^message\.\w+ (\d+)$/gm)].map(([, row]) => Number(row));
    expect(rows).toEqual(Array.from({ length: last - begin }, (_, place) => begin + place + 1));
  });
});
