import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import type { Finding } from '../../src/core/model/finding.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { eventually } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

const status = async () => (await service.get('/status')).json as StatusWithSearch;
const found = async (q: string): Promise<string[]> => {
  const answer = await service.get(`/search?${new URLSearchParams({ q }).toString()}`);
  return (answer.json as SearchHit[]).map(({ message }) => message.body);
};

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: '+15550100', text: 'Dinner at the café tomorrow?' });
  await mac.command({ do: 'receive', from: '+15550101', text: '明日は東京駅で会いましょう' });
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { search: { enabled: true } },
  });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

describe('search', () => {
  test('finds earlier and new messages, and says how far it is', async () => {
    await eventually(async () => expect((await status()).search).toMatchObject({ state: 'complete', problem: null }));
    expect(await found('cafe')).toEqual(['Dinner at the café tomorrow?']);
    expect(await found('東京')).toEqual(['明日は東京駅で会いましょう']);
    await mac.command({ do: 'receive', from: '+15550100', text: 'Bring the umbrella 👍🏽' });
    await eventually(async () => expect(await found('umbrella 👍')).toEqual(['Bring the umbrella 👍🏽']));
    const metrics = await fetch(`http://127.0.0.1:${service.port}/metrics`, { headers: { 'x-api-key': KEY } });
    expect(await metrics.text()).toContain('postern_search_complete 1');
    const file = join(service.configFolder, 'search.db');
    for (const end of ['', '-wal', '-shm']) expect(statSync(file + end).mode & 0o777).toBe(0o600);
    // Not "cafe", which can occur in the hexadecimal id of a request.
    expect(service.output).not.toMatch(/dinner|tomorrow|umbrella/i);
  });

  test('follows edits, unsending, deletion, restoring and removal', async () => {
    const receive = async (text: string): Promise<number> =>
      (await mac.command<{ readonly row: number }>({ do: 'receive', from: '+15550100', text })).row;
    const words = async (): Promise<number> => {
      const index = openSqlite(join(service.configFolder, 'search.db'), { readonly: true });
      const count = index.prepare(`SELECT count(*) FROM ft WHERE ft MATCH '"walrus"'`).get()?.[0];
      index.close();
      return Number(count);
    };
    const [edited, unsent, deleted, removed] = [
      await receive('walrus edited'),
      await receive('walrus unsent'),
      await receive('walrus deleted'),
      await receive('walrus removed'),
    ];
    await eventually(async () => expect(await found('walrus')).toHaveLength(4));
    await mac.command({ do: 'edit', row: edited, text: 'penguin' });
    await mac.command({ do: 'unsend', row: unsent });
    await mac.command({ do: 'delete', row: deleted, recoverable: true });
    await mac.command({ do: 'delete', row: removed });
    // Without any search that could repair it, the index itself follows.
    await eventually(async () => expect(await words()).toBe(0));
    expect(await found('walrus')).toEqual([]);
    expect(await found('penguin')).toEqual(['penguin']);
    await mac.command({ do: 'recover', row: deleted });
    await eventually(async () => expect(await found('walrus')).toEqual(['walrus deleted']));
  });

  test('is in what doctor says', async () => {
    const { stdout } = await postern(['doctor', '--config-dir', service.configFolder, '--json']);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect(findings.find(({ name }) => name === 'search')).toMatchObject({ state: 'ok' });
  });

  test('continues after a crash with what came meanwhile', async () => {
    await service.becomeProcess();
    await service.kill();
    await mac.command({ do: 'receive', from: '+15550100', text: 'While you were out' });
    await service.launch();
    await eventually(async () => expect(await found('"while you were"')).toEqual(['While you were out']));
  });

  test('leaves nothing behind when it is switched off', async () => {
    await service.stop('SIGTERM');
    service.configure({ search: { enabled: false } });
    await service.launch();
    const file = join(service.configFolder, 'search.db');
    expect(['', '-wal', '-shm'].filter((end) => existsSync(file + end))).toEqual([]);
    expect((await status()).search).toBeUndefined();
    expect((await service.get('/search?q=cafe')).status).toBe(404);
  });
});
