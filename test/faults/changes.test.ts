import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { PosternClient, type TrackedEvent } from '../../src/client/postern-client.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { LATE_S } from '../../src/core/model/event.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { seedOfForm } from '../support/seed.ts';
import { KEY, type Service } from '../support/service.ts';
import { Harness, wait } from './harness.ts';

const KILLS = isLong ? 200 : 5;
/** Longest life of the service before a kill. A pass begins 50 ms after the first commit. */
const MAX_LIFE_MS = isLong ? 900 : 450;
/**
 * In the long form, one life in ten lasts this long. That is enough for a row whose chat never comes, which holds up
 * the rows behind it.
 */
const LONG_LIFE_MS = 3000;
/** Number of new rows per second. As many existing rows are changed. */
const ROWS_PER_SECOND = isLong ? 60 : 15;
const CATCH_UP_MS = 180_000;
/** Longest wait of the client before it reconnects. */
const MAX_RECONNECT_MS = 10_000;

/** All ten kinds of rows occur among the first 13. */
const FIXED_SEED = 1641;

const chance = new Chance(seedOfForm('kinds of rows, moments of the kills', FIXED_SEED));
let harness: Harness;
afterEach(() => harness.end());

/** The messages as a reader knows them from the events it received. */
class Copy {
  readonly messages = new Map<string, string>();
  readonly counts = new Map<string, number>();
  /** The events in order of arrival. */
  readonly events: TrackedEvent[] = [];
  isIncomplete = false;
  newestRow = 0;

  apply(event: TrackedEvent): void {
    if ('id' in event.data) this.newestRow = Math.max(this.newestRow, Number(event.data.id));
    this.counts.set(event.type, (this.counts.get(event.type) ?? 0) + 1);
    this.events.push(event);
    if (event.type === 'messages.changed') this.isIncomplete = true;
    else if (event.type === 'message.removed') this.messages.delete(event.data.id);
    else if ('body' in event.data) this.messages.set(event.data.id, textOf(event.data));
  }

  /** Returns how many messages differ from those in chat.db. */
  differences(truth: ReadonlyMap<string, string>): number {
    const ids = new Set([...truth.keys(), ...this.messages.keys()]);
    return [...ids].filter((id) => truth.get(id) !== this.messages.get(id)).length;
  }
}

async function truthOf(client: PosternClient): Promise<Map<string, string>> {
  const truth = new Map<string, string>();
  for await (const message of client.allMessages({ order: 'asc', include: 'details' })) {
    truth.set(message.id, textOf(message));
  }
  return truth;
}

/** Returns a message's text without the details that other rows change. */
function textOf({ details, ...message }: Message): string {
  return JSON.stringify({ ...message, ...(details !== undefined && factsOf(details)) });
}

function factsOf(details: MessageDetails) {
  const { late, retracted_at: retractedAt, edited_at: editedAt } = details;
  return { isLate: late === true, isUnsent: retractedAt !== null, isEdited: editedAt !== null };
}

/**
 * Returns the messages that are not shown as the simulated Messages wrote them. Those older than `lateBeforeMs` count
 * as late.
 */
async function misread(client: PosternClient, first: number, lateBeforeMs: number): Promise<string[]> {
  const rows = harness.database.sqlite
    .prepare(
      `SELECT m.ROWID, t.ROWID, m.date / 1000000 + 978307200000 < ?, m.text IS NULL AND m.attributedBody IS NULL,
              m.date_edited > 0
         FROM message m LEFT JOIN message t ON t.guid = m.reply_to_guid`,
    )
    .all(lateBeforeMs);
  const truth = new Map(rows.map(([rowId, text, ...facts]) => [String(rowId), { text, facts }]));
  const wrong: string[] = [];
  for await (const { id, details } of client.allMessages({ order: 'asc', include: 'details' })) {
    const { text, facts: [isLate, isUnsent, isEdited] = [] } = truth.get(id) ?? {};
    const told = details && { ...factsOf(details), partOf: details.part_of?.id };
    const is = {
      isLate: isLate === 1,
      isUnsent: isUnsent === 1,
      isEdited: isEdited === 1 && isUnsent !== 1,
      partOf: text == null ? undefined : String(text),
    };
    if (Number(id) > first && JSON.stringify(told) !== JSON.stringify(is)) {
      wrong.push(`${id}: ${JSON.stringify(told)} instead of ${JSON.stringify(is)}`);
    }
  }
  return wrong;
}

/** Reads page after page, and keeps its offset through every failure. */
async function follow(client: PosternClient, copy: Copy, start: string, signal: AbortSignal): Promise<void> {
  let offset = start;
  while (!signal.aborted) {
    try {
      const page = await client.trackedEvents({ after: offset, limit: 200, include: 'details' });
      for (const event of page.events) copy.apply(event);
      offset = page.offset;
      if (page.events.length === 0) await delay(100);
    } catch {
      await delay(100);
    }
  }
}

async function listen(client: PosternClient, copy: Copy, after: string, signal: AbortSignal): Promise<void> {
  for await (const event of client.listen({ changes: true, include: 'details', after, signal })) copy.apply(event);
}

/**
 * Reconnects quickly, however often the service was away. With longer waits the client would miss most lives of the
 * service.
 */
const impatient: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms <= MAX_RECONNECT_MS ? Math.min(ms, 100) : ms, run),
};

function clientOf(service: Service): PosternClient {
  return new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: KEY, clock: impatient });
}

test(
  `the service killed ${KILLS} times while rows are written, edited, read and deleted: every reader ends with what chat.db holds`,
  async () => {
    harness = new Harness();
    const service = await harness.start();
    const client = clientOf(service);
    const receiver = await Receiver.start();
    const events = ['message.received', 'message.sent', 'message.updated', 'message.removed'];
    const answer = await service.post('/webhooks', { url: receiver.url, events, include: ['details'] });
    expect(answer.status).toBe(201);
    const { offset } = await client.trackedEvents();
    const [first, lateBeforeMs] = [harness.newestRow(), Date.now() - LATE_S * 1000];
    const begun = await truthOf(client);
    const copies = { socket: new Copy(), pages: new Copy() };
    for (const copy of Object.values(copies)) for (const [id, text] of begun) copy.messages.set(id, text);
    const stop = new AbortController();
    const readers = [
      listen(client, copies.socket, offset, stop.signal),
      follow(clientOf(service), copies.pages, offset, stop.signal),
    ];
    const writer = harness.writer(ROWS_PER_SECOND, {
      program: 'changes-writer.mjs',
      seed: chance.below(2 ** 32),
    });
    for (let kill = 0; kill < KILLS; kill += 1) {
      await wait(isLong && chance.in(0.1) ? LONG_LIFE_MS : chance.next() * MAX_LIFE_MS);
      if (chance.in(0.2)) {
        process.kill(service.pid, 'SIGSTOP');
        await wait(chance.next() * 500);
        process.kill(service.pid, 'SIGCONT');
        await wait(chance.next() * 100);
      }
      await service.stop('SIGKILL');
      await service.launch();
    }
    await wait(1000);
    await writer.kill();
    // A row is known to be late only once its event arrives.
    await waitFor(() => copies.pages.newestRow >= harness.newestRow(), CATCH_UP_MS);
    const truth = await truthOf(client);
    const delivered = new Copy();
    for (const [id, text] of begun) delivered.messages.set(id, text);
    let applied = 0;
    const webhook = (): Copy => {
      const { deliveries } = receiver;
      for (; applied < deliveries.length; applied += 1) {
        delivered.apply(deliveries[applied]?.event as unknown as TrackedEvent);
      }
      return delivered;
    };
    try {
      expect(await misread(client, first, lateBeforeMs)).toEqual([]);
      await waitFor(() => {
        const all = [copies.socket, copies.pages, webhook()];
        return all.every((copy) => copy.differences(truth) === 0);
      }, CATCH_UP_MS);
    } finally {
      stop.abort();
      await Promise.allSettled(readers);
      await receiver.close();
    }
    for (const [name, copy] of Object.entries({ ...copies, webhook: webhook() })) {
      const counts = [...copy.counts].map(([type, count]) => `${count} ${type}`).join(', ');
      const repeats = copy.events.length - new Set(copy.events.map(({ offset }) => offset)).size;
      console.log(`${name}: ${KILLS} kills, ${truth.size} messages, ${counts}, ${repeats} repeats`);
      expect(copy.isIncomplete).toBe(false);
      expect(harness.contradictions(copy.events)).toEqual([]);
      // A crash repeats what a webhook had not stored, under the same delivery id; other clients get no repeats.
      expect(repeats).toBeLessThanOrEqual(name === 'webhook' ? KILLS * 6 : 0);
    }
  },
  KILLS * 6000 + CATCH_UP_MS + 60_000,
);
