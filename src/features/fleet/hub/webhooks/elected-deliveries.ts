import { isAppError } from '../../../../core/model/errors.ts';
import { type ClientOffset, decodeOffset, isAfter, type Offset, rowOffset } from '../../../../core/model/offset.ts';
import type { EventFeed } from '../../../../core/model/ports/feed-ports.ts';
import type {
  NewWebhook,
  ReplayFrom,
  WebhookChanges,
  WebhookRegistry,
  WebhookStore,
} from '../../../../core/model/ports/webhooks-ports.ts';
import { invalidRequest, problem } from '../../../../core/model/problems.ts';
import { type StoredWebhook, wantsChanges } from '../../../../core/model/webhook.ts';
import { BUCKETS } from '../../protocol/layout.ts';
import { Lease } from '../../protocol/lease.ts';
import type { HubParts } from '../hub-parts.ts';
import { type HubCallMethod, HubCalls, RETRY } from './hub-calls.ts';
import {
  type FleetWebhook,
  fleetWebhook,
  LEASE_KEY,
  NO_WEBHOOKS,
  sealedRecords,
  storedWebhook,
  type WebhooksState,
} from './webhooks-state.ts';

/** Maximum size of all webhooks together, in bytes. The lease holds them in one message, which may have 1 MiB. */
const MAX_BYTES = 512 * 1024;
/** How long a release waits for running attempts before it cancels them. A hub must stop within 10 s (decision A7). */
const ATTEMPTS_END_WITHIN_MS = 8700;
const RETRY_MS = 1000;

/** The webhooks of a store, with their workers. */
export interface Deliveries extends WebhookRegistry {
  /** Starts the worker of every webhook in the store. */
  start(): void;
  close(withinMs: number): Promise<void>;
}

export interface ElectedDeliveriesParts extends Pick<HubParts, 'connection' | 'envelope' | 'clock' | 'log'> {
  readonly store: WebhookStore;
  /** Id of this hub's copy of the stream. Positions of webhooks in `store` are event numbers of this copy. */
  readonly history: string;
  readonly feed: EventFeed;
  /** Reports whether this hub can serve every event of the stream. */
  readonly isReady: () => boolean;
  /** Waits until this hub has every event up to an offset; undefined if it has them. Rejects after a time limit. */
  readonly reached: (offset: ClientOffset) => Promise<void> | undefined;
  readonly openDeliveries: (store: WebhookStore, mayAttempt: () => boolean) => Deliveries;
}

/** The time during which this hub holds the lease. */
interface Term {
  /** The state of the lease when this hub took it. */
  readonly found: WebhooksState;
  readonly wasOwn: boolean;
  deliveries: Deliveries | undefined;
  /** True once calls from every hub reach this one. */
  isReachable: boolean;
  isOver: boolean;
}

/** Delivers to all webhooks of the fleet while this hub holds the lease. Uses the same dispatcher as a Mac. */
export class ElectedDeliveries {
  /** Carries calls to the hub that delivers, and answers those of other hubs while this hub does. */
  readonly calls: HubCalls;
  readonly #parts: ElectedDeliveriesParts;
  readonly #lease: Lease<WebhooksState>;
  readonly #store: WebhookStore;
  /** The newest state of the lease that this hub wrote or read. */
  #known = NO_WEBHOOKS;
  #term: Term | undefined;
  #ending: Promise<void> = Promise.resolve();

  constructor(parts: ElectedDeliveriesParts) {
    this.#parts = parts;
    this.calls = new HubCalls({ ...parts, perform: (method, args) => this.perform(method, args) });
    const { connection, envelope, clock, log, isReady } = parts;
    this.#lease = new Lease<WebhooksState>({
      clock,
      log,
      isReady,
      key: LEASE_KEY,
      first: NO_WEBHOOKS,
      bucket: async () => {
        // Without a connection, a request would wait until there is one, and be sent too late.
        if (!connection.isConnected) throw problem('broker_away');
        return connection.kv(BUCKETS.webhooks);
      },
      ...sealedRecords(envelope),
      state: () => this.#state(),
      onSeen: (state) => {
        this.#known = state;
      },
      onTaken: (found, wasOwn) => {
        const term = { found, wasOwn, deliveries: undefined, isReachable: false, isOver: false };
        this.#term = term;
        void this.#begin(term);
      },
      onLost: () => {
        void this.#end(0);
        this.#term = undefined;
      },
      release: () => this.#end(ATTEMPTS_END_WITHIN_MS),
    });
    this.#store = this.#noting(parts.store);
  }

  /** Returns the webhooks of the fleet, with offset 0: only the hub that delivers knows their offsets. */
  list(): readonly StoredWebhook[] {
    return this.#known.webhooks.map((webhook) => storedWebhook(webhook, rowOffset(0)));
  }

  start(): void {
    this.#lease.start();
  }

  /** Waits for running attempts, writes the positions and gives the lease up. */
  async close(): Promise<void> {
    await this.#lease.close();
    await this.#ending;
  }

  get isDelivering(): boolean {
    return this.#delivering !== undefined && this.#term?.isReachable === true;
  }

  /** True if the lease is sealed with a content key that this hub lacks. */
  get isLeaseUnreadable(): boolean {
    return this.#lease.isUnreadable;
  }

  /** Resolves once this hub knows the current state of the lease. */
  async refresh(): Promise<void> {
    if (!this.isDelivering) await this.#lease.look();
  }

  /** Performs a call on the webhooks. Returns undefined unless this hub delivers. */
  perform(method: HubCallMethod, args: readonly unknown[]): Promise<unknown> | undefined {
    const deliveries = this.#delivering;
    return deliveries && this.#performed(deliveries, method, args);
  }

  get #delivering(): Deliveries | undefined {
    return this.#term?.isOver === false && this.#lease.isHeld ? this.#term.deliveries : undefined;
  }

  async #performed(deliveries: Deliveries, method: HubCallMethod, args: readonly unknown[]): Promise<unknown> {
    if (method === 'add') return this.#added(deliveries, args[0] as NewWebhook);
    const [id, given] = args as [string, unknown];
    switch (method) {
      case 'change':
        this.#assertRoomFor(given);
        await deliveries.change(id, given as WebhookChanges);
        return this.#saved(id);
      case 'remove': {
        const isRemoved = await deliveries.remove(id);
        if (isRemoved) await this.#saved(id);
        return isRemoved;
      }
      case 'replay':
        this.#assertBehind(id, given as ReplayFrom);
        await deliveries.replay(id, given as ReplayFrom);
        return this.#saved(id);
      default:
        return deliveries[method](id);
    }
  }

  async #added(deliveries: Deliveries, webhook: NewWebhook): Promise<FleetWebhook | undefined> {
    this.#assertRoomFor(webhook);
    const { id } = await deliveries.add(webhook);
    try {
      return await this.#saved(id);
    } catch (error) {
      await deliveries.remove(id);
      this.#lease.note();
      throw error;
    }
  }

  /**
   * Waits until the broker has stored the change, so that the next holder knows it. Returns the webhook; undefined if
   * it was removed. Throws 503 if the change may not have been stored.
   */
  async #saved(id: string): Promise<FleetWebhook | undefined> {
    try {
      await this.#lease.flush();
    } catch (error) {
      throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
    }
    this.calls.announceChange();
    return this.#known.webhooks.find((webhook) => webhook.id === id);
  }

  #assertRoomFor(given: unknown): void {
    if (Buffer.byteLength(JSON.stringify([this.#state(), given])) <= MAX_BYTES) return;
    const message = `All webhooks of a fleet together must be at most ${MAX_BYTES} bytes. Shorten the \`filter\` or the \`headers\` of a webhook.`;
    throw invalidRequest([{ pointer: '', message }]);
  }

  #assertBehind(id: string, from: ReplayFrom): void {
    const { feed, store } = this.#parts;
    const now = store.get(id)?.offset;
    if (typeof from !== 'object' || now === undefined || !isAfter(feed.resolve(from), now)) return;
    const message = '`after` must be 0, "latest", or an offset that is not beyond the position of the webhook.';
    throw invalidRequest([{ pointer: '/after', message }]);
  }

  /** Wraps the local store so that each change of a position is soon written into the lease. */
  #noting(store: WebhookStore): WebhookStore {
    const noted = (change: () => void): void => {
      change();
      this.#lease.note();
    };
    return {
      ...store,
      advance: (id, offset, record) => noted(() => store.advance(id, offset, record)),
      advanceMany: (steps) => noted(() => store.advanceMany(steps)),
      seek: (id, offset) => noted(() => store.seek(id, offset)),
      hold: (id, held) => noted(() => store.hold(id, held)),
      pause: (id, held) => noted(() => store.pause(id, held)),
    };
  }

  /**
   * Returns the state to write into the lease. Until the webhooks are adopted, that is the state found when this hub
   * took the lease; afterwards, the content of the store.
   */
  #state(): WebhooksState {
    const { history, store, feed } = this.#parts;
    if (this.#term?.deliveries === undefined) return this.#term?.found ?? NO_WEBHOOKS;
    const webhooks = store.list().map((webhook) => fleetWebhook(webhook, feed.offsetText(webhook.offset, undefined)));
    this.#known = { history, webhooks };
    return this.#known;
  }

  /** Adopts the webhooks of the fleet and starts their workers, once this hub has the events they need. */
  async #begin(term: Term): Promise<void> {
    const { openDeliveries, clock, log } = this.#parts;
    await this.#ending;
    if (term.isOver) return;
    try {
      // Waits, because an offset that this hub has not reached yet would resolve to a much earlier event.
      for (const { after } of term.found.webhooks) {
        const offset = decodeOffset(after);
        if (offset !== undefined) await this.#parts.reached(offset);
      }
      if (term.isOver) return;
      this.#adopt(term);
    } catch (error) {
      log.debug('the webhooks cannot be delivered yet, retrying', { error });
      clock.after(RETRY_MS, () => void this.#begin(term));
      return;
    }
    term.deliveries = openDeliveries(this.#store, () => this.#lease.check() && this.#term === term);
    term.deliveries.start();
    this.#lease.note();
    await this.calls.listen();
    term.isReachable = true;
  }

  /** Makes the local store hold exactly the webhooks of the fleet. */
  #adopt({ found: { history, webhooks }, wasOwn }: Term): void {
    const { store, history: own } = this.#parts;
    const adopted = webhooks.map((webhook) => {
      const { id, held } = webhook;
      // With `wasOwn`, no other hub has delivered in between, so the local offset is at least as new as the lease's.
      const offset = (wasOwn ? store.get(id)?.offset : undefined) ?? this.#offsetOf(webhook);
      // A held event's number is valid only at the hub whose copy has the id `history`. At any other hub, the event
      // after `offset` counts as the held one.
      const isNamed = held === null || history === own;
      return storedWebhook(isNamed ? webhook : { ...webhook, held: { ...held, row_id: offset.rowId + 1 } }, offset);
    });
    const ids = new Set(adopted.map(({ id }) => id));
    for (const { id } of store.list()) if (!ids.has(id)) store.remove(id);
    for (const webhook of adopted) store.adopt(webhook, history === own);
  }

  #offsetOf(webhook: WebhooksState['webhooks'][number]): Offset {
    const { feed, log } = this.#parts;
    const given = decodeOffset(webhook.after);
    try {
      if (given !== undefined) return feed.resolve(given, { changes: wantsChanges(webhook) });
    } catch (error) {
      if (!isAppError(error) || error.status !== 410) throw error;
    }
    log.warn('the position of a webhook is no longer kept; continuing with the oldest event', { webhook: webhook.id });
    return feed.resolve({ rowId: 0 });
  }

  #end(withinMs: number): Promise<void> {
    const term = this.#term;
    if (term === undefined) return this.#ending;
    if (!term.isOver && term.deliveries !== undefined) this.calls.unlisten();
    term.isOver = true;
    const closed = term.deliveries?.close(withinMs);
    if (closed !== undefined) this.#ending = closed;
    return this.#ending;
  }
}
