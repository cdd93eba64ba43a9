import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { mayCallBack } from '../../src/core/model/callback-hosts.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { limitedFeed } from '../../src/features/access/limited-feed.ts';
import { mcp } from '../../src/features/mcp/feature.ts';
import { CallbackPoster } from '../../src/features/mcp/subscriptions/callback-poster.ts';
import type { SubscriptionRequest } from '../../src/features/mcp/subscriptions/subscription.ts';
import { SubscriptionRegistry } from '../../src/features/mcp/subscriptions/subscription-registry.ts';
import { subscriptionStore } from '../../src/features/mcp/subscriptions/subscriptions-store.ts';
import { FakeClock } from './fake-clock.ts';
import { collectingLog } from './log.ts';
import { Callback, SECRET } from './mcp-events.ts';
import { arrival, MemoryLog } from './memory-log.ts';
import { temporaryFolder } from './temporary.ts';

const folder = temporaryFolder();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
let files = 0;

/** An in-memory log, a state database and the subscriptions over both, with the test's clock. */
export class SubscriptionFixture {
  readonly clock = new FakeClock();
  readonly messages = new MemoryLog();
  readonly channel = new Channel(128);
  readonly log = collectingLog();
  readonly feed = new Feed({ channel: this.channel, messages: this.messages, clock: this.clock, log: this.log });
  readonly state: Sqlite;
  registry: SubscriptionRegistry;
  isKeyAlive = true;
  /** What limits the key. `callback_hosts` need not name this machine. */
  readonly key: { callback_hosts: readonly string[] } = { callback_hosts: [] };
  /** Number of posts under way. A post's time limit runs on `clock`. */
  unanswered = 0;
  /** Rows that the key may not read. */
  readonly hidden = new Set<number>();

  private constructor() {
    files += 1;
    this.state = openStateDatabase(join(folder, `state-${files}.db`), [mcp]);
    closers.push(() => this.state.close());
    this.registry = this.#newRegistry();
  }

  static async start(): Promise<SubscriptionFixture> {
    const fixture = new SubscriptionFixture();
    await fixture.registry.start();
    return fixture;
  }

  /** Starts another process over the same state, which continues from the stored progress. */
  async restart(): Promise<void> {
    await this.close();
    this.registry = this.#newRegistry();
    await this.registry.start();
  }

  async close(): Promise<void> {
    await this.registry.close();
  }

  async callback(...given: Parameters<typeof Callback.start>): Promise<Callback> {
    const callback = await Callback.start(...given);
    closers.push(() => callback.close());
    return callback;
  }

  subscribe({ url }: Pick<Callback, 'url'>, more: Partial<SubscriptionRequest> = {}, maxOfKey = 16) {
    const request: SubscriptionRequest = {
      name: 'message.received',
      arguments: {},
      url,
      secret: SECRET,
      cursor: undefined,
      maxAgeMs: undefined,
      ttlMs: undefined,
      ...more,
    };
    return this.registry.subscribe('key', request, maxOfKey, () => mayCallBack(this.key.callback_hosts, url));
  }

  publish(from: number, to = from): void {
    for (let rowId = from; rowId <= to; rowId += 1) {
      const row = arrival(rowId);
      this.messages.add(row);
      this.channel.publish([row]);
    }
  }

  /** Returns the row up to which deliveries are stored as done. */
  deliveredTo(): number {
    const row = this.state.prepare('SELECT max(row_id) FROM consumer').get();
    return Number(row?.[0] ?? 0);
  }

  #newRegistry(): SubscriptionRegistry {
    const { clock, feed, log } = this;
    const limited = limitedFeed(feed, ({ rowId }) => !this.hidden.has(rowId));
    const caller = { feed: limited } as unknown as Caller;
    const ownListeners = new OwnListeners({ addresses: () => [] });
    const poster = new CallbackPoster({ version: '1', clock, allowedHosts: [], ownListeners });
    const post = poster.post.bind(poster);
    poster.post = (...given) => {
      const attempt = post(...given);
      this.unanswered += 1;
      void attempt.result.finally(() => {
        this.unanswered -= 1;
      });
      return attempt;
    };
    const registry = new SubscriptionRegistry({
      feed,
      rowNow: (rowId) => this.messages.rows.get(rowId),
      store: subscriptionStore(this.state),
      poster,
      clock,
      log,
      callerOf: () => (this.isKeyAlive ? caller : undefined),
    });
    closers.push(() => registry.close());
    return registry;
  }
}
