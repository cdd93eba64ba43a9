import { afterEach, expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Receiver } from '../support/receiver.ts';
import { seedOfForm } from '../support/seed.ts';
import { compare, Harness, PERSON, rowsOf, wait } from './harness.ts';

const KILLS = isLong ? 200 : 3;
const ROWS_PER_SECOND = isLong ? 500 : 25;
/**
 * A service that keeps being killed falls behind its writer: in the long form by some 80,000 rows, each with its own
 * POST.
 */
const CATCH_UP_MS = isLong ? 900_000 : 180_000;
/** Maximum number of rows that a crash may repeat at one webhook (decision F4). */
const REPEATS_A_KILL = 6;

/** All ten kinds of rows occur among the first 13. */
const FIXED_SEED = 1641;
/** Rows published before the first kill: after a kill most rows are already complete when they are read. */
const ROWS_BEFORE_KILLS = 30;

const chance = new Chance(seedOfForm('kinds of rows, moments of the kills', FIXED_SEED));
let harness: Harness;
afterEach(() => harness.end());

/** Stops the service as sleep does. Whether a kill hits it in the middle of its work afterwards is random. */
async function sleepAndWake(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await wait(ms);
  process.kill(pid, 'SIGCONT');
  await wait(chance.next() * 100);
}

/** Returns the row id that a receiver got last. */
function newestOf({ deliveries }: Receiver): number {
  return Number(deliveries.at(-1)?.event.data.id);
}

/** Returns how many rows each life of the service repeated; `starts` are the indexes at which the lives begin. */
function repeatsByLife(rows: readonly number[], starts: readonly number[]): readonly number[] {
  const seen = new Set<number>();
  return starts.map((start, life) => {
    let repeats = 0;
    for (const row of rows.slice(start, starts[life + 1])) {
      if (seen.has(row)) repeats += 1;
      seen.add(row);
    }
    return repeats;
  });
}

test(
  `the service killed ${KILLS} times under ${ROWS_PER_SECOND} rows/s: nothing lost, order kept, few repeats`,
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const first = harness.newestRow();
    const [all, ofOneConversation] = [await Receiver.start(), await Receiver.start()];
    const receivers = [all, ofOneConversation];
    await harness.webhook(all);
    const { key } = await limitedKey(service, { scopes: ['events', 'webhooks'], read: [PERSON] });
    await harness.webhook(ofOneConversation, key);
    const client = harness.client(first);
    const writer = harness.writer(ROWS_PER_SECOND, { seed: chance.below(2 ** 32) });
    await waitFor(() => harness.newestRow() >= first + ROWS_BEFORE_KILLS);
    const lives = receivers.map(() => [0]);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await wait(chance.next() * 400);
      if (chance.in(0.25)) await sleepAndWake(service.pid, chance.below(500));
      await service.stop('SIGKILL');
      for (const [index, { deliveries }] of receivers.entries()) lives[index]?.push(deliveries.length);
      await service.launch();
    }
    await writer.kill();
    const written = harness.rowsAfter(first);
    expect(written.length).toBeGreaterThan(KILLS);
    const newest = harness.newestRow();
    const joined = harness.joinedRowsAfter(first);
    // Looks only at the newest ones, because checking all of them repeatedly would slow down the receivers.
    await waitFor(
      () => client.rows.at(-1) === newest && newestOf(all) === newest && newestOf(ofOneConversation) === joined.at(-1),
      CATCH_UP_MS,
    );
    for (const [index, receiver] of receivers.entries()) {
      const found = compare(receiver === all ? written : joined, rowsOf(receiver));
      const [before = 0, ...after] = repeatsByLife(rowsOf(receiver), lives[index] ?? []);
      console.log(
        `webhook: ${written.length} rows, ${KILLS} kills, ${found.lost.length} lost, ${found.repeats} repeats, ` +
          `at most ${Math.max(...after)} a kill`,
      );
      expect(found).toMatchObject({ lost: [], outOfOrder: 0, unknown: [] });
      expect(before).toBe(0);
      expect(harness.contradictions(receiver.deliveries.map(({ event }) => event))).toEqual([]);
      expect(Math.max(...after)).toBeLessThanOrEqual(REPEATS_A_KILL);
    }
    console.log(`client: ${client.reconnects} reconnects`);
    expect(compare(written, client.rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
    expect(harness.contradictions(client.events)).toEqual([]);
  },
  KILLS * 5000 + CATCH_UP_MS + 60_000,
);

test(
  `the writer killed ${KILLS} times`,
  async () => {
    harness = new Harness();
    await harness.start();
    const first = harness.newestRow();
    const receiver = await Receiver.start();
    await harness.webhook(receiver);
    const client = harness.client(first);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = harness.writer(ROWS_PER_SECOND, { seed: chance.below(2 ** 32) });
      const before = harness.newestRow();
      await eventually(() => expect(harness.newestRow()).toBeGreaterThan(before));
      await wait(chance.next() * 300);
      await writer.kill();
    }
    const newest = harness.newestRow();
    const written = harness.rowsAfter(first);
    await waitFor(() => [client.rows, rowsOf(receiver)].every((rows) => rows.at(-1) === newest), 120_000);
    for (const rows of [client.rows, rowsOf(receiver)]) {
      expect(compare(written, rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
    }
    expect(harness.contradictions([...client.events, ...receiver.deliveries.map(({ event }) => event)])).toEqual([]);
  },
  KILLS * 3000 + 180_000,
);

test('the Mac sleeps and wakes while Messages writes: nothing lost, nothing repeated', async () => {
  harness = new Harness();
  const { pid } = await harness.start();
  const first = harness.newestRow();
  const receiver = await Receiver.start();
  await harness.webhook(receiver);
  const client = harness.client(first);
  const writer = harness.writer(ROWS_PER_SECOND, { seed: chance.below(2 ** 32) });
  for (let sleep = 0; sleep < 3; sleep += 1) {
    await wait(300);
    await sleepAndWake(pid, isLong ? 20_000 : 1000);
  }
  await writer.kill();
  const newest = harness.newestRow();
  const written = harness.rowsAfter(first);
  await waitFor(() => [client.rows, rowsOf(receiver)].every((rows) => rows.at(-1) === newest), 120_000);
  expect(compare(written, client.rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
  // A service that slept through a receiver's answer tries again after 10 s, so the receiver gets the event twice.
  const found = compare(written, rowsOf(receiver));
  expect(found).toMatchObject({ lost: [], outOfOrder: 0, unknown: [] });
  expect(found.repeats).toBeLessThanOrEqual(isLong ? 3 : 0);
  expect(harness.contradictions([...client.events, ...receiver.deliveries.map(({ event }) => event)])).toEqual([]);
}, 400_000);
