import type { KV } from '@nats-io/kv';
import { isAppError } from '../../../domain/errors.ts';
import { type ClientOffset, decodeOffset, isAfter, type Offset } from '../../../domain/offset.ts';
import type { EventFeed } from '../../../domain/ports/feed.ts';
import type { Clock, Log } from '../../../domain/ports/host.ts';
import type {
  NewWebhook,
  ReplayFrom,
  WebhookChanges,
  WebhookRegistry,
  WebhookStore,
} from '../../../domain/ports/webhooks.ts';
import { invalidRequest, problem } from '../../../domain/problems.ts';
import type { StoredWebhook } from '../../../domain/webhook.ts';
import { Lease } from '../../protocol/lease.ts';
import { type FleetWebhooks, LEASE_KEY, leaseFromJson, type WebhooksState } from './fleet-webhooks.ts';
import { type HubCallMethod, RETRY } from './hub-calls.ts';
import type { HubSeal } from './hub-seal.ts';

/** Decision A7: as long as an attempt may take. */
const ATTEMPTS_END_WITHIN_MS = 8700;
const RETRY_MS = 1000;

/** The workers of webhooks, over a store. */
export interface Deliveries extends WebhookRegistry {
  /** Starts the worker of every webhook in the store. */
  start(): void;
  close(withinMs: number): Promise<void>;
}

export interface ElectedDeliveriesParts {
  readonly store: WebhookStore;
  /** Names this hub's copy of the stream, whose numbers the store uses. */
  readonly history: string;
  readonly feed: EventFeed;
  /** Reports whether this hub can serve every event of the stream. */
  readonly isReady: () => boolean;
  /** Reports whether this hub has every event up to an offset. */
  readonly hasReached: (offset: ClientOffset) => boolean;
  readonly openDeliveries: (store: WebhookStore, mayAttempt: () => boolean) => Deliveries;
  readonly clock: Clock;
  readonly log: Log;
}

interface Links {
  readonly bucket: () => Promise<KV>;
  readonly seal: HubSeal;
  readonly fleet: FleetWebhooks;
  /** Called when this hub begins to answer calls, and when it ends. */
  readonly onDelivering: (isDelivering: boolean) => void;
  /** Called once the fleet has a change. */
  readonly onChanged: () => void;
}

/** The time during which this hub holds the lease. */
interface Term {
  /** The state found when it began. */
  readonly found: WebhooksState;
  readonly wasOwn: boolean;
  deliveries: Deliveries | undefined;
  isOver: boolean;
}

/** Delivers to all webhooks of the fleet while this hub holds the lease, with the ordinary dispatcher. */
export class ElectedDeliveries {
  readonly #parts: ElectedDeliveriesParts;
  readonly #links: Links;
  readonly #lease: Lease<WebhooksState>;
  readonly #store: WebhookStore;
  #term: Term | undefined;
  #ending: Promise<void> = Promise.resolve();

  constructor(parts: ElectedDeliveriesParts, links: Links) {
    this.#parts = parts;
    this.#links = links;
    const { bucket, seal, fleet } = links;
    const { clock, log, isReady } = parts;
    this.#lease = new Lease<WebhooksState>({
      ...{ bucket, clock, log, isReady, key: LEASE_KEY },
      encode: (record) => seal.seal([LEASE_KEY], record),
      decode: (bytes) => leaseFromJson(seal.open([LEASE_KEY], bytes)),
      first: () => fleet.found(),
      state: () => this.#state(),
      prepare: () => fleet.save(this.#lease.fence),
      onSetBack: () => fleet.saveAll(),
      onSeen: (state) => fleet.follow(state),
      onTaken: (found, wasOwn) => {
        const term = { found, wasOwn, deliveries: undefined, isOver: false };
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

  start(): void {
    this.#lease.start();
  }

  /** Lets running attempts end, writes the positions and gives the lease up. */
  async close(): Promise<void> {
    await this.#lease.close();
    await this.#ending;
  }

  get isDelivering(): boolean {
    return this.#delivering !== undefined;
  }

  /** True if another key sealed the lease. */
  get isLeaseUnreadable(): boolean {
    return this.#lease.isUnreadable;
  }

  /** Resolves once this hub knows what the bucket says now. */
  async refresh(): Promise<void> {
    if (!this.isDelivering) await this.#lease.look();
  }

  /** Performs a call. Returns undefined while this hub does not deliver. */
  perform(method: HubCallMethod, args: readonly unknown[]): Promise<unknown> | undefined {
    const deliveries = this.#delivering;
    return deliveries && this.#performed(deliveries, method, args);
  }

  get #delivering(): Deliveries | undefined {
    return this.#term?.isOver === false && this.#lease.isHeld ? this.#term.deliveries : undefined;
  }

  async #performed(deliveries: Deliveries, method: HubCallMethod, args: readonly unknown[]): Promise<unknown> {
    const { fleet } = this.#links;
    if (method === 'add') return this.#added(deliveries, args[0] as NewWebhook);
    const [id, given] = args as [string, unknown];
    switch (method) {
      case 'change':
        fleet.set(await deliveries.change(id, given as WebhookChanges));
        return void (await this.#saved());
      case 'remove': {
        const isRemoved = await deliveries.remove(id);
        if (!isRemoved) return false;
        fleet.forget(id);
        await this.#saved();
        await fleet.delete(id);
        return true;
      }
      case 'replay':
        this.#assertBehind(id, given as ReplayFrom);
        await deliveries.replay(id, given as ReplayFrom);
        return void (await this.#saved());
      default:
        return deliveries[method](id);
    }
  }

  async #added(deliveries: Deliveries, webhook: NewWebhook): Promise<string> {
    const { fleet } = this.#links;
    const stored = await deliveries.add(webhook);
    fleet.set(stored);
    try {
      await this.#saved();
    } catch (error) {
      await deliveries.remove(stored.id);
      fleet.forget(stored.id);
      this.#lease.note();
      throw error;
    }
    return stored.id;
  }

  /** Resolves once the fleet has the change, so that no other hub can undo it. Throws 503 otherwise. */
  async #saved(): Promise<void> {
    try {
      await this.#lease.flush();
    } catch (error) {
      throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
    }
    this.#links.onChanged();
  }

  #assertBehind(id: string, from: ReplayFrom): void {
    const { feed, store } = this.#parts;
    const now = store.get(id)?.offset;
    if (typeof from !== 'object' || now === undefined || !isAfter(feed.resolve(from), now)) return;
    const message = '"after" must be 0, an offset from before where the webhook is now, or "latest".';
    throw invalidRequest([{ pointer: '/after', message }]);
  }

  /** The local store. Each change of a position is written into the lease soon. */
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
    };
  }

  /** The state that the lease is renewed with: before the adoption the one found, afterwards that of the store. */
  #state(): WebhooksState {
    const { history, store, feed } = this.#parts;
    const { fleet } = this.#links;
    if (this.#term?.deliveries === undefined) return this.#term?.found ?? { history: '', webhooks: {} };
    const webhooks = store.list().map(({ id, offset, held }) => {
      const after = feed.offsetText(offset, undefined);
      return [id, { revision: fleet.revisionOf(id), after, held }] as const;
    });
    const state = { history, webhooks: Object.fromEntries(webhooks) };
    fleet.note(state);
    return state;
  }

  /** Adopts the webhooks of the fleet and starts their workers, once this hub has the events they need. */
  async #begin(term: Term): Promise<void> {
    const { openDeliveries, clock, log } = this.#parts;
    const { fleet, onDelivering } = this.#links;
    await this.#ending;
    if (term.isOver) return;
    try {
      this.#adopt(term);
    } catch (error) {
      log.debug('the webhooks cannot be delivered yet, retrying', { error });
      clock.after(RETRY_MS, () => void this.#begin(term));
      return;
    }
    // After this, the hub that held the lease before can no longer write settings.
    fleet.saveAll();
    term.deliveries = openDeliveries(this.#store, () => this.#lease.check() && this.#term === term);
    term.deliveries.start();
    onDelivering(true);
    try {
      await this.#lease.flush();
      await fleet.clean();
    } catch (error) {
      log.debug('the settings of webhooks could not be written, retrying', { error });
    }
  }

  /** Makes the local store hold exactly the webhooks of the fleet. */
  #adopt({ found: { history, webhooks }, wasOwn }: Term): void {
    const { store, history: own } = this.#parts;
    const { fleet } = this.#links;
    const adopted = new Map<string, StoredWebhook>();
    for (const [id, { after, held }] of Object.entries(webhooks)) {
      const local = store.get(id);
      const webhook = fleet.get(id) ?? local;
      if (webhook === undefined) continue;
      // Nobody else delivered meanwhile, so the local position is the same or later.
      const offset = (wasOwn ? local?.offset : undefined) ?? this.#offsetOf(id, after);
      adopted.set(id, withHeld({ ...webhook, held, offset }, history === own));
    }
    for (const { id } of store.list()) if (!adopted.has(id)) store.remove(id);
    for (const webhook of adopted.values()) {
      store.adopt(webhook, history === own);
      fleet.set(webhook);
    }
  }

  #offsetOf(id: string, after: string): Offset {
    const { feed, hasReached, log } = this.#parts;
    const given = decodeOffset(after);
    // Otherwise it would begin far too early.
    if (given !== undefined && !hasReached(given)) throw new Error('the events up to its position are not here yet');
    try {
      if (given !== undefined) return feed.resolve(given);
    } catch (error) {
      if (!isAppError(error) || error.status !== 410) throw error;
    }
    log.warn('the position of a webhook is no longer kept; continuing with the oldest event', { webhook: id });
    return feed.resolve({ rowId: 0 });
  }

  #end(withinMs: number): Promise<void> {
    const term = this.#term;
    if (term === undefined) return this.#ending;
    if (!term.isOver && term.deliveries !== undefined) this.#links.onDelivering(false);
    term.isOver = true;
    const closed = term.deliveries?.close(withinMs);
    if (closed !== undefined) this.#ending = closed;
    return this.#ending;
  }
}

/** Row numbers belong to one hub. */
function withHeld(webhook: StoredWebhook, keepsHistory: boolean): StoredWebhook {
  const { held, offset } = webhook;
  return { ...webhook, held: held === null || keepsHistory ? held : { ...held, row_id: offset.rowId + 1 } };
}
