import { afterEach, expect, test } from '@jest/globals';
import { appleNs } from '../support/chat-fixture.ts';
import { isLong, testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import type { Listener } from '../support/service.ts';
import { compare, Harness, residentMiB, testWithProc, wait } from './harness.ts';
import { expectUnchanged, type Latency, latencyOf } from './latency.ts';

let harness: Harness;
afterEach(() => harness.end());

/** Writes rows with bodies of `bytes` in one transaction. */
function burst(count: number, bytes: number): void {
  const { sqlite } = harness.database;
  const text = 'x'.repeat(bytes);
  const date = appleNs('2020-01-01');
  const message = sqlite.prepare(
    "INSERT INTO message (guid, text, date, handle_id, service, is_sent, is_finished) VALUES (?, ?, ?, 1, 'iMessage', 1, 1)",
  );
  const join = sqlite.prepare(
    'INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (1, last_insert_rowid(), ?)',
  );
  const from = harness.newestRow();
  sqlite.transaction(() => {
    for (let row = 0; row < count; row += 1) {
      message.run(`B-${from}-${row}`, text, date);
      join.run(date);
    }
  });
}

const rows = (listener: Listener): number[] => listener.events.map((event) => Number(event.data.id));

/** Returns how many events slow clients have lost, according to the log. */
function countedAsLost(output: string): number {
  const lines = output.split('\n').filter((line) => line.includes('slow WebSocket client lost events'));
  return lines.reduce((sum, line) => sum + Number(/"missed":(\d+)/.exec(line)?.[1] ?? 0), 0);
}

/** Each step writes 256 rows of 4,000 bytes. */
const STEPS = isLong ? 40 : 20;
const BURST = isLong ? 100_000 : 3000;

testWithProc(
  `a burst of ${BURST} rows in one transaction: every one arrives at a resuming client, memory stays bounded`,
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const first = harness.newestRow();
    const client = harness.client(first);
    burst(BURST, 100);
    await eventually(() => expect(client.rows.length).toBeGreaterThanOrEqual(BURST), 120_000);
    expect(compare(harness.rowsAfter(first), client.rows)).toEqual({
      lost: [],
      repeats: 0,
      outOfOrder: 0,
      unknown: [],
    });
    const resident = residentMiB(service.pid);
    console.log(`after ${BURST} rows: ${Math.round(resident)} MiB resident`);
    expect(resident).toBeLessThan(200);
  },
  180_000,
);

testWithProc(
  'clients that never read lose events, are counted, and cost the others nothing',
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const count = isLong ? 50 : 1;
    const stalled = await Promise.all(Array.from({ length: count }, () => service.socket()));
    for (const { socket } of stalled) socket.pause();
    const reading = await Promise.all(Array.from({ length: count }, () => service.socket()));
    const first = harness.newestRow();
    // Far more than the kernel buffers for a socket, in steps that a reading client can follow.
    for (let step = 0; step < STEPS; step += 1) {
      burst(256, 4000);
      await waitFor(() => reading.every((listener) => listener.frames.length >= (step + 1) * 256), 60_000);
    }
    const written = harness.rowsAfter(first);
    for (const listener of reading) {
      expect(compare(written, rows(listener))).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
    }
    const resident = residentMiB(service.pid);
    console.log(`${count} stalled beside ${count} reading: ${Math.round(resident)} MiB resident`);
    expect(resident).toBeLessThan(200);
    for (const { socket } of stalled) socket.resume();
    await waitFor(() => stalled.every((listener) => rows(listener).at(-1) === written.at(-1)), 60_000);
    // Each event that they missed was counted (decision C7).
    const skipped = stalled.reduce((sum, listener) => sum + written.length - listener.frames.length, 0);
    expect(skipped).toBeGreaterThan(0);
    await eventually(() => expect(countedAsLost(service.output)).toBe(skipped));
    await Promise.all([...stalled, ...reading].map((listener) => listener.close()));
  },
  180_000,
);

const inLongForm = testIf(isLong, 'long form only');

inLongForm(
  '50 clients that never read do not slow down the 50 that do',
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const sockets = (): Promise<Listener[]> => Promise.all(Array.from({ length: 50 }, () => service.socket()));
    const reading = await sockets();
    const arrivedAt = reading.map(({ socket, frames }) => {
      const times: number[] = [];
      socket.on('message', () => {
        times.push(performance.now());
        frames.length = 0; // 50 clients would otherwise hold gigabytes
      });
      return times;
    });
    const everyone = (count: number): Promise<unknown> =>
      waitFor(() => arrivedAt.every((times) => times.length === count), 60_000);

    const measure = async (): Promise<Latency> => {
      for (const times of arrivedAt) times.length = 0;
      const writtenAt: number[] = [];
      for (let row = 0; row < 500; row += 1) {
        harness.database.message({ chat: 1, text: 'a row', handle_id: 1 });
        writtenAt.push(performance.now());
        await wait(20);
      }
      await everyone(500);
      return latencyOf(arrivedAt.flatMap((times) => times.map((at, row) => at - (writtenAt[row] ?? at))));
    };

    const alone: Latency[] = [];
    const beside: Latency[] = [];
    for (let pair = 0; pair < 3; pair += 1) {
      alone.push(await measure());
      const stalled = await sockets();
      for (const { socket } of stalled) socket.pause();
      for (const times of arrivedAt) times.length = 0;
      for (let step = 1; step <= STEPS; step += 1) {
        burst(256, 4000);
        await everyone(step * 256);
      }
      beside.push(await measure());
      await Promise.all(stalled.map((listener) => listener.close()));
    }
    expectUnchanged(alone, beside);
    await Promise.all(reading.map((listener) => listener.close()));
  },
  400_000,
);

test('a resuming client that stalls misses nothing, and continues when it reads again', async () => {
  harness = new Harness();
  const service = await harness.start();
  const first = harness.newestRow();
  const listener = await service.socket(`&after=${first}`);
  listener.socket.pause();
  for (let step = 0; step < STEPS; step += 1) burst(256, 4000);
  await waitFor(async () => {
    const page = (await service.get(`/events?after=${harness.newestRow() - 1}`)).json as unknown[];
    return page.length === 1;
  }, 60_000);
  listener.socket.resume();
  await eventually(() => expect(listener.frames.length).toBeGreaterThanOrEqual(STEPS * 256), 60_000);
  expect(compare(harness.rowsAfter(first), rows(listener))).toEqual({
    lost: [],
    repeats: 0,
    outOfOrder: 0,
    unknown: [],
  });
  await listener.close();
}, 180_000);
