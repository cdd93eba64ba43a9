import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Webhook } from '../../src/core/model/webhook.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Ended, postern, type Running, startPostern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort, Service } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const BEN = '+15550101';

const root = temporaryFolder();
const chats = new ChatFixture(join(root, 'chat.db'));
let service: Service;
const chatOf: Record<string, number> = {};

beforeAll(async () => {
  for (const address of [ANA, BEN]) chatOf[address] = chats.chat(`any;-;${address}`, [address]);
  service = await Service.here({ chatDbPath: chats.path });
});
afterAll(() => service.dispose());

function receive(text: string, from = ANA): string {
  return String(chats.message({ chat: chatOf[from] ?? 0, text, handle_id: chats.handle(from) }));
}

function run(...args: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, 'webhooks', ...args]);
}

async function said(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(...args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

function file(name: string, content: string): string {
  const path = join(root, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

async function registered(): Promise<readonly Webhook[]> {
  return (await service.get('/webhooks')).json as Webhook[];
}

describe('postern webhooks', () => {
  test('registers, lists, tests, looks after, replays and removes one', async () => {
    const receiver = await Receiver.start();
    try {
      receive('to be replayed');
      const secret = file('shared.txt', 'shared secret\n');
      const added = await said('add', receiver.url, '--event', 'message.received', '--secret-file', secret);
      const id = /Webhook (\S+) registered/.exec(added)?.[1] ?? '';
      const beginning = id.slice(0, 8);
      expect(await said('list')).toMatch(new RegExp(`^ID .*\n${id} +healthy +\\S+ +message.received\n$`));
      expect(JSON.parse(await said('list', '--json'))).toEqual([expect.objectContaining({ id, url: receiver.url })]);
      expect(await said('test', beginning)).toContain('204');
      expect(receiver.deliveries[0]?.headers['x-webhook-signature']).toMatch(/^sha256=[\da-f]{64}$/);
      await said('edit', beginning, '--name', 'My receiver');
      expect(await said('test', 'my receiver')).toContain('204');
      await said('replay', beginning, '--after', '0');
      await waitFor(() => receiver.deliveries.find(({ event }) => event.data.body === 'to be replayed'));
      expect(await said('deliveries', beginning)).toMatch(
        /^LAST TRY .*\n.* message\.received +\d+ +delivered +1 +204\n/,
      );
      await said('remove', beginning);
      expect(await registered()).toEqual([]);
    } finally {
      await receiver.close();
    }
  });

  test('sets an age and leaves junk out, and says so', async () => {
    const added = await said('add', 'http://127.0.0.1:9/', '--paused', '--max-age', '30m', '--no-junk');
    const id = /Webhook (\S+) registered/.exec(added)?.[1] ?? '';
    expect((await service.get(`/webhooks/${id}`)).json).toMatchObject({ filter: { max_age_s: 1800, junk: false } });
    expect(await said('show', id)).toMatch(
      /Only +messages that arrived at most 1800 s after they were written, no junk\n/,
    );
    await said('edit', id, '--max-age', '2h');
    expect((await service.get(`/webhooks/${id}`)).json).toHaveProperty('filter', { max_age_s: 7200, junk: false });
    await said('edit', id, '--no-filter', '--max-age', '3h');
    expect((await service.get(`/webhooks/${id}`)).json).toHaveProperty('filter', { max_age_s: 10_800 });
    await said('remove', id);
  });

  test('adds one with everything, shows it, changes it, pauses it and continues', async () => {
    const [receiver, other] = [await Receiver.start(), await Receiver.start()];
    try {
      const headers = file('headers.txt', 'Authorization: Bearer sesame\nX-Trace:  on \n\n');
      const options = ['--name', 'n8n', '--headers-file', headers, '--secret-file', file('secret.txt', 'old\n')];
      const filter = ['--conversation', ANA, '--from', 'others', '--on-failure', 'hold', '--include', 'details'];
      const added = await said('add', receiver.url, ...options, ...filter, '--paused');
      const id = /Webhook (\S+) registered. To start deliveries: .+ webhooks resume /.exec(added)?.[1] ?? '';
      expect(added).toContain(`${ANA} is any;-;${ANA}.`);
      const first = receive('while paused');
      expect(await said()).toMatch(new RegExp(`^ID .*NAME .*\n${id} +paused +n8n +\\S+ +all\n$`));
      await eventually(async () => expect((await service.get(`/webhooks/${id}`)).json).toMatchObject({ behind: 1 }));
      expect(await said('show', id)).toMatch(
        /Only +any;-;\+15550100, messages of others\nIncludes +details\nSignature +yes\nHeaders +Authorization, X-Trace\nOn failure +hold, .*\nState +paused\nPosition +row \d+, 1 behind/,
      );
      expect(await said('resume', id)).toContain(`resumed. It continues after row ${Number(first) - 1}.`);
      await waitFor(() => receiver.deliveries.find(({ event }) => event.data.id === first));
      expect(receiver.deliveries[0]?.headers).toMatchObject({ authorization: 'Bearer sesame', 'x-trace': 'on' });
      expect(receiver.deliveries[0]?.event.data).toHaveProperty('details');

      expect(await said('edit', id, '--secret-file', file('new.txt', 'new'), '--to', other.url, '--no-filter')).toMatch(
        /changed. The previous secret also signs until \S+Z\.\n$/,
      );
      await said('edit', id, '--remove-header', 'authorization', '--no-name', '--event', 'message.received');
      const second = receive('from Ben', BEN);
      await waitFor(() => other.deliveries.find(({ event }) => event.data.id === second));
      const [sent] = other.deliveries;
      expect(sent?.headers).toMatchObject({
        'x-trace': 'on',
        'webhook-signature': expect.stringMatching(/^v1,\S+ v1,/),
      });
      expect(sent?.headers.authorization).toBeUndefined();

      expect(await said('pause', id)).toContain(`paused. When resumed, it continues after row ${second}`);
      const skipped = receive('skipped');
      await eventually(async () => expect((await service.get(`/webhooks/${id}`)).json).toMatchObject({ behind: 1 }));
      expect(await said('replay', id, '--latest')).toContain(`continues with the next event, after row ${skipped}`);
      expect(await said('resume', id)).toContain('It missed nothing.');
      expect(await said('remove', id)).toContain('removed');
      expect(service.output).not.toContain('sesame');
    } finally {
      await receiver.close();
      await other.close();
    }
  });

  test('refuses files that hold something else, without showing what', async () => {
    const bad = file('bad.txt', 'Authorization: x\nBearer sesame\n');
    const { exitCode, stderr } = await run('add', 'http://127.0.0.1:9/', '--headers-file', bad);
    expect([exitCode, stderr]).toEqual([78, expect.stringContaining('Line 2 of the headers file')]);
    const ours = file('ours.txt', 'Host: sesame.example\n');
    const refused = await run('add', 'http://127.0.0.1:9/', '--headers-file', ours);
    expect([refused.exitCode, refused.stderr]).toEqual([
      65,
      expect.stringContaining('The header `Host` cannot be set'),
    ]);
    expect(stderr + refused.stderr).not.toContain('sesame');
    expect(await registered()).toEqual([]);
  });

  test('that do not answer fail their test with 1, and say why', async () => {
    const url = `http://127.0.0.1:${await freePort()}/hook`;
    const { id } = JSON.parse(await said('add', url, '--json')) as { id: string };
    const { exitCode, stdout } = await run('test', id);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringContaining('refused') });
    expect(await run('retry', id)).toMatchObject({ exitCode: 1, stdout: `Webhook ${id} holds no delivery.\n` });
    await run('remove', id);
  });

  test.each([
    [['add', 'not-an-address'], 65, 'http or https'],
    [['remove', 'nothing'], 65, 'There is no webhook nothing.'],
    [['add', 'http://127.0.0.1:1/', '--secret-file', ABSENT], 78, `${ABSENT} cannot be read (ENOENT)`],
    [['add', 'http://127.0.0.1:1/', '--event', 'message'], 64, 'Allowed choices are message.received'],
    [['replay', 'x'], 64, '--after ROW'],
    [['nothing'], 64, 'there is no command webhooks nothing.'],
    [['replay', 'x', '--dropped', '--latest'], 64, 'one of --after ROW, --dropped and --latest'],
    [['edit', 'x'], 64, 'nothing to change'],
  ])('are refused in a sentence: %j', async (args, code, words) => {
    const { exitCode, stderr } = await run(...args);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(words);
  });
});

describe('postern webhooks listen', () => {
  const begin = async (...args: readonly string[]): Promise<Running> => {
    const running = startPostern(['--config-dir', service.configFolder, 'webhooks', 'listen', ...args]);
    await waitFor(() => running.stderr.includes('Stop with Ctrl+C'));
    return running;
  };
  const end = async ({ child }: Running, signal: NodeJS.Signals): Promise<readonly unknown[]> => {
    const ended = once(child, 'close');
    child.kill(signal);
    await ended;
    return [child.exitCode, child.signalCode];
  };

  test('registers itself, prints what comes and whether it is genuine, and removes itself at the end', async () => {
    const running = await begin('--conversation', `any;-;${ANA}`);
    const [webhook] = await registered();
    expect(webhook?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/postern-listen\/[\da-f]{32}$/);
    receive('not this one', BEN);
    receive('listen to this');
    await waitFor(() => running.stdout.includes('listen to this'));
    expect(running.stdout).not.toContain('not this one');
    await service.post(`/webhooks/${webhook?.id}/test`, {});
    await waitFor(() => running.stdout.includes('A test event.'));
    const forged = await fetch(webhook?.url ?? '', { method: 'POST', body: '{"type":"message.received"}' });
    expect(forged.status).toBe(401);
    await waitFor(() => running.stderr.includes('without a valid signature was refused'));
    // A terminal and npx both pass on one Ctrl+C: the webhook is still removed.
    running.child.kill('SIGINT');
    expect(await end(running, 'SIGINT')).toEqual([0, null]);
    expect(await registered()).toEqual([]);
  });

  test('forwards the same bytes and signatures, and returns the answer of the target', async () => {
    const secret = 'whsec_c2VjcmV0';
    const receiver = await Receiver.start((response) => {
      response.writeHead(receiver.deliveries.length === 1 ? 503 : 204).end();
    });
    const running = await begin('--forward-to', receiver.url, '--json', '--secret-file', file('own.txt', secret));
    expect(running.stderr).not.toContain(secret);
    const row = receive('forward this');
    await waitFor(() => receiver.deliveries.length === 2);
    const [first, second] = receiver.deliveries;
    expect(first?.event.data.id).toBe(row);
    expect(first?.headers['x-webhook-signature']).toMatch(/^sha256=[\da-f]{64}$/);
    expect(second?.headers).toMatchObject({
      'x-webhook-attempt': '2',
      'x-webhook-delivery': first?.headers['x-webhook-delivery'],
      'content-type': 'application/json',
    });
    await waitFor(() => running.stderr.includes('attempt 2, forwarded: 204'));
    expect(running.stderr).toContain('forwarded: 503');
    expect(JSON.parse(running.stdout.split('\n')[0] ?? '')).toEqual(first?.event);
    expect(await end(running, 'SIGTERM')).toEqual([0, null]);
    await receiver.close();
    expect(await registered()).toEqual([]);
  });

  test('removes the webhook of a killed listener, and none of a running one', async () => {
    const [killed, alive] = [await begin(), await begin()];
    const before = await registered();
    expect(before).toHaveLength(2);
    const own = (await service.post('/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.sent'] })).json;
    await end(killed, 'SIGKILL');
    const next = await begin();
    const now = (await registered()).map(({ id }) => id);
    expect(now).toHaveLength(3);
    expect(now).toContain((own as Webhook).id);
    expect(now.filter((id) => before.some((one) => one.id === id))).toHaveLength(1);
    receive('for both');
    await waitFor(() => [alive, next].every(({ stdout }) => stdout.includes('for both')));
    for (const running of [alive, next]) expect(await end(running, 'SIGTERM')).toEqual([0, null]);
    expect(await registered()).toEqual([expect.objectContaining({ id: (own as Webhook).id })]);
  });

  test.each([
    [['--forward-to', 'ftp://x'], 64, '--forward-to is ftp://x'],
    [
      ['--url', 'http://192.0.2.1:3001', '--key-file', file('some-key', 'key')],
      64,
      'cannot reach a receiver on this machine',
    ],
  ])('says what it cannot do: %j', async (args, code, words) => {
    const { exitCode, stderr } = await run('listen', ...args);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(words)]);
  });
});
