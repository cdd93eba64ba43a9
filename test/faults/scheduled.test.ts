import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ScheduledSend } from '../../src/features/scheduled/scheduled.ts';
import { isLong } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { seededChance } from '../support/seed.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { wait } from './harness.ts';

const chance = seededChance('moments of the kills');
const KILLS = isLong ? 200 : 4;
const LIMIT_MS = isLong ? 3_600_000 : 120_000;
/** Milliseconds by which messages are scheduled ahead, and milliseconds that a send with its confirmation takes. */
const AHEAD_MS = 300;
const SEND_TAKES_MS = 400;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const sends = (body: string): number => mac.calls.filter(({ values }) => values.BODY === body).length;

/**
 * Schedules a message. On a busy machine the time can pass before the request arrives: then schedules it again, for
 * later.
 */
async function schedule(body: string, aheadMs = AHEAD_MS): Promise<string> {
  const sendAt = new Date(Date.now() + aheadMs).toISOString();
  const answer = await service.post('/messages', { recipient: '+15550123', body, send_at: sendAt });
  if (answer.status === 400 && aheadMs < 60_000) return schedule(body, 2 * aheadMs);
  expect(answer.status).toBe(202);
  return (answer.json as { readonly scheduled: ScheduledSend }).scheduled.id;
}

/** Returns the status of a cancellation; undefined if the service was killed before it answered. */
const cancel = (id: string): Promise<number | undefined> =>
  service.request('DELETE', `/scheduled/${id}`).then(
    ({ status }) => status,
    () => undefined,
  );
const stateOf = async (id: string) => ((await service.get(`/scheduled/${id}`)).json as ScheduledSend).state;

test(
  `killed at random moments around its time (${KILLS}): a scheduled message is sent once at most, and none is lost`,
  async () => {
    const count = { sent: 0, cancelled: 0, open: 0 };
    const all: { readonly id: string; readonly body: string }[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const bodies = [`first ${kill}`, `second ${kill}`, `cancelled ${kill}`];
      const ids = await Promise.all(bodies.map((body) => schedule(body)));
      const cancelAfterMs = chance.next() * (AHEAD_MS + SEND_TAKES_MS);
      const cancelling = wait(cancelAfterMs).then(() => cancel(ids[2] ?? ''));
      await wait(chance.next() * (AHEAD_MS + 2 * SEND_TAKES_MS));
      await service.stop('SIGKILL');
      const cancellation = await cancelling;
      await service.launch();
      for (const [index, id] of ids.entries()) {
        const body = bodies[index] ?? '';
        all.push({ id, body });
        // A send that osascript had not finished stays `sending` until its row is given up.
        const state = await waitFor(async () => {
          const now = await stateOf(id);
          return now !== 'scheduled' && now;
        });
        const seen = sends(body);
        expect([body, seen]).toEqual([body, Math.min(seen, 1)]);
        if (state === 'cancelled') expect([body, seen]).toEqual([body, 0]);
        if (state === 'sent') expect([body, seen]).toEqual([body, 1]);
        if (index === 2 && cancellation === 204) expect([body, state]).toEqual([body, 'cancelled']);
        if (index === 2 && cancellation === 409) expect([body, state]).not.toEqual([body, 'cancelled']);
        expect(['sent', 'sending', 'cancelled']).toContain(state);
        if (index < 2) expect([body, state]).not.toEqual([body, 'cancelled']);
        count[state === 'sent' ? 'sent' : state === 'cancelled' ? 'cancelled' : 'open'] += 1;
      }
    }
    // Nothing from before a kill was sent later.
    for (const { id, body } of all) {
      expect([body, sends(body)]).toEqual([body, (await stateOf(id)) === 'cancelled' ? 0 : Math.min(sends(body), 1)]);
    }
    expect(all.filter(({ body }) => sends(body) === 1).length).toBeGreaterThan(KILLS);
    if (isLong) console.log(count);
  },
  LIMIT_MS,
);
