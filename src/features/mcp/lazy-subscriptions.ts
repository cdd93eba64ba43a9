import type { Config } from '../../core/config/config.ts';
import type { Host } from '../../core/host.ts';
import type { Caller } from '../../core/model/caller.ts';
import { rowOffset } from '../../core/model/offset.ts';
import type { MessageLog, RowFeed } from '../../core/model/ports/feed-ports.ts';
import { madeOnce } from '../../core/runtime/made-once.ts';
import type { OwnListeners } from '../../core/runtime/own-listeners.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import type { SubscriptionService } from './subscriptions/ports.ts';
import { hasSubscriptions } from './subscriptions/subscriptions-store.ts';

interface LazySubscriptionsParts {
  readonly config: Config;
  readonly host: Host;
  readonly state: Sqlite;
  readonly feed: RowFeed;
  readonly agedLog: MessageLog;
  readonly ownListeners: OwnListeners;
  readonly callerOf: (keyId: string) => Caller | undefined;
}

/** The subscriptions of MCP Events. Loads the modules behind them once a first subscription exists. */
export class LazySubscriptions implements SubscriptionService {
  readonly #parts: LazySubscriptionsParts;
  readonly #load = madeOnce(() => this.#make());
  #loaded: SubscriptionService | undefined;

  constructor(parts: LazySubscriptionsParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    if (hasSubscriptions(this.#parts.state)) await this.#load();
  }

  of: SubscriptionService['of'] = (keyId) => this.#loaded?.of(keyId) ?? [];

  subscribe: SubscriptionService['subscribe'] = async (...request) => (await this.#load()).subscribe(...request);

  unsubscribe: SubscriptionService['unsubscribe'] = async (...target) =>
    (await this.#loaded?.unsubscribe(...target)) ?? false;

  remove: SubscriptionService['remove'] = (id) => this.#loaded?.remove(id);

  terminate: SubscriptionService['terminate'] = (keyId) => this.#loaded?.terminate(keyId);

  close: SubscriptionService['close'] = async () => (await this.#load.ifMade())?.close();

  async #make(): Promise<SubscriptionService> {
    const { config, host, state, feed, agedLog, callerOf, ownListeners } = this.#parts;
    const { clock, log, version } = host;
    const [{ SubscriptionRegistry }, { CallbackPoster }, { subscriptionStore }] = await Promise.all([
      import('./subscriptions/subscription-registry.ts'),
      import('./subscriptions/callback-poster.ts'),
      import('./subscriptions/subscriptions-store.ts'),
    ]);
    this.#loaded = new SubscriptionRegistry({
      feed,
      rowNow: (rowId) => agedLog.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0],
      store: subscriptionStore(state),
      poster: new CallbackPoster({ version, clock, ...config.webhooks, ownListeners }),
      clock,
      log,
      callerOf,
    });
    await this.#loaded.start();
    return this.#loaded;
  }
}
