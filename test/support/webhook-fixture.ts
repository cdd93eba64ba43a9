import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import type { Event, EventType, LogEntry, PendingRow } from '../../src/core/model/event.ts';
import { NO_INCLUDES } from '../../src/core/model/include.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import type { NewWebhook, WebhookStore } from '../../src/core/model/ports/webhooks-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { DeliveredEvents, type DeliveredEventsParts } from '../../src/core/webhooks/delivered-events.ts';
import { Dispatcher, type DispatcherParts } from '../../src/core/webhooks/dispatcher.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { plainJson } from './event-json.ts';
import { collectingLog } from './log.ts';
import { arrival, MemoryLog } from './memory-log.ts';
import { Receiver } from './receiver.ts';
import { temporaryFolder } from './temporary.ts';

/** Far fewer events than the service keeps, so that a webhook falls behind sooner. */
const CAPACITY = 128;
/** Events published at once. */
const AT_ONCE = 32;
const folder = temporaryFolder();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
let files = 0;

/** A message log, a channel, a state database and a dispatcher, connected as in the service. */
export class WebhookFixture {
  readonly messages = new MemoryLog();
  readonly channel = new Channel(CAPACITY);
  readonly log = collectingLog();
  readonly feed = new Feed({ channel: this.channel, messages: this.messages, clock: systemClock, log: this.log });
  readonly store: WebhookStore;
  /** Opens the store as the next start does. */
  readonly reopenedStore: () => WebhookStore;
  dispatcher: Dispatcher;
  /** The hosts that webhooks may post to from the next restart on. */
  allowedHosts: readonly string[] = [];
  readonly #posterClock: Clock;
  #path: string;
  #parts: Partial<DispatcherParts & DeliveredEventsParts>;
  #retryWaitsMs: readonly number[];

  constructor(
    retryWaitsMs: readonly number[] = [10, 10],
    {
      posterClock = systemClock,
      ...parts
    }: Partial<DispatcherParts & DeliveredEventsParts> & { readonly posterClock?: Clock } = {},
  ) {
    this.#posterClock = posterClock;
    files += 1;
    this.#path = join(folder, `state-${files}.db`);
    this.#parts = parts;
    this.#retryWaitsMs = retryWaitsMs;
    const database = openStateDatabase(this.#path);
    closers.push(() => database.close());
    this.reopenedStore = () => webhookStore(database, parts.clock ?? systemClock);
    this.store = this.reopenedStore();
    this.dispatcher = this.restart();
  }

  /** Starts another dispatcher over the same state, as after a restart. */
  restart(): Dispatcher {
    const { allowedHosts } = this;
    const clock = this.#posterClock;
    const poster = new Poster({ version: '1', clock, retryWaitsMs: this.#retryWaitsMs, allowedHosts });
    const { feed, store } = this;
    const rowNow = (rowId: number): LogEntry | undefined => this.messages.rows.get(rowId);
    const silentRows = (first: number, last: number): number => this.messages.silentRows(first, last);
    const plain = { feed, rowNow, silentRows, json: plainJson(), ready: () => undefined };
    const events = new DeliveredEvents({ ...plain, ...this.#parts });
    this.dispatcher = new Dispatcher({
      feed,
      events,
      store,
      poster,
      clock: systemClock,
      log: this.log,
      ...this.#parts,
    });
    this.dispatcher.start();
    const { dispatcher } = this;
    closers.push(() => dispatcher.close(0));
    return dispatcher;
  }

  /** Adds rows and publishes them. */
  publish(from: number, to: number, type: EventType = 'message.received'): void {
    for (let first = from; first <= to; first += AT_ONCE) {
      const rows: PendingRow[] = [];
      for (let rowId = first; rowId <= Math.min(to, first + AT_ONCE - 1); rowId += 1) {
        const row = arrival(rowId);
        rows.push({ ...row, event: { ...row.event, type } as Event });
      }
      this.messages.add(...rows);
      this.channel.publish(rows);
    }
  }
}

const received: readonly EventType[] = ['message.received'];
export const hook = (url: string, options: Partial<NewWebhook> = {}): NewWebhook => ({
  url,
  events: received,
  secret: null,
  include: NO_INCLUDES,
  ...options,
});

export async function newReceiver(answer?: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  closers.push(() => receiver.close());
  return receiver;
}

export const rowsAt = (receiver: Receiver): number[] => receiver.deliveries.map(({ event }) => Number(event.data.id));
export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
