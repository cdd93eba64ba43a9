import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { tokensOf } from '../../src/features/search/index/tokens.ts';
import { ChatDatabase } from '../../src/features/simulator/chat-database.ts';
import { fillLarge } from '../../src/features/simulator/fill.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { newSeed, seededChance } from '../support/seed.ts';
import { Service } from '../support/service.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';
import { temporaryFolder } from '../support/temporary.ts';

const KILLS = isLong ? 200 : 2;
const MESSAGES = isLong ? 100_000 : 2000;
const WORDS = isLong ? 60 : 5;
/** Size of the disk that is full until the filler is removed. */
const DISK_BYTES = (isLong ? 128 : 12) * 2 ** 20;
const WITHIN_MS = isLong ? 900_000 : 120_000;

let isMounted = false;
// Runs before the folder is removed.
afterAll(() => {
  if (isMounted) spawnSync('umount', [disk]);
});
const folder = temporaryFolder();
const disk = join(folder, 'disk');
let service: Service | undefined;
afterEach(async () => {
  await service?.dispose();
  service = undefined;
});

const chatDbPath = join(folder, 'chat.db');
beforeAll(() => {
  const database = ChatDatabase.open(chatDbPath, '26');
  fillLarge(database, { messages: MESSAGES, conversations: 50, busiest: MESSAGES / 3, seed: newSeed('texts') });
  database.close();
  mkdirSync(disk, { mode: 0o700 });
  isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=700`, 'tmpfs', disk]).status === 0;
});

async function statusOf(running: Service): Promise<NonNullable<StatusWithSearch['search']>> {
  const { search } = (await running.get('/status')).json as StatusWithSearch;
  if (search === undefined) throw new Error('search is off');
  return search;
}

const complete = (running: Service): Promise<void> =>
  eventually(async () => expect(await statusOf(running)).toMatchObject({ state: 'complete' }), WITHIN_MS);

/** Returns the ids of all messages that a search finds, page by page. */
async function found(running: Service, word: string): Promise<number[]> {
  const rows: number[] = [];
  let path: string | undefined = `/search?limit=200&q=${encodeURIComponent(word)}`;
  while (path !== undefined) {
    const answer = await running.get(path);
    rows.push(...(answer.json as SearchHit[]).map(({ message }) => Number(message.id)));
    path = nextOf(answer);
  }
  return rows;
}

/** Returns the words of every message in the service's own lists. */
async function wordsOf(running: Service): Promise<Map<string, number[]>> {
  const rows = new Map<string, number[]>();
  let path: string | undefined = '/messages?limit=500';
  while (path !== undefined) {
    const answer = await running.get(path);
    for (const { id, body, attachments } of answer.json as SearchHit['message'][]) {
      const names = attachments.map((one) => one.slice(one.lastIndexOf('/') + 1));
      const words = new Set([body, ...names].flatMap((text) => tokensOf(text).map((token) => token.text)));
      for (const word of words) rows.set(word, [...(rows.get(word) ?? []), Number(id)]);
    }
    path = nextOf(answer);
  }
  return rows;
}

const increasing = (rows: readonly number[]): number[] => rows.toSorted((a, b) => a - b);

test(
  `the service killed ${KILLS} times while it makes the index: afterwards everything is in it, once`,
  async () => {
    const chance = seededChance('kills while the index is made');
    service = await Service.start({ chatDbPath, settings: { search: { enabled: true } } });
    const running = service;
    let lastRows = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const goal = lastRows + (2 * chance.next() * (MESSAGES - lastRows)) / (KILLS - kill + 1);
      lastRows = await waitFor(async () => {
        const { indexed_rows: rows, state } = await statusOf(running);
        return (rows >= goal || state === 'complete') && rows;
      }, WITHIN_MS);
      await running.stop('SIGKILL');
      await running.launch();
      const resumed = await waitFor(async () => {
        const { indexed_rows: rows } = await statusOf(running);
        return (rows > 0 || lastRows === 0) && rows;
      });
      expect(resumed).toBeGreaterThanOrEqual(lastRows);
    }
    await complete(running);
    const words = await wordsOf(running);
    const listed = new Set([...words.values()].flat());
    const index = openSqlite(join(running.configFolder, 'search.db'), { readonly: true });
    const [docs, rows, counted] =
      index
        .prepare('SELECT count(*), count(DISTINCT row), (SELECT docs FROM about) FROM doc WHERE row IS NOT NULL')
        .get() ?? [];
    index.close();
    expect([docs, rows]).toEqual([counted, counted]);
    expect(Number(docs)).toBeGreaterThanOrEqual(listed.size);
    const asked = [...words.keys()].filter((_word, at) => at % Math.ceil(words.size / WORDS) === 0);
    for (const word of asked) {
      expect([word, increasing(await found(running, word))]).toEqual([word, increasing(words.get(word) ?? [])]);
    }
  },
  KILLS * 5000 + WITHIN_MS + 60_000,
);

/** Uses a disk that is really full; skipped if the test may not mount one. */
test(
  'a full disk stops the index, says so in health and status, and keeps search and everything else alive',
  async () => {
    if (!isMounted) return;
    const options = { chatDbPath, settings: { search: { enabled: true } } };
    service = await Service.start({ ...options, settings: { search: { enabled: false } } });
    const running = service;
    await running.stop('SIGTERM');
    writeFileSync(join(disk, 'filler'), Buffer.alloc(DISK_BYTES - 700_000));
    running.configure(options.settings);
    writeFileSync(join(disk, 'config.toml'), running.stateFile('config.toml'), { mode: 0o600 });
    rmSync(running.configFolder, { recursive: true });
    spawnSync('ln', ['-s', disk, running.configFolder]);
    await running.launch();
    await eventually(async () => expect((await statusOf(running)).problem).toContain('disk is full'), WITHIN_MS);
    const health = await running.get('/health');
    expect([health.status, health.text]).toEqual([200, expect.stringContaining('disk is full')]);
    expect((await running.get('/messages?limit=1')).status).toBe(200);
    rmSync(join(disk, 'filler'));
    // The service tries again every minute, and when it starts.
    await running.stop('SIGTERM');
    await running.launch();
    await complete(running);
    expect((await statusOf(running)).problem).toBeNull();
  },
  WITHIN_MS * 2,
);
