import { afterEach, expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Callback, EventsClient, SECRET } from '../support/mcp-events.ts';
import { seedOfForm } from '../support/seed.ts';
import { freePort, type Service } from '../support/service.ts';
import { compare, Harness, wait } from './harness.ts';

const KILLS = isLong ? 50 : 3;
const ROWS_PER_SECOND = isLong ? 200 : 25;
const CATCH_UP_MS = 180_000;
const FIXED_SEED = 902;
const NAME = 'message.received';
/** Admits junk and late rows, because the writer's rows have any date. */
const ALL = { junk: true, late: true };

const chance = new Chance(seedOfForm('subscriptions killed', FIXED_SEED));
let harness: Harness;
let callback: Callback;
const hangUp = new AbortController();
afterEach(async () => {
  hangUp.abort();
  await callback.close();
  await harness.end();
});

/** Reads streams one after the other, each from where the last one ended, and drops what it already saw. */
async function resume(client: EventsClient, start: string, rows: number[]): Promise<void> {
  const seen = new Set<string>();
  let cursor = start;
  while (!hangUp.signal.aborted) {
    try {
      for await (const { params } of client.stream({ name: NAME, cursor, arguments: ALL }, hangUp.signal)) {
        if (params?.eventId !== undefined && !seen.has(params.eventId)) {
          seen.add(params.eventId);
          rows.push(Number(params.data?.id));
        }
        cursor = params?.cursor ?? cursor;
      }
    } catch {
      // The service was killed.
    }
    await wait(20);
  }
}

/** Polls until the client is stopped. */
async function poll(client: EventsClient, start: string, rows: number[]): Promise<void> {
  let cursor = start;
  while (!hangUp.signal.aborted) {
    const answer = await client.call('events/poll', { name: NAME, cursor, arguments: ALL }).catch(() => undefined);
    for (const { data } of answer?.result?.events ?? []) rows.push(Number(data?.id));
    cursor = answer?.result?.cursor ?? cursor;
    if (answer?.result?.hasMore !== true) await wait(50);
  }
}

function subscribe(client: EventsClient, cursor: string) {
  const delivery = { mode: 'webhook', url: callback.url, secret: SECRET };
  return client.call('events/subscribe', { name: NAME, arguments: ALL, delivery, cursor });
}

async function killed(service: Service): Promise<void> {
  await service.stop('SIGKILL');
  await wait(chance.next() * 200);
  await service.launch();
}

test(
  `the service killed ${KILLS} times under ${ROWS_PER_SECOND} rows/s: no event lost to a stream, a poll or a subscription`,
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const first = harness.newestRow();
    callback = await Callback.start(undefined, await freePort());
    const { key } = await limitedKey(service, { scopes: ['events', 'webhooks'], read: '*' });
    const client = new EventsClient(service, key);
    const start = String(first);
    expect((await subscribe(client, start)).error).toBeUndefined();
    const [streamed, polled]: [number[], number[]] = [[], []];
    const reading = [resume(client, start, streamed), poll(client, start, polled)];
    const writer = harness.writer(ROWS_PER_SECOND);
    await waitFor(() => harness.newestRow() >= first + 30);
    let refused = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      await wait(chance.next() * 400);
      await killed(service);
      // Refreshes with its latest cursor, as clients do.
      const refreshed = await subscribe(client, callback.events.at(-1)?.cursor ?? start);
      expect(refreshed.result).toMatchObject({ truncated: false, deliveryStatus: { active: true } });
      refused += refreshed.error === undefined ? 0 : 1;
    }
    await writer.kill();
    const received = 'SELECT ROWID FROM message WHERE ROWID > ? AND is_from_me = 0 AND associated_message_type = 0';
    const written = harness.database.sqlite
      .prepare(`${received} ORDER BY ROWID`)
      .all(first)
      .map(([row]) => Number(row));
    const posted = (): number[] => callback.events.map(({ data }) => Number(data?.id));
    await eventually(() => {
      for (const rows of [streamed, polled, posted()]) expect(compare(written, rows).lost).toEqual([]);
    }, CATCH_UP_MS);
    hangUp.abort();
    await Promise.all(reading);
    const figures = [streamed, polled, posted()].map((rows) => compare(written, rows));
    const shown = figures.map(({ lost, repeats }) => `${lost.length} lost, ${repeats} repeated`);
    console.log(`${KILLS} kills, ${written.length} events: stream ${shown[0]}; poll ${shown[1]}; posts ${shown[2]}`);
    expect(refused).toBe(0);
    for (const rows of [streamed, polled, posted()]) {
      expect(compare(written, rows)).toMatchObject({ lost: [], outOfOrder: 0, unknown: [] });
    }
    expect(callback.posted.filter(({ type }) => type !== undefined)).toHaveLength(1);
  },
  CATCH_UP_MS * 4,
);
