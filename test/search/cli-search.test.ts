import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { withService } from '../../src/core/cli/service-connection.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type SearchOptions, searchCommand } from '../../src/features/search/search-command.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { KEY, MESSAGE, STATUS } from '../support/http-gateway.ts';
import { PLAIN } from '../support/plain-context.ts';
import { postern } from '../support/postern.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const keyFile = join(temporaryFolder(), 'key.txt');
writeFileSync(keyFile, KEY, { mode: 0o600 });

const BUILDING = {
  state: 'building',
  indexed_rows: 520,
  total_rows: 1000,
  indexed_from: '2021-03-04T05:06:07Z',
  problem: null,
} as const;

let gateway: FeatureGateway;
let reports: StatusWithSearch[];
beforeEach(async () => {
  reports = [STATUS];
  gateway = await FeatureGateway.start({ status: () => (reports.length > 1 ? reports.shift() : reports[0]) ?? STATUS });
});
afterEach(() => gateway.close());

const run = (...args: readonly string[]) => postern(['search', '--url', gateway.url, '--key-file', keyFile, ...args]);

/** Makes the search find one message with this text. */
function finds(body: string, highlight: readonly [number, number]): void {
  const message = { ...MESSAGE, body };
  gateway.reader.stored = message;
  gateway.search.hits = [{ message, highlights: [highlight] }];
}

/** Runs a search in a terminal of 60 columns. */
async function onTerminal(words: readonly string[], options: SearchOptions = {}, env: Record<string, string> = {}) {
  const printed: string[] = [];
  const say = (...lines: readonly string[]): void => void printed.push(...lines);
  const context: ClientContext = {
    environment: { env, platform: 'linux', homeFolder: ABSENT },
    features: [],
    version: '0.0.0',
    isTerminal: true,
    ...PLAIN,
    columns: 60,
    input: () => process.stdin,
    stdout: say,
    stderr: say,
    writeLine: async (line) => say(line),
    secretLine: () => Promise.resolve(''),
    untilEnded: () => new AbortController().signal,
  };
  // A clock whose pauses between two looks at the index end at once.
  const clock = { ...systemClock, after: (_ms: number, run: () => void) => systemClock.after(0, run) };
  const given = { url: gateway.url, keyFile, ...options };
  const exitCode = await withService(given, context, (service) => searchCommand(words, given, service, clock));
  return { exitCode, printed };
}

describe('postern search', () => {
  test('prints a table, newest first, whose lines a pipe gets whole', async () => {
    const body = `${'long before '.repeat(20)}dinner`;
    finds(body, [240, 246]);
    const { exitCode, stdout, stderr } = await run('dinner', 'from:+15550100');
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ROW {2}TIME +WHO +TEXT\n7 {4}2026-01-02 03:04 {2}← {2}\+15550100 {2}long before /);
    expect(stdout).toContain(`${body}\n`);
    expect(gateway.search.asked[0]).toMatchObject({ terms: [{ text: 'dinner' }], limit: 20 });
  });

  test('gives the answer of the service as JSON, over as many pages as it takes', async () => {
    gateway.search.next = 'more';
    const { exitCode, stdout } = await run('dinner', '--json', '--limit', '2');
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, [...gateway.search.hits, ...gateway.search.hits]]);
    expect(gateway.search.asked.map(({ limit, cursor }) => [limit, cursor])).toEqual([
      [2, undefined],
      [1, 'more'],
    ]);
  });

  test('means days of the time zone in which it prints times', async () => {
    const { exitCode } = await postern(
      ['search', '--url', gateway.url, '--key-file', keyFile, 'after:2026-11-01', 'before:2026-11-02'],
      { env: { TZ: 'America/New_York' } },
    );
    expect(exitCode).toBe(0);
    expect(gateway.search.asked).toMatchObject([
      { fromMs: Date.UTC(2026, 10, 1, 4), beforeMs: Date.UTC(2026, 10, 2, 5) },
    ]);
  });

  test('says that nothing was found, that there are more, and that the index is not complete', async () => {
    gateway.search.hits = [];
    expect(await run('dinner')).toEqual({ exitCode: 0, stdout: '', stderr: 'No message was found.\n' });
    gateway.search.hits = [{ message: MESSAGE, highlights: [] }];
    gateway.search.next = 'more';
    gateway.search.state = { ...gateway.search.state, isComplete: false, indexedFrom: '2021-03-04T05:06:07Z' };
    expect((await run('dinner', '--limit', '1')).stderr).toBe(
      'There are more: --limit 2 shows them.\n' +
        'The index is still being built: so far it has the messages since 2021-03-04; `postern search --status` shows how far it is.\n',
    );
  });

  test('names every mistake and ends with 65; without words it is invalid usage', async () => {
    const { exitCode, stderr } = await run('he* has:photo');
    expect(exitCode).toBe(65);
    expect(stderr).toContain('At character 1: he* is too short');
    expect(stderr).toContain('At character 5: has:photo is not a known filter');
    expect(await run()).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('postern search dinner') });
    gateway.search.state = { ...gateway.search.state, isEnabled: false };
    expect(await run('dinner')).toMatchObject({
      exitCode: 65,
      stderr: expect.stringContaining('search.enabled = true'),
    });
  });
});

describe('on a terminal', () => {
  test('what was found is painted, in the middle of a long text too', async () => {
    const body = `\x1b[31m${'long before '.repeat(20)}dinner is ready and waits`;
    const at = body.indexOf('dinner');
    finds(body, [at, at + 6]);
    const { printed } = await onTerminal(['dinner']);
    expect(printed[1]).toBe('7    2026-01-02 03:04  ←  +15550100  …long before \x1b[1;4mdinner\x1b[22;24m is…');
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      expect((await onTerminal(['dinner'], {}, env)).printed.join('')).not.toContain('\x1b');
    }
  });

  test('neither a message nor half a character can break the painting', async () => {
    const body = `\u2061${'😀'.repeat(60)}\u2062x`;
    finds(body, [122, 123]);
    const { printed } = await onTerminal(['x']);
    expect(printed[1]).toBe(`7    2026-01-02 03:04  ←  +15550100  …${'😀'.repeat(6)}\x1b[1;4mx\x1b[22;24m`);
  });

  test('--status shows a bar until the index is complete', async () => {
    const complete = { ...BUILDING, state: 'complete', indexed_rows: 987, indexed_from: null } as const;
    reports = [
      { ...STATUS, search: BUILDING },
      { ...STATUS, search: complete },
    ];
    const { exitCode, printed } = await onTerminal([], { status: true });
    expect(exitCode).toBe(0);
    expect(printed).toEqual([
      'Building the search index: [################--------------] 52 %, messages since 2021-03-04',
      '\x1b[1A\x1b[2KThe search index is complete: 987 messages.',
    ]);
  });
});

describe('--status in a pipe', () => {
  test('is one line, or JSON', async () => {
    reports = [{ ...STATUS, search: BUILDING }];
    expect(await run('--status')).toEqual({
      exitCode: 0,
      stdout: 'Building the search index: 52 %, messages since 2021-03-04\n',
      stderr: '',
    });
    expect(JSON.parse((await run('--status', '--json')).stdout)).toEqual(BUILDING);
  });

  test('ends with 69 while the index cannot be used, and with 65 where search is off', async () => {
    reports = [{ ...STATUS, search: { ...BUILDING, state: 'failing', problem: 'the disk is full' } }];
    expect(await run('--status')).toMatchObject({
      exitCode: 69,
      stdout: 'Search does not work now: the disk is full.\n',
    });
    reports = [STATUS];
    expect(await run('--status')).toMatchObject({ exitCode: 65, stderr: expect.stringContaining('enabled = true') });
  });
});

test('the typed client gives pages with their cursor, and how complete the index is', async () => {
  const client = new PosternClient({ url: gateway.url, key: KEY });
  const hits = gateway.search.hits;
  expect(await client.search('from:me +1', { include: ['details', 'contacts'] })).toEqual({ hits, isComplete: true });
  gateway.search.next = '7 ü';
  gateway.search.state = { ...gateway.search.state, isComplete: false, indexedFrom: '2021-03-04T05:06:07Z' };
  const page = await client.search('x', { conversation_id: MESSAGE.conversation_id, limit: 3 });
  expect(page).toEqual({ hits, cursor: '7 ü', isComplete: false, from: '2021-03-04' });
  await client.search('x', { cursor: page.cursor });
  expect(gateway.search.asked.at(-1)).toMatchObject({ cursor: '7 ü' });
});

test('postern status says whether changes are detected, and how search is doing', async () => {
  const status = async (): Promise<string> =>
    (await postern(['status', '--url', gateway.url, '--key-file', keyFile])).stdout;
  expect(await status()).not.toMatch(/Changes|Search/);
  const changes = { state: 'on', logged: 12, swept_at: '2026-01-01T00:00:00Z' };
  reports = [Object.assign({ changes }, STATUS, { search: BUILDING })];
  const stdout = await status();
  expect(stdout).toMatch(/^Changes {5}detected, 12 kept$/m);
  expect(stdout).toMatch(/^Search {6}building the index, 520 of at most 1000 messages$/m);
});
