import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Message } from '../../src/core/model/message.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { seededChance } from '../support/seed.ts';
import { type Answer, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { wait } from './harness.ts';

const chance = seededChance('moments of the kills');

const RANDOM_KILLS = isLong ? 100 : 1;
/** Approximate milliseconds of a send with its confirmation when osascript needs 50 ms. */
const SEND_TAKES_MS = 300;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeEach(async () => {
  mac = await simulatedMac();
  service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterEach(async () => {
  await service.dispose();
  await mac.dispose();
});

/** Sends with a key that is also the body; undefined if the service was killed before it answered. */
const send = (key: string): Promise<Answer | undefined> =>
  service.post('/messages', { recipient: '+15550123', body: key }, { 'idempotency-key': key }).catch(() => undefined);

/** Returns how often Messages was asked to send this text. */
const sends = (body: string): number => mac.calls.filter(({ values }) => values.BODY === body).length;

function hasRow(): boolean {
  const database = openSqlite(mac.chatDbPath, { readonly: true });
  try {
    return Number(database.prepare('SELECT count(*) FROM message WHERE is_from_me = 1').get()?.[0]) > 0;
  } finally {
    database.close();
  }
}

/**
 * Restarts the service and repeats the request twice with the same key. Returns how often Messages saw the send in all.
 */
async function askAgain(
  key: string,
): Promise<{ readonly answers: readonly (number | undefined)[]; readonly seen: number }> {
  await service.launch();
  const answers = [await send(key), await send(key)];
  for (const answer of answers) {
    expect([201, 202, 409]).toContain(answer?.status);
    if (answer?.status === 409) expect(answer.json).toMatchObject({ code: 'send_outcome_unknown' });
  }
  return { answers: answers.map((answer) => answer?.status), seen: sends(key) };
}

test('killed before osascript was started: the same key sends it now, once', async () => {
  await mac.command({ do: 'scenario', name: 'hang', times: 1 });
  const running = send('blocker');
  await eventually(() => expect(sends('blocker')).toBe(1));
  const waiting = send('waits in the queue');
  await eventually(async () => expect((await service.get('/health')).status).toBe(200));
  await service.stop('SIGKILL');
  await Promise.all([running, waiting]);
  expect(sends('waits in the queue')).toBe(0);
  const { answers, seen } = await askAgain('waits in the queue');
  expect(answers[0]).toBe(201);
  expect(seen).toBe(1);
});

test('killed while osascript runs: the outcome is unknown, and it is never sent again', async () => {
  await mac.command({ do: 'scenario', name: 'hang', times: 1 });
  const running = send('is being sent');
  await eventually(() => expect(sends('is being sent')).toBe(1));
  await service.stop('SIGKILL');
  await running;
  expect(await askAgain('is being sent')).toEqual({ answers: [409, 409], seen: 1 });
});

test('killed when the row is written and not yet found: never sent again', async () => {
  const running = send('has its row');
  await waitFor(hasRow);
  await service.stop('SIGKILL');
  await running;
  expect((await askAgain('has its row')).seen).toBe(1);
});

test('a service killed as the answer arrives answers again with the stored outcome', async () => {
  const answer = await send('was answered');
  await service.stop('SIGKILL');
  expect(answer?.status).toBe(201);
  expect(await askAgain('was answered')).toEqual({ answers: [201, 201], seen: 1 });
});

test(
  `killed at random moments of a send (${RANDOM_KILLS}): Messages sees each key once at most, and its row is known as sent here`,
  async () => {
    const count = { answered: 0, unsent: 0, unknown: 0 };
    for (let kill = 0; kill < RANDOM_KILLS; kill += 1) {
      const keys = [`first ${kill}`, `second ${kill}`];
      const running = keys.map(send);
      await wait(chance.next() * SEND_TAKES_MS);
      await service.stop('SIGKILL');
      const answers = await Promise.all(running);
      count.answered += answers.filter((answer) => answer !== undefined).length;
      for (const key of keys) {
        const before = sends(key);
        const { answers: later, seen } = await askAgain(key);
        if (before === 0) count.unsent += 1;
        if (later[0] === 409) count.unknown += 1;
        expect(seen).toBeLessThanOrEqual(1);
        if (later[0] !== 409) expect(seen).toBe(1);
        await service.stop('SIGKILL');
      }
      await service.launch();
    }
    const sent = ((await service.get('/messages?include=details&limit=200')).json as Message[]).filter(
      (one) => one.is_from_me,
    );
    expect(sent.length).toBeGreaterThan(0);
    for (const { body, details } of sent) {
      expect(details?.origin).toEqual({ by: 'gateway', request_id: expect.any(String), idempotency_key: body });
    }
    console.log(`${RANDOM_KILLS} kills, ${2 * RANDOM_KILLS} keys: ${JSON.stringify(count)}`);
  },
  RANDOM_KILLS * 10_000 + 120_000,
);
