import { afterEach, expect, test } from '@jest/globals';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort } from '../support/service.ts';
import { compare, Harness, rowsOf, wait } from './harness.ts';
import { expectUnchanged, type Latency, latencyOf } from './latency.ts';
import { MISBEHAVIOURS } from './misbehaviours.ts';

const GOOD_WEBHOOKS = 4;
const PAIRS = 3;
const ROWS = isLong ? 1000 : 60;
const EVERY_MS = 20;

let harness: Harness;
const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0)) await dispose();
  await harness.end();
});

async function register(url: string): Promise<string> {
  const answer = await harness.service.post('/webhooks', { url, events: ROW_EVENT_TYPES });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
}

const unregister = (id: string): Promise<unknown> => harness.service.request('DELETE', `/webhooks/${id}`);

/** Starts a receiver for each misbehaviour, and adds an address where nothing listens. */
async function badAddresses(): Promise<{ readonly urls: readonly string[]; readonly hanging: Receiver }> {
  const receivers = new Map<string, Receiver>();
  for (const [name, answer] of Object.entries(MISBEHAVIOURS)) {
    const receiver = await Receiver.start(answer);
    disposals.push(() => receiver.close());
    receivers.set(name, receiver);
  }
  const hanging = receivers.get('hangs');
  if (hanging === undefined) throw new Error('no receiver hangs');
  const down = `http://127.0.0.1:${await freePort()}/`;
  return { urls: [...[...receivers.values()].map(({ url }) => url), down], hanging };
}

/** Writes rows one by one. Returns how long each took from its commit to each of the good receivers. */
async function latencies(): Promise<Latency> {
  const arrivedAt: Map<number, number>[] = [];
  const receivers: Receiver[] = [];
  const ids: string[] = [];
  for (let webhook = 0; webhook < GOOD_WEBHOOKS; webhook += 1) {
    const arrivals = new Map<number, number>();
    arrivedAt.push(arrivals);
    const receiver = await Receiver.start((response, { event }) => {
      arrivals.set(Number(event.data.id), performance.now());
      response.writeHead(204).end();
    });
    receivers.push(receiver);
    ids.push(await register(receiver.url));
  }
  const first = harness.newestRow();
  const writtenAt = new Map<number, number>();
  for (let row = 0; row < ROWS; row += 1) {
    const id = harness.database.message({ chat: 1, text: 'a row', handle_id: 1 });
    writtenAt.set(id, performance.now());
    await wait(EVERY_MS);
  }
  const written = harness.rowsAfter(first);
  await waitFor(() => receivers.every((receiver) => rowsOf(receiver).at(-1) === written.at(-1)));
  for (const receiver of receivers) {
    expect(compare(written, rowsOf(receiver))).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
  }
  for (const id of ids) await unregister(id);
  for (const receiver of receivers) await receiver.close();
  return latencyOf(arrivedAt.flatMap((arrivals) => [...arrivals].map(([row, at]) => at - (writtenAt.get(row) ?? at))));
}

test(
  'receivers that fail, hang, reset, redirect, dawdle, pour out a gigabyte or are down hold up no other',
  async () => {
    harness = new Harness();
    await harness.start();
    const { urls, hanging } = await badAddresses();
    const alone: Latency[] = [];
    const beside: Latency[] = [];
    for (let pair = 0; pair < (isLong ? PAIRS : 1); pair += 1) {
      if (isLong) alone.push(await latencies());
      const bad: string[] = [];
      for (const url of urls) bad.push(await register(url));
      const before = hanging.deliveries.length;
      beside.push(await latencies());
      // The receiver that hangs got no event before three attempts of the one before it.
      await waitFor(() => hanging.deliveries.length > before);
      const attempts = hanging.deliveries
        .slice(before)
        .map(({ event, headers }) => [event.data.id, headers['x-webhook-attempt']]);
      const expected = attempts.map((_, index) => [attempts[index - (index % 3)]?.[0], String((index % 3) + 1)]);
      expect(attempts).toEqual(expected);
      for (const id of bad) await unregister(id);
    }
    // On a busy machine so few rows would show nothing.
    if (isLong) expectUnchanged(alone, beside);
  },
  PAIRS * 2 * ROWS * EVERY_MS * 2 + 120_000,
);

test('messages written while a receiver is down are delivered or recorded as dropped, in order', async () => {
  harness = new Harness();
  await harness.start();
  const port = await freePort();
  const id = await register(`http://127.0.0.1:${port}/hook`);
  const first = harness.newestRow();
  for (let row = 0; row < 60; row += 1) harness.database.message({ chat: 1, text: 'a row', handle_id: 1 });
  await wait(isLong ? 120_000 : 300);
  const receiver = await Receiver.start(undefined, port);
  disposals.push(() => receiver.close());
  const written = harness.rowsAfter(first);
  await eventually(() => expect(rowsOf(receiver).at(-1)).toBe(written.at(-1)));
  const records = (await harness.service.get(`/webhooks/${id}/deliveries`)).json as DeliveryRecord[];
  const dropped = records.filter(({ outcome }) => outcome === 'dropped').map((record) => record.row_id);
  const arrived = rowsOf(receiver);
  console.log(`${arrived.length} delivered, ${dropped.length} recorded as dropped`);
  expect(compare(written, [...dropped.toReversed(), ...arrived])).toEqual({
    lost: [],
    repeats: 0,
    outOfOrder: 0,
    unknown: [],
  });
  await eventually(async () =>
    expect((await harness.service.get(`/webhooks/${id}`)).json).toMatchObject({ state: 'healthy', behind: 0 }),
  );
}, 200_000);
