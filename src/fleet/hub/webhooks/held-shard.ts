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
import { MAX_WEBHOOKS, type StoredWebhook } from '../../../domain/webhook.ts';
import type { Registration } from './registration.ts';
import type { KnownRegistration, Registrations } from './registrations.ts';
import { shardStore } from './shard-store.ts';
import { WriteBack } from './write-back.ts';

const RETRY_MS = 1000;

/** The workers of some webhooks, over a store. */
export interface Deliveries extends WebhookRegistry {
  /** Starts the worker of every webhook in the store that has none yet. */
  start(): void;
  close(withinMs: number): Promise<void>;
}

export interface HeldShardParts {
  readonly shard: number;
  /** Under which this hub has the shard. */
  readonly lease: string;
  readonly isHeld: () => boolean;
  /** Another hub seems to have it. */
  readonly onDoubt: () => void;
  readonly registrations: Registrations;
  readonly store: WebhookStore;
  /** Of the store: where its deliveries and dropped events belong to. */
  readonly history: string;
  readonly feed: EventFeed;
  /** Whether this hub has the events up to there, as far as there are any. */
  readonly hasReached: (offset: ClientOffset) => boolean;
  readonly openDeliveries: (store: WebhookStore, mayAttempt: () => boolean) => Deliveries;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The webhooks of one shard, while this hub has it: each is written into the bucket in this hub's name before its
 * worker starts, so that a hub that had it before can move it no more.
 */
export class HeldShard {
  readonly #parts: HeldShardParts;
  readonly #deliveries: Deliveries;
  readonly #writers = new Map<string, WriteBack>();
  readonly #takenOver = new Set<string>();
  #isStopped = false;

  constructor(parts: HeldShardParts) {
    this.#parts = parts;
    const store = shardStore({
      ...parts,
      has: (id) => this.#writers.has(id),
      ids: () => this.#writers.keys(),
      onAdd: (webhook) => this.#hold(webhook.id, 0),
      onChange: (id) => this.#writers.get(id)?.note(),
    });
    this.#deliveries = parts.openDeliveries(store, () => this.#mayAttempt());
  }

  /** A webhook of the shard as the bucket has it; undefined: it was removed. */
  note(id: string, known: KnownRegistration | undefined): void {
    if (this.#isStopped) return;
    const writer = this.#writers.get(id);
    if (writer === undefined) {
      if (known !== undefined) void this.#takeOver(id);
    } else if (known === undefined) void this.#drop(id);
    else if (known.registration.holder !== this.#parts.lease) this.#parts.onDoubt();
  }

  /** The shard is no longer ours: nothing is sent or written from now on. */
  async stop(): Promise<void> {
    this.#end();
    await this.#deliveries.close(0);
  }

  /** Finishes running attempts, and writes how far every webhook is. */
  async release(withinMs: number): Promise<void> {
    this.#isStopped = true;
    await this.#deliveries.close(withinMs);
    await Promise.allSettled([...this.#writers.values()].map((writer) => writer.flush()));
    this.#end();
  }

  async add(webhook: NewWebhook): Promise<string> {
    const { registrations } = this.#parts;
    this.#assertRunning();
    if (registrations.count >= MAX_WEBHOOKS) throw problem('too_many_webhooks', { max: MAX_WEBHOOKS });
    const { id } = await this.#deliveries.add(webhook);
    try {
      await this.#flush(id);
    } catch (error) {
      // It may have been written all the same: then the client's next list shows it.
      await this.#drop(id);
      throw error;
    }
    return id;
  }

  async change(id: string, changes: WebhookChanges): Promise<void> {
    this.#assertRunning();
    await this.#deliveries.change(id, changes);
    await this.#flush(id);
  }

  async remove(id: string): Promise<boolean> {
    this.#assertRunning();
    const writer = this.#writers.get(id);
    if (writer === undefined) return false;
    await available(writer.remove());
    await this.#drop(id);
    return true;
  }

  async replay(id: string, from: ReplayFrom): Promise<void> {
    this.#assertRunning();
    const { feed, store } = this.#parts;
    if (typeof from === 'object' && this.#writers.has(id)) {
      const start = feed.resolve(from);
      if (isAfter(start, store.get(id)?.offset ?? start)) {
        const message = '"after" must be 0, an offset from before where the webhook is now, or "latest".';
        throw invalidRequest([{ pointer: '/after', message }]);
      }
    }
    await this.#deliveries.replay(id, from);
    await this.#flush(id);
  }

  /** For what changes nothing. */
  get reading(): Pick<WebhookRegistry, 'status' | 'deliveries' | 'lastDelivery' | 'test'> {
    this.#assertRunning();
    return this.#deliveries;
  }

  /** Ends the workers at once where the lease is over: they would ask again and again. */
  #mayAttempt(): boolean {
    const mayAttempt = !this.#isStopped && this.#parts.isHeld();
    if (!mayAttempt) this.#parts.onDoubt();
    return mayAttempt;
  }

  #assertRunning(): void {
    if (this.#isStopped || !this.#parts.isHeld()) throw problem('webhooks_unavailable', {}, RETRY);
  }

  async #flush(id: string): Promise<void> {
    const writer = this.#writers.get(id);
    if (writer !== undefined) await available(writer.flush());
  }

  #end(): void {
    this.#isStopped = true;
    for (const writer of this.#writers.values()) writer.end();
  }

  /** The worker of a webhook that is no longer in the bucket ends. */
  async #drop(id: string): Promise<void> {
    this.#writers.get(id)?.end();
    await this.#deliveries.remove(id);
    this.#writers.delete(id);
  }

  async #takeOver(id: string): Promise<void> {
    if (this.#takenOver.has(id)) return;
    this.#takenOver.add(id);
    const { clock, log } = this.#parts;
    try {
      await this.#tryTakeOver(id);
    } catch (error) {
      if (this.#isStopped) return;
      log.debug('a webhook cannot be taken over yet, retrying', { webhook: id, error });
      clock.after(RETRY_MS, () => void this.#takeOver(id));
    } finally {
      this.#takenOver.delete(id);
    }
  }

  async #tryTakeOver(id: string): Promise<void> {
    const { registrations, store, lease, history } = this.#parts;
    let known = registrations.get(id);
    while (known !== undefined && !this.#isStopped && !this.#writers.has(id)) {
      const { registration } = known;
      // Nobody else has had it since this lease wrote it: what is stored here is as new, or newer.
      const own = registration.holder === lease ? store.get(id) : undefined;
      const offset = own?.offset ?? this.#positionOf(registration);
      const revision = await registrations.write(id, { ...registration, holder: lease, history }, known.revision);
      if (this.#isStopped) return;
      if (revision === undefined) {
        const found = await registrations.read(id);
        // Gone: when it comes back, it is told again.
        if (found?.registration === undefined) return;
        known = { registration: found.registration, revision: found.revision };
        continue;
      }
      if (own === undefined) {
        const keepsHistory = registration.history === history;
        store.adopt(adopted(registration, offset, keepsHistory), keepsHistory);
      }
      const writer = this.#hold(id, revision);
      if (own !== undefined) writer.note();
      this.#deliveries.start();
    }
  }

  #hold(id: string, revision: number): WriteBack {
    const { lease, registrations, onDoubt, clock, log } = this.#parts;
    const parts = { id, lease, registrations, clock, log, onSuperseded: onDoubt, current: () => this.#current(id) };
    const writer = new WriteBack(parts, revision);
    this.#writers.set(id, writer);
    return writer;
  }

  #current(id: string): Omit<Registration, 'version' | 'holder'> | undefined {
    const { store, feed, history } = this.#parts;
    const stored = store.get(id);
    if (stored === undefined) return undefined;
    const { offset, ...webhook } = stored;
    return { webhook, history, after: feed.offsetText(offset, undefined) };
  }

  #positionOf({ webhook: { id }, after }: Registration): Offset {
    const { feed, hasReached, log } = this.#parts;
    const given = decodeOffset(after);
    // Otherwise it would begin far too early.
    if (given !== undefined && !hasReached(given)) throw new Error('the events up to its position are not here yet');
    try {
      if (given !== undefined) return feed.resolve(given);
    } catch (error) {
      if (!isAppError(error) || error.status !== 410) throw error;
    }
    log.warn('the position of a webhook is no longer kept; it goes on with the oldest event there is', { webhook: id });
    return feed.resolve({ rowId: 0 });
  }
}

export const RETRY = { headers: { 'Retry-After': '5' } } as const;

/** What the broker did not take is a 503. */
async function available(writing: Promise<void>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
  }
}

/** Numbers of rows are those of one hub. */
function adopted({ webhook }: Registration, offset: Offset, keepsHistory: boolean): StoredWebhook {
  const { held } = webhook;
  return { ...webhook, held: held === null || keepsHistory ? held : { ...held, row_id: offset.rowId + 1 }, offset };
}
