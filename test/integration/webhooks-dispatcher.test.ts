import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Event, EventType, PendingRow } from '../../src/domain/event.ts';
import { includeSet, NO_INCLUDES } from '../../src/domain/include.ts';
import { rowOffset } from '../../src/domain/offset.ts';
import type { FeedReader } from '../../src/domain/ports/feed.ts';
import type { NewWebhook, WebhookStore } from '../../src/domain/ports/webhooks.ts';
import { Channel } from '../../src/events/channel.ts';
import { Feed } from '../../src/events/feed.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { openStateDatabase } from '../../src/state/database.ts';
import { webhookStore } from '../../src/state/webhooks.ts';
import { Dispatcher, type DispatcherParts } from '../../src/webhooks/dispatcher.ts';
import { Poster } from '../../src/webhooks/poster.ts';
import { eventSerializer } from '../../src/wire/event-json.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { collectingLog } from '../support/log.ts';
import { longWaits } from '../support/long-waits.ts';
import { arrival, MemoryLog } from '../support/memory-log.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
let files = 0;

/** A log, a channel, a state database and a dispatcher, as the service wires them. */
class Fixture {
  readonly log = new MemoryLog();
  readonly channel = new Channel();
  readonly logger = collectingLog();
  readonly feed = new Feed({ channel: this.channel, messages: this.log, clock: systemClock, log: this.logger });
  readonly store: WebhookStore;
  dispatcher: Dispatcher;
  #path: string;
  #parts: Partial<DispatcherParts>;
  #retryWaitsMs: readonly number[];

  constructor(retryWaitsMs: readonly number[] = [10, 10], parts: Partial<DispatcherParts> = {}) {
    files += 1;
    this.#path = join(folder, `state-${files}.db`);
    this.#parts = parts;
    this.#retryWaitsMs = retryWaitsMs;
    const database = openStateDatabase(this.#path);
    closers.push(() => database.close());
    this.store = webhookStore(database, systemClock);
    this.dispatcher = this.restart();
  }

  /** Another dispatcher over the same state, as after a restart. */
  restart(): Dispatcher {
    const poster = new Poster({ version: '1', clock: systemClock, retryWaitsMs: this.#retryWaitsMs });
    const { feed, store } = this;
    const json = eventSerializer(() => undefined);
    this.dispatcher = new Dispatcher({
      feed,
      store,
      poster,
      clock: systemClock,
      log: this.logger,
      json,
      ...this.#parts,
    });
    this.dispatcher.start();
    const { dispatcher } = this;
    closers.push(() => dispatcher.close(0));
    return dispatcher;
  }

  /** Rows that appear and are published. */
  publish(from: number, to: number, type: EventType = 'message.received'): void {
    for (let first = from; first <= to; first += 256) {
      const rows: PendingRow[] = [];
      for (let rowId = first; rowId <= Math.min(to, first + 255); rowId += 1) {
        const row = arrival(rowId);
        rows.push({ ...row, event: { ...row.event, type } as Event });
      }
      this.log.add(...rows);
      this.channel.publish(rows);
    }
  }
}

const received: readonly EventType[] = ['message.received'];
const hook = (url: string, options: Partial<NewWebhook> = {}): NewWebhook => ({
  url,
  events: received,
  secret: null,
  include: NO_INCLUDES,
  ...options,
});

async function newReceiver(answer?: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  closers.push(() => receiver.close());
  return receiver;
}

const rowsAt = (receiver: Receiver): number[] => receiver.deliveries.map(({ event }) => Number(event.data.id));
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('a webhook', () => {
  test('gets what is published after it was registered, in order, once', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    fixture.publish(1, 5);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(6, 40);
    await eventually(() => expect(receiver.deliveries.length).toBe(35));
    expect(rowsAt(receiver)).toEqual(range(6, 40));
    expect(receiver.deliveries[0]?.event).toEqual(arrival(6).event);
    await eventually(() => expect(fixture.store.get(id)?.offset.rowId).toBe(40));
    expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', row_id: 40, behind: 0 });
    expect(fixture.dispatcher.deliveries(id)).toHaveLength(35);
    expect(fixture.dispatcher.deliveries(id)[0]).toMatchObject({
      row_id: 40,
      outcome: 'delivered',
      attempts: 1,
      status: 204,
    });
  });

  test('is sent only the types it asked for, and is done with the others', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { events: ['message.sent'] }));
    fixture.publish(1, 3);
    fixture.publish(4, 4, 'message.sent');
    fixture.publish(5, 6);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(rowsAt(receiver)).toEqual([4]);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(6));
    await fixture.dispatcher.close(1000);
    expect(fixture.store.get(id)?.offset.rowId).toBe(6);
  });

  test('can tell rows apart that a database gave no guid', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    fixture.dispatcher.add(hook(receiver.url));
    const rows = [arrival(1, { guid: '' }), arrival(2, { guid: '' })];
    fixture.log.add(...rows);
    fixture.channel.publish(rows);
    await eventually(() => expect(receiver.deliveries.length).toBe(2));
    expect(new Set(receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(2);
  });

  test('that takes its time is never sent two events at once', async () => {
    const fixture = new Fixture();
    let open = 0;
    let most = 0;
    const receiver = await newReceiver((response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.end();
      }, 5);
    });
    fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 10);
    await eventually(() => expect(receiver.deliveries.length).toBe(10));
    expect(most).toBe(1);
  });

  test('that is dead has its events dropped after three failures each, and says so', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(`${receiver.url}?token=sesame`));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(2));
    expect(rowsAt(receiver)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'failing', consecutive_failures: 2 });
    const error = 'The receiver answered 500.';
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([
      { row_id: 2, outcome: 'dropped', attempts: 3, status: 500, error },
      { row_id: 1, outcome: 'dropped', attempts: 3, status: 500, error },
    ]);
    const warnings = fixture.logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toHaveLength(2);
    expect(JSON.stringify(fixture.logger.lines)).not.toContain('sesame');
    expect(JSON.stringify(fixture.logger.lines)).not.toContain('text 1');
  });

  test('that is dead does not delay another one', async () => {
    const fixture = new Fixture([60_000, 60_000]);
    const hanging = await newReceiver(() => undefined);
    const failing = await newReceiver((response) => void response.writeHead(500).end());
    const receiver = await newReceiver();
    for (const { url } of [hanging, failing, receiver]) fixture.dispatcher.add(hook(url));
    fixture.publish(1, 100);
    await eventually(() => expect(receiver.deliveries.length).toBe(100));
    expect(hanging.deliveries).toHaveLength(1);
    expect(failing.deliveries).toHaveLength(1);
  });

  test('that fell behind the channel by more than it holds catches up from the database', async () => {
    const fixture = new Fixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await waitFor(() => answer);
    fixture.publish(2, 3000);
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(receiver.deliveries.length).toBe(3000));
    expect(rowsAt(receiver)).toEqual(range(1, 3000));
    expect(fixture.log.reads).toBeGreaterThan(0);
  });

  test('goes on where it was after a restart', async () => {
    const fixture = new Fixture([60_000, 60_000]);
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 3);
    await eventually(() => expect(receiver.deliveries.length).toBe(3));
    receiver.answerWith((response) => void response.writeHead(500).end());
    fixture.publish(4, 6);
    await eventually(() => expect(receiver.deliveries.length).toBe(4));
    await fixture.dispatcher.close(1000);
    expect(fixture.store.get(id)?.offset.rowId).toBe(3);
    receiver.answerWith((response) => void response.end());
    fixture.restart();
    await eventually(() => expect(receiver.deliveries.length).toBe(7));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 4, 4, 5, 6]);
    const ids = receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
    expect(ids[3]).toBe(ids[4]);
    expect(new Set(ids).size).toBe(6);
  });

  test('waits while the database is away and then goes on', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    fixture.publish(1, 2000);
    const { id } = fixture.store.add(hook(receiver.url), rowOffset(0));
    fixture.log.isAway = true;
    fixture.restart();
    expect(fixture.dispatcher.status(id).behind).toBe(2000);
    fixture.log.isAway = false;
    fixture.channel.wake();
    await eventually(() => expect(receiver.deliveries.length).toBe(2000));
    expect(rowsAt(receiver)).toEqual(range(1, 2000));
    expect(fixture.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('has rows that were deleted in between recorded as gone, once a range', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    fixture.publish(1, 1100);
    for (const rowId of [2, 3, 4, 6, 1099, 1100]) fixture.log.rows.delete(rowId);
    fixture.channel.restart(rowOffset(1100));
    const { id } = fixture.store.add(hook(receiver.url), rowOffset(0));
    for (const rowId of range(9, 1098)) fixture.log.rows.delete(rowId);
    fixture.restart();
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(1100));
    expect(rowsAt(receiver)).toEqual([1, 5, 7, 8]);
    const gone = fixture.dispatcher.deliveries(id).filter(({ outcome }) => outcome === 'gone');
    expect(gone.map(({ error }) => error)).toEqual([
      'Rows 9 to 1100 were deleted.',
      'Row 6 was deleted.',
      'Rows 2 to 4 were deleted.',
    ]);
  });

  test('starts over with a replaced database, and no old row id is stored', async () => {
    const fixture = new Fixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    fixture.publish(1000, 1000);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1001, 1010);
    await waitFor(() => answer);
    fixture.store.advance(id, rowOffset(20)); // as CursorStore.restart does for every webhook
    fixture.channel.restart(rowOffset(20));
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(fixture.dispatcher.deliveries(id).length).toBe(1));
    expect(fixture.store.get(id)?.offset.rowId).toBe(20);
    fixture.publish(21, 23);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(23));
    expect(rowsAt(receiver)).toEqual([1001, 21, 22, 23]);
    expect(fixture.store.get(id)?.offset.rowId).toBe(23);
  });

  test('loses nothing when publishing takes up its place after the lanes did', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    for (const rowId of range(1, 8)) fixture.log.add(arrival(rowId));
    fixture.store.add(hook(receiver.url), rowOffset(5));
    fixture.restart();
    fixture.channel.restart(rowOffset(8));
    await eventually(() => expect(receiver.deliveries.length).toBe(3));
    expect(rowsAt(receiver)).toEqual([6, 7, 8]);
  });

  test('gets details only if it asked for them', async () => {
    const fixture = new Fixture([1, 1], {
      json: (entry, include) =>
        include.has('details') ? `{"data":{"id":"details of ${entry.rowId}"}}` : JSON.stringify(entry.event),
    });
    const [plain, detailed] = [await newReceiver(), await newReceiver()];
    fixture.dispatcher.add(hook(plain.url));
    fixture.dispatcher.add(hook(detailed.url, { include: includeSet(['details']) }));
    fixture.publish(1, 1);
    await eventually(() => expect(plain.deliveries.length + detailed.deliveries.length).toBe(2));
    expect(plain.deliveries[0]?.event.data.id).toBe('1');
    expect(detailed.deliveries[0]?.event.data.id).toBe('details of 1');
  });
});

describe('removing a webhook', () => {
  test('ends a running try: nothing is sent afterwards', async () => {
    const fixture = new Fixture();
    let closed = false;
    const receiver = await newReceiver((response) => {
      response.on('close', () => {
        closed = true;
      });
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    await waitFor(() => closed);
    const other = await newReceiver();
    fixture.dispatcher.add(hook(other.url));
    fixture.publish(6, 9);
    await eventually(() => expect(other.deliveries.length).toBe(4));
    expect(receiver.deliveries).toHaveLength(1);
    expect(fixture.dispatcher.get(id)).toBeUndefined();
  });

  test('ends a waiting retry', async () => {
    const waits = longWaits();
    const fixture = new Fixture(waits.ms);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(waits.begun).toBe(1));
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    expect(receiver.deliveries).toHaveLength(1);
  });

  test('ends a test event under way: nothing is sent afterwards, and who asked is told', async () => {
    const fixture = new Fixture();
    let closed = false;
    const receiver = await newReceiver((response) => {
      response.on('close', () => {
        closed = true;
      });
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = expect(fixture.dispatcher.test(id)).rejects.toMatchObject({ status: 404 });
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    const startMs = performance.now();
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    await tested;
    await waitFor(() => closed);
    // Long before the try would have ended by itself.
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  test('leaves no reader of the events behind, nor does a replay', async () => {
    let readers = 0;
    class CountingFeed extends Feed {
      override resume(...args: Parameters<Feed['resume']>): FeedReader {
        const reader = super.resume(...args);
        readers += 1;
        return {
          ...reader,
          close() {
            readers -= 1;
            reader.close();
          },
        };
      }
    }
    const feed = new CountingFeed({
      channel: new Channel(),
      messages: new MemoryLog(),
      clock: systemClock,
      log: collectingLog(),
    });
    const fixture = new Fixture([10, 10], { feed });
    const { id } = fixture.dispatcher.add(hook('http://127.0.0.1:9/'));
    fixture.dispatcher.replay(id, rowOffset(0));
    expect(readers).toBe(1);
    await fixture.dispatcher.remove(id);
    expect(readers).toBe(0);
  });

  test('that nobody registered says so', async () => {
    const fixture = new Fixture();
    expect(await fixture.dispatcher.remove('unknown')).toBe(false);
    expect(() => fixture.dispatcher.deliveries('unknown')).toThrow('no webhook');
    await expect(fixture.dispatcher.test('unknown')).rejects.toMatchObject({ status: 404 });
  });
});

describe('a test event', () => {
  test('is sent once and answered with what the receiver said', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver((response) => void response.writeHead(500).end('out of order'));
    const { id } = fixture.dispatcher.add(hook(receiver.url, { secret: 's' }));
    const result = await fixture.dispatcher.test(id);
    expect(result).toMatchObject({ delivered: false, status: 500, answer: 'out of order' });
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.deliveries[0]?.event).toEqual({ type: 'webhook.test', data: { webhook_id: id } });
    expect(receiver.deliveries[0]?.headers['x-webhook-signature']).toMatch(/^sha256=/);
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([
      { id: result.id, event: 'webhook.test', outcome: 'dropped' },
    ]);
    expect(fixture.store.get(id)?.offset.rowId).toBe(0);
  });
});

describe('a replay', () => {
  test('goes back durably, live events behind it, under the same delivery ids', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(5));
    expect(fixture.dispatcher.replay(id, rowOffset(2)).offset.rowId).toBe(2);
    expect(fixture.store.get(id)?.offset.rowId).toBe(2);
    fixture.publish(6, 7);
    await eventually(() => expect(receiver.deliveries.length).toBe(10));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 4, 5, 3, 4, 5, 6, 7]);
    const ids = receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
    expect(ids.slice(2, 5)).toEqual(ids.slice(5, 8));
  });

  test('holds also when a try was under way', async () => {
    const fixture = new Fixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => void response.end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(2));
    receiver.answerWith((response) => {
      answer = () => void response.end();
    });
    fixture.publish(3, 3);
    await waitFor(() => answer);
    fixture.dispatcher.replay(id, rowOffset(0));
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(receiver.deliveries.length).toBe(6));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 1, 2, 3]);
    await eventually(() => expect(fixture.store.get(id)?.offset.rowId).toBe(3));
  });

  test('ahead of where the webhook is, is refused', () => {
    const fixture = new Fixture();
    fixture.publish(1, 5);
    const { id } = fixture.dispatcher.add(hook('http://127.0.0.1:9/'));
    for (const after of [6, 2 ** 60]) {
      expect(() => fixture.dispatcher.replay(id, rowOffset(after))).toThrow(expect.objectContaining({ status: 400 }));
    }
  });
});

describe('closing', () => {
  test('finishes the running try and begins no other one', async () => {
    const fixture = new Fixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await waitFor(() => answer);
    const closed = fixture.dispatcher.close(10_000);
    answer?.();
    await closed;
    expect(fixture.store.get(id)?.offset.rowId).toBe(1);
    expect(receiver.deliveries).toHaveLength(1);
    expect(() => fixture.dispatcher.add(hook(receiver.url))).toThrow('shutting down');
  });

  test('ends a try that takes longer than the deadline, which comes again', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver(() => undefined);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    await fixture.dispatcher.close(20);
    expect(fixture.store.get(id)?.offset.rowId).toBe(0);
  });

  test('ends a test event that takes longer than the deadline, which is neither delivered nor dropped', async () => {
    const fixture = new Fixture();
    const receiver = await newReceiver(() => undefined);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = expect(fixture.dispatcher.test(id)).rejects.toMatchObject({ code: 'shutting_down' });
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    await fixture.dispatcher.close(20);
    await tested;
    expect(fixture.dispatcher.deliveries(id)).toEqual([]);
  });

  test('keeps the record of a test event that ends meanwhile', async () => {
    const fixture = new Fixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = fixture.dispatcher.test(id);
    await waitFor(() => answer);
    const closed = fixture.dispatcher.close(10_000);
    answer?.();
    await closed;
    expect(fixture.store.deliveries(id)).toMatchObject([{ event: 'webhook.test', outcome: 'delivered' }]);
    await tested;
  });
});
