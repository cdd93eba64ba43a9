import type { KV } from '@nats-io/kv';
import type { ClientOffset } from '../../../domain/offset.ts';
import type { EventFeed } from '../../../domain/ports/feed.ts';
import type { Clock, Log } from '../../../domain/ports/host.ts';
import type {
  NewWebhook,
  ReplayFrom,
  WebhookChanges,
  WebhookRegistry,
  WebhookStore,
} from '../../../domain/ports/webhooks.ts';
import { problem } from '../../../domain/problems.ts';
import { type WebhookSummary, webhookSummary } from '../../../domain/status.ts';
import {
  type DeliveryRecord,
  type StoredWebhook,
  type WebhookStatus,
  type WebhookTestResult,
  wantsChanges,
} from '../../../domain/webhook.ts';
import type { FleetConnection } from '../../protocol/connection.ts';
import type { Envelope } from '../../protocol/envelope.ts';
import { BUCKETS, type Bucket } from '../../protocol/layout.ts';
import { within } from '../within.ts';
import { answerFromJson, answerToJson, type CallAnswer, performed, type WebhookCall } from './call.ts';
import { Calls } from './calls.ts';
import { type Deliveries, HeldShard, RETRY } from './held-shard.ts';
import { Leases } from './leases.ts';
import { HubSeal, registrationCodec } from './registration.ts';
import { Registrations } from './registrations.ts';
import { shardOf } from './shards.ts';

/** Decision A7: as long as an attempt may take. */
const ATTEMPTS_END_WITHIN_MS = 8700;
const CLOSE_MS = 9500;
/** Of one hub to another. What only reads waits for nothing; a test, and a removal, wait for a receiver. */
const CALL_MS: Readonly<Record<WebhookCall['method'], number>> = {
  add: 8000,
  change: 8000,
  replay: 8000,
  remove: 15_000,
  test: 15_000,
  status: 2000,
  deliveries: 2000,
  lastDelivery: 2000,
};

export interface HubWebhooksParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  /** Of this hub; `history` names it. */
  readonly store: WebhookStore;
  readonly history: string;
  readonly feed: EventFeed;
  /** Whether this hub has the events up to there, as far as there are any; without an offset: all that there are. */
  readonly hasReached: (offset?: ClientOffset) => boolean;
  readonly openDeliveries: (store: WebhookStore, mayAttempt: () => boolean) => Deliveries;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The webhooks of a fleet (decision N3). Every hub knows all of them; the workers of each run at the hub that has its
 * shard, and calls on it go there.
 */
export class HubWebhooks implements WebhookRegistry {
  readonly #parts: HubWebhooksParts;
  readonly #registrations: Registrations;
  readonly #leases: Leases;
  readonly #calls: Calls;
  readonly #shards = new Map<number, HeldShard>();
  readonly #ending = new Set<Promise<void>>();

  constructor(parts: HubWebhooksParts) {
    this.#parts = parts;
    const { connection, clock, log } = parts;
    const seal = new HubSeal(parts.envelope);
    this.#registrations = new Registrations({
      bucket: () => bucketOf(connection, BUCKETS.webhooks),
      codec: registrationCodec(seal),
      clock,
      log,
      onChange: (id, known) => this.#shards.get(shardOf(id))?.note(id, known),
    });
    this.#leases = new Leases({
      bucket: () => bucketOf(connection, BUCKETS.lanes),
      isReady: () => parts.hasReached(),
      clock,
      log,
      onTaken: (shard) => this.#take(shard),
      onLost: (shard) => this.#lose(shard),
      release: (shard) => this.#release(shard),
    });
    this.#calls = new Calls({
      nc: () => connection.nc,
      seal,
      log,
      answer: (shard, call) => this.#answerOf(shard, call as WebhookCall)?.then(answerToJson),
    });
  }

  /** Follows the webhooks of the fleet; `join` takes part in delivering to them. */
  start(): void {
    this.#registrations.start();
  }

  /** Once this hub knows the events: from then on it is given its part of the webhooks. */
  join(): void {
    this.#leases.start();
  }

  /** Running attempts end, positions are written and the leases given up, as far as the broker answers in time. */
  async close(): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      await within(this.#close(), clock, CLOSE_MS);
    } catch (error) {
      log.warn('the webhooks could not be given up in time; another hub waits until the lease is over', { error });
    }
  }

  async #close(): Promise<void> {
    await this.#leases.close();
    this.#registrations.close();
    await Promise.allSettled([...this.#ending]);
  }

  /** False until the webhooks of the fleet are known. */
  get isKnown(): boolean {
    return this.#registrations.isComplete;
  }

  /** Numbers of the shards that this hub has. */
  get shards(): readonly number[] {
    return this.#leases.held;
  }

  list(): readonly StoredWebhook[] {
    return this.#registrations.list();
  }

  get(id: string): StoredWebhook | undefined {
    return this.#registrations.webhook(id);
  }

  async add(webhook: NewWebhook): Promise<StoredWebhook> {
    const given = possible(webhook);
    this.#parts.feed.wanted(given.filter ?? {});
    const shard = this.#leases.anyHeld();
    if (shard === undefined) throw problem('webhooks_unavailable', {}, RETRY);
    const { id } = await this.#call(shard, { method: 'add', webhook: given });
    return this.#existing(id);
  }

  async change(id: string, changes: WebhookChanges): Promise<StoredWebhook> {
    this.#parts.feed.wanted(changes.filter ?? {});
    await this.#callOn(id, { method: 'change', id, changes: possible(changes) });
    return this.#existing(id);
  }

  async remove(id: string): Promise<boolean> {
    const isRemoved = (await this.#callOn(id, { method: 'remove', id })) as boolean;
    if (isRemoved) this.#registrations.learnRemoved(id);
    return isRemoved;
  }

  async status(id: string): Promise<WebhookStatus> {
    return (await this.#callOn(id, { method: 'status', id })) as WebhookStatus;
  }

  async deliveries(id: string): Promise<readonly DeliveryRecord[]> {
    return (await this.#callOn(id, { method: 'deliveries', id })) as readonly DeliveryRecord[];
  }

  async lastDelivery(id: string): Promise<DeliveryRecord | undefined> {
    return ((await this.#callOn(id, { method: 'lastDelivery', id })) ?? undefined) as DeliveryRecord | undefined;
  }

  async test(id: string): Promise<WebhookTestResult> {
    return (await this.#callOn(id, { method: 'test', id })) as WebhookTestResult;
  }

  async replay(id: string, from: ReplayFrom): Promise<StoredWebhook> {
    await this.#callOn(id, { method: 'replay', id, from });
    return this.#existing(id);
  }

  /** For the status of this hub. Of a webhook that no hub has, what the fleet knows of it. */
  summaries(): Promise<readonly WebhookSummary[]> {
    return Promise.all(
      this.list().map(async (webhook) => {
        const { id, enabled, held, name } = webhook;
        try {
          return webhookSummary(webhook, ...(await Promise.all([this.status(id), this.lastDelivery(id)])));
        } catch {
          const state = enabled ? (held === null ? 'failing' : 'held') : 'paused';
          const health = { state, consecutive_failures: 0, last_success_at: null } as const;
          const origin = new URL(webhook.url).origin;
          const error = held?.error ?? 'No hub has this webhook at the moment.';
          return { id, ...(name !== null && { name }), origin, ...health, last_outcome: null, last_error: error };
        }
      }),
    );
  }

  async #callOn(id: string, call: WebhookCall): Promise<unknown> {
    return (await this.#call(shardOf(id), call)).result;
  }

  async #call(shard: number, call: WebhookCall): Promise<CallAnswer> {
    const here = this.#answerOf(shard, call);
    if (here !== undefined) return here;
    if (!this.#parts.connection.isConnected) throw problem('broker_away');
    const answer = answerFromJson(await this.#calls.ask(shard, call, CALL_MS[call.method]));
    if (answer.known !== undefined) this.#registrations.learn(answer.id, answer.known);
    return answer;
  }

  /** undefined when the shard is not ours. */
  #answerOf(shard: number, call: WebhookCall): Promise<CallAnswer> | undefined {
    const held = this.#shards.get(shard);
    if (held === undefined || !this.#leases.isHeld(shard)) return undefined;
    return this.#answer(held, call);
  }

  async #answer(held: HeldShard, call: WebhookCall): Promise<CallAnswer> {
    const { id, result } = await performed(held, call);
    return { id, result, known: this.#registrations.get(id) };
  }

  #existing(id: string): StoredWebhook {
    const webhook = this.get(id);
    if (webhook === undefined) throw problem('webhook_not_found');
    return webhook;
  }

  #take(shard: number): void {
    const { store, history, feed, hasReached, openDeliveries, clock, log } = this.#parts;
    const held = new HeldShard({
      ...{ shard, store, history, feed, hasReached, openDeliveries, clock, log },
      lease: this.#leases.id,
      registrations: this.#registrations,
      isHeld: () => this.#leases.isHeld(shard),
      onDoubt: () => this.#leases.doubt(shard),
    });
    this.#shards.set(shard, held);
    this.#calls.listen(shard);
    for (const id of this.#registrations.ids()) if (shardOf(id) === shard) held.note(id, this.#registrations.get(id));
  }

  #lose(shard: number): void {
    const held = this.#leave(shard);
    if (held !== undefined) this.#end(held.stop());
  }

  async #release(shard: number): Promise<void> {
    // Calls are answered no more, so that nothing begins that the next hub does not know of.
    await this.#leave(shard)?.release(ATTEMPTS_END_WITHIN_MS);
  }

  #leave(shard: number): HeldShard | undefined {
    const held = this.#shards.get(shard);
    this.#shards.delete(shard);
    this.#calls.unlisten(shard);
    return held;
  }

  #end(ending: Promise<void>): void {
    const ended = ending.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** Without a connection a request would wait for its answer, and be sent when it is too late. */
async function bucketOf(connection: FleetConnection, name: Bucket): Promise<KV> {
  if (!connection.isConnected) throw problem('broker_away');
  return connection.kv(name);
}

/** Decision N2. What is left has no set in it, so that it can be sent as JSON. */
function possible<Given extends Partial<Pick<NewWebhook, 'events' | 'include'>>>(given: Given): Omit<Given, 'include'> {
  const { include, ...others } = given;
  if (wantsChanges({ events: given.events ?? [] }) || (include?.size ?? 0) > 0) throw problem('not_at_a_hub');
  return others;
}
