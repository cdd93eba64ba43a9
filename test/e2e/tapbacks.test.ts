import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Approval, SelfChatRecord } from '../../src/client/access-types.ts';
import type { KeyRecord } from '../../src/client/key-types.ts';
import { PosternClient } from '../../src/client/postern-client.ts';
import type { StatusReport } from '../../src/core/model/status.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { CANARY_START, type CanaryReport } from '../../src/features/canary/text.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const UP = 2001;
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Returns the row ids of a chat's messages with this text, oldest first. */
function rowsWith(text: string, chatDbPath: string, isOwn = 1): readonly number[] {
  const database = openSqlite(chatDbPath, { readonly: true });
  try {
    return database
      .prepare(
        'SELECT m.ROWID FROM message m JOIN chat_message_join j ON j.message_id = m.ROWID WHERE is_from_me = ? AND instr(attributedBody, ?) ORDER BY 1',
      )
      .all(isOwn, text)
      .map(([row]) => Number(row));
  } finally {
    database.close();
  }
}

const bodies = (mac: SimulatedMac): readonly string[] =>
  mac.calls.map(({ values }) => values.BODY ?? '').filter((body) => body !== '');
const codeOf = (mac: SimulatedMac): string => /\d{6}/.exec(bodies(mac).at(-1) ?? '')?.[0] ?? '';

describe('a service', () => {
  let mac: Awaited<ReturnType<typeof simulatedMac>>;
  let service: Service;
  let agent: Readonly<Record<string, string>>;

  beforeAll(async () => {
    mac = await simulatedMac();
    await mac.command({ do: 'write', to: ANA, text: 'before' });
    const settings = { self: { address: OWN_ADDRESS }, canary: { enabled: true }, search: { enabled: true } };
    service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath, settings });
    const key = await service.post('/keys', { name: 'agent', preset: 'assistant', read: '*', send: [ANA] });
    agent = { 'x-api-key': (key.json as { key: string }).key };
  });
  afterAll(async () => {
    await service.dispose();
    await mac.dispose();
  });

  const prove = async (): Promise<void> => {
    expect((await service.post('/self-chat/code', {})).status).toBe(200);
    expect((await service.post('/self-chat/prove', { code: codeOf(mac) })).status).toBe(200);
  };
  const ask = async (body: string): Promise<Approval> => {
    const { approval } = (await service.post('/messages', { recipient: ANA, body }, agent)).json as {
      approval: Approval;
    };
    return approval;
  };
  /** Returns the row that asks for the approval, once the service has seen it. */
  const asking = async (id: string): Promise<number> => {
    await waitFor(() => rowsWith(id, mac.chatDbPath).length > 0);
    const [row = 0] = rowsWith(id, mac.chatDbPath);
    await eventually(async () => expect((await service.get(`/events?after=${row - 1}`)).text).toContain(id));
    return row;
  };
  const ended = async (id: string) => (await service.get(`/approvals/${id}?wait=20`)).json as Approval;

  test('writes what waits into the self-chat, and a tapback from the phone decides', async () => {
    expect((await service.get('/self-chat')).json).toMatchObject({ address: OWN_ADDRESS, proved_at: null });
    await prove();
    const { id } = await ask('by tapback');
    const row = await asking(id);
    await mac.command({ do: 'react', to: row, from: OWN_ADDRESS, type: UP });
    await mac.command({ do: 'react', to: row, type: UP });
    expect(await ended(id)).toMatchObject({ state: 'sent', decided_by: 'tapback' });
    expect(bodies(mac).filter((body) => body === 'by tapback')).toHaveLength(1);
    expect((await service.get('/messages?limit=200', agent)).text).not.toContain('Postern');
    expect((await service.get(`/audit?key=tapback`)).json).toMatchObject([{ target: id, outcome: 'approved' }]);
  });

  test('tells a key that may read everybody nothing of the self-chat: no count, no time, no word', async () => {
    const { conversation_id: chat } = (await service.get('/self-chat')).json as SelfChatRecord;
    const id = encodeURIComponent(chat ?? '');
    const paths = ['/search?limit=1&q=Postern', `/messages?limit=1&conversation_id=${id}`];
    for (const path of paths) {
      await eventually(async () => expect((await service.get(path)).headers.get('link')).toContain('cursor='));
      const { text, headers } = await service.get(path, agent);
      expect([path, text, headers.get('link')]).toEqual([path, '[]', null]);
    }
    const list = '/conversations?limit=1&cursor=';
    expect((await service.get(list)).headers.get('link')).toContain('cursor=');
    const { json, headers } = await service.get(list, agent);
    expect([json, headers.get('link')]).toMatchObject([[{ participants: [ANA] }], null]);
  });

  test('takes a tapback on the copy that Messages makes', async () => {
    const { id } = await ask('by the copy');
    await asking(id);
    await waitFor(() => rowsWith(id, mac.chatDbPath, 0).length > 0);
    const [copy = 0] = rowsWith(id, mac.chatDbPath, 0);
    await eventually(async () => expect((await service.get(`/events?after=${copy - 1}`)).text).toContain(id));
    await mac.command({ do: 'react', to: copy, type: UP + 1 });
    expect(await ended(id)).toMatchObject({ state: 'denied', decided_by: 'tapback' });
  });

  test('killed between the decision and the send sends it once', async () => {
    await service.becomeProcess();
    const { id } = await ask('killed before it was sent');
    const row = await asking(id);
    // Another send is ahead of it in the queue.
    await mac.command({ do: 'scenario', name: 'hang' });
    const before = bodies(mac).length;
    const inTheWay = service.post('/messages', { recipient: ANA, body: 'in the way' }).catch(() => undefined);
    await waitFor(() => bodies(mac).length > before);
    await mac.command({ do: 'react', to: row, type: UP });
    await eventually(async () => {
      const approval = (await service.get(`/approvals/${id}`)).json as Approval;
      expect(approval).toMatchObject({ state: 'approved', decided_by: 'tapback' });
    });
    await service.stop('SIGKILL');
    await inTheWay;
    await service.launch();
    expect((await ended(id)).state).toBe('sent');
    await service.kill();
    await service.launch();
    expect(bodies(mac).filter((body) => body === 'killed before it was sent')).toHaveLength(1);
  });

  test('sends one canary in spite of two kills, and clients see it only if they ask', async () => {
    const status = async () => (await service.get('/status')).json as StatusReport & { readonly canary?: CanaryReport };
    await eventually(async () => expect((await status()).canary?.state).toBe('arriving'));
    expect(bodies(mac).filter((body) => body.startsWith(CANARY_START))).toHaveLength(1);
    await eventually(async () =>
      expect((await service.get('/events?after=0&limit=1000&include_hidden=true')).text).toContain(CANARY_START),
    );
    expect((await service.get('/messages?limit=200&include_hidden=true')).text).toContain(CANARY_START);
    for (const path of [
      '/messages?limit=200',
      '/events?after=0&limit=1000',
      '/events?changes=true&after=0&limit=1000',
    ]) {
      const { status: code, text } = await service.get(path);
      expect([path, code, text.includes(CANARY_START)]).toEqual([path, 200, false]);
    }
    expect((await service.get('/events?after=0&include_hidden=1')).status).toBe(400);
    const metrics = await fetch(`http://127.0.0.1:${service.port}/metrics`, { headers: { 'X-API-Key': KEY } });
    expect(await metrics.text()).toContain('postern_push_dead 0');
  });

  test('believes nothing any more when chat.db was replaced', async () => {
    const { id } = await ask('before the other chat.db');
    await asking(id);
    await mac.command({ do: 'replace' });
    await eventually(async () =>
      expect((await service.get('/self-chat')).json).toMatchObject({ conversation_id: null, proved_at: null }),
    );
    const { row } = await mac.command<{ row: number }>({ do: 'write', to: OWN_ADDRESS, text: id });
    await mac.command({ do: 'react', to: row, type: UP });
    await eventually(async () => expect((await service.get('/events?after=0')).text).toContain('reaction.added'));
    expect((await service.get(`/approvals/${id}`)).json).toMatchObject({ state: 'held' });
  });
});

describe('the demo', () => {
  const dir = join(temporaryFolder(), 'demo');
  const config = join(dir, 'config.toml');
  let demo: ChildProcess;

  const start = async (port: number): Promise<void> => {
    let output = '';
    demo = spawn(process.execPath, [MAIN, 'demo', '--dir', dir, '--port', String(port)], {
      // The socket of the simulated Mac is in the temporary folder.
      env: { ...BARE_ENVIRONMENT, HOME: dir },
    });
    for (const stream of [demo.stdout, demo.stderr]) stream?.on('data', (chunk: Buffer) => (output += String(chunk)));
    await waitFor(() => {
      if (demo.exitCode !== null) throw new Error(output);
      return output.includes('Ctrl+C');
    });
  };
  const stop = async (): Promise<void> => {
    const end = once(demo, 'exit');
    demo.kill('SIGTERM');
    await end;
  };

  test('shows it: self.address, "approvals prove", a 👍 of the owner on another device', async () => {
    const port = await freePort();
    await start(port);
    await stop();
    const text = readFileSync(config, 'utf8');
    writeFileSync(config, text.replace('# address = ""', `address = "${OWN_ADDRESS}"`), { mode: 0o600 });
    await start(port);
    try {
      const mac = new SimulatedMac({ dir });
      const apiKey = /^api_key = "(.+)"/m.exec(text)?.[1] ?? '';
      const url = `http://127.0.0.1:${port}`;
      const owner = new PosternClient({ url, key: apiKey });
      const prove = spawn(process.execPath, [MAIN, 'approvals', 'prove', '--config-dir', dir], {
        env: { ...BARE_ENVIRONMENT, HOME: dir },
      });
      let said = '';
      for (const stream of [prove.stdout, prove.stderr]) stream.on('data', (chunk: Buffer) => (said += String(chunk)));
      await waitFor(() => said.includes('Type the code'));
      prove.stdin.end(`${codeOf(mac)}\n`);
      await once(prove, 'close');
      expect(said).toContain('Proved: the conversation with me@example.com is with yourself.');
      const key: KeyRecord & { readonly key: string } = await owner.keys.add({
        name: 'agent',
        preset: 'assistant',
        send: [ANA],
      });
      const agent = new PosternClient({ url, key: key.key });
      const asked = await agent.send({ recipient: ANA, body: 'May I, from the demo?' });
      if (!('approval' in asked)) throw new Error('it was not held');
      const { id } = asked.approval;
      await waitFor(() => rowsWith(id, mac.chatDbPath).length > 0);
      await mac.command({ do: 'react', to: rowsWith(id, mac.chatDbPath)[0] ?? 0, type: UP });
      expect(await owner.approvals.get(id, { wait: 20 })).toMatchObject({ state: 'sent', decided_by: 'tapback' });
    } finally {
      await stop();
    }
  });
});
