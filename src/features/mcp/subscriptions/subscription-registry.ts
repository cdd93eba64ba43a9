import { createHash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '../../../core/model/durations.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { replayStart } from '../replay-start.ts';
import type { SubscriptionService } from './ports.ts';
import {
  EVENT_ERRORS,
  NEW_HEALTH,
  type StoredSubscription,
  type SubscriptionGrant,
  type SubscriptionRequest,
  type SubscriptionTarget,
} from './subscription.ts';
import { SubscriptionWorker, type SubscriptionWorkerParts } from './subscription-worker.ts';

/** How long posts are also signed with the previous secret, after a refresh replaced it. */
const ROTATION_MS = 60 * MINUTE_MS;
/** Maximum number of subscriptions of all keys together: the same as for webhooks. */
const MAX_SUBSCRIPTIONS = 64;
/**
 * Longest wait before the next check for lapsed subscriptions. Timers stand still while the Mac sleeps, so a timer set
 * for the exact time could fire much too late.
 */
const LOOK_EVERY_MS = MINUTE_MS;

/** Adds, refreshes and ends the subscriptions of MCP Events (decision Y3). */
export class SubscriptionRegistry implements SubscriptionService {
  readonly #parts: SubscriptionWorkerParts;
  readonly #workers = new Map<string, SubscriptionWorker>();
  readonly #farewells = new Set<Promise<unknown>>();
  #cancelLook: Cancel | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: SubscriptionWorkerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    this.#removeLapsed();
    for (const subscription of this.#parts.store.list()) this.#run(subscription);
  }

  of(keyId: string): readonly StoredSubscription[] {
    const nowMs = this.#parts.clock.now();
    return this.#parts.store.list().filter((one) => one.keyId === keyId && one.expiresMs > nowMs);
  }

  async subscribe(
    keyId: string,
    request: SubscriptionRequest,
    maxOfKey: number,
    mayPost: () => boolean,
  ): Promise<SubscriptionGrant> {
    if (this.#closing !== undefined) throw problem('shutting_down');
    const id = subscriptionId(keyId, request);
    const known = this.#known(id);
    if (known !== undefined) return this.#refresh(known, request);
    this.#assertRoom(keyId, maxOfKey);
    const { url, secret } = request;
    const start = await this.#startOf(keyId, request);
    const assertAllowed = (): void => {
      if (this.#parts.callerOf(keyId) === undefined) throw problem('limited_key_refused');
      if (!mayPost()) throw problem('webhook_not_allowed');
    };
    // The owner may have changed or revoked the key since it was asked.
    assertAllowed();
    // If the key has another subscription with this URL, the receiver has already confirmed the URL.
    if (!this.of(keyId).some((one) => one.url === url)) {
      await this.#parts.poster.verify({ id, keyId, url, secret, previousSecret: null });
    }
    // While the receiver answered, that may have happened too, or another request may have added the subscription.
    assertAllowed();
    const meanwhile = this.#known(id);
    if (meanwhile !== undefined) return this.#refresh(meanwhile, request);
    this.#assertRoom(keyId, maxOfKey);
    return this.#add(id, keyId, request, start);
  }

  async unsubscribe(keyId: string, target: SubscriptionTarget): Promise<boolean> {
    const id = subscriptionId(keyId, target);
    const isKnown = this.#known(id) !== undefined;
    await this.#drop(id);
    return isKnown;
  }

  remove(id: string): void {
    this.#leave(this.#drop(id));
  }

  terminate(keyId: string): void {
    const { poster } = this.#parts;
    const error = { code: EVENT_ERRORS.forbidden, message: 'The key of this subscription is no longer valid.' };
    for (const subscription of this.#parts.store.list().filter((one) => one.keyId === keyId)) {
      const ended = this.#drop(subscription.id);
      this.#leave(ended.then(() => poster.control(subscription, { type: 'terminated', error }).result));
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelLook?.();
    await Promise.all([...this.#workers.values()].map((worker) => worker.finish()));
    await Promise.allSettled([...this.#farewells]);
    this.#parts.poster.close();
  }

  #startOf(keyId: string, { cursor, maxAgeMs }: SubscriptionRequest): ReturnType<typeof replayStart> {
    const { clock, callerOf } = this.#parts;
    const caller = callerOf(keyId);
    if (caller === undefined) throw problem('limited_key_refused');
    return replayStart(caller.feed, cursor, maxAgeMs === undefined ? undefined : clock.now() - maxAgeMs);
  }

  #add(
    id: string,
    keyId: string,
    request: SubscriptionRequest,
    { offset, truncated }: Awaited<ReturnType<typeof replayStart>>,
  ): SubscriptionGrant {
    const { name, arguments: asked, url, secret, ttlMs } = request;
    const expiresMs = this.#expiryOf(ttlMs);
    const target = { id, keyId, name, arguments: asked, url };
    const subscription = { ...target, secret, previousSecret: null, expiresMs, health: NEW_HEALTH, offset };
    this.#parts.store.add(subscription);
    this.#run(subscription);
    return { id, refreshBeforeMs: expiresMs, cursor: this.#textOf(offset), truncated, health: undefined };
  }

  /** Refreshes a subscription. Keeps its position, because the client's cursor is at that position or before it. */
  #refresh(known: StoredSubscription, { secret, ttlMs }: SubscriptionRequest): SubscriptionGrant {
    const { store, clock } = this.#parts;
    const worker = this.#workers.get(known.id);
    worker?.flush();
    const before = store.get(known.id) ?? known;
    const isRotated = secret !== before.secret;
    const expiresMs = this.#expiryOf(ttlMs);
    const subscription: StoredSubscription = {
      ...before,
      secret,
      previousSecret: isRotated ? { secret: before.secret, untilMs: clock.now() + ROTATION_MS } : before.previousSecret,
      expiresMs,
      health: { ...before.health, hasSkipped: false, hasGap: false },
    };
    store.update(subscription);
    worker?.update(subscription);
    this.#look();
    return {
      id: known.id,
      refreshBeforeMs: expiresMs,
      cursor: this.#textOf(worker?.offset ?? before.offset),
      truncated: before.health.hasSkipped || before.health.hasGap,
      health: before.health,
    };
  }

  #known(id: string): StoredSubscription | undefined {
    const stored = this.#parts.store.get(id);
    return stored !== undefined && stored.expiresMs > this.#parts.clock.now() ? stored : undefined;
  }

  #expiryOf(ttlMs: number | null | undefined): number {
    // Rounded down to whole seconds, because the answer states the expiry without fractions.
    const ms = Math.min(Math.max(ttlMs ?? DAY_MS, MINUTE_MS), DAY_MS);
    return Math.floor((this.#parts.clock.now() + ms) / 1000) * 1000;
  }

  #assertRoom(keyId: string, maxOfKey: number): void {
    this.#removeLapsed();
    if (this.of(keyId).length >= maxOfKey) throw problem('too_many_webhooks', { max: maxOfKey });
    if (this.#parts.store.list().length < MAX_SUBSCRIPTIONS) return;
    throw problem('too_many_webhooks', { max: MAX_SUBSCRIPTIONS });
  }

  #run(subscription: StoredSubscription): void {
    this.#workers.set(subscription.id, new SubscriptionWorker(subscription, this.#parts));
    this.#look();
  }

  #removeLapsed(): void {
    const nowMs = this.#parts.clock.now();
    for (const { id } of this.#parts.store.list().filter(({ expiresMs }) => expiresMs <= nowMs)) this.remove(id);
  }

  /** Waits until the next subscription lapses, then removes all that have lapsed. */
  #look(): void {
    this.#cancelLook?.();
    const { store, clock } = this.#parts;
    const next = Math.min(...store.list().map(({ expiresMs }) => expiresMs));
    if (next === Number.POSITIVE_INFINITY || this.#closing !== undefined) return;
    this.#cancelLook = clock.after(Math.min(Math.max(next - clock.now(), 0), LOOK_EVERY_MS), () => {
      this.#removeLapsed();
      this.#look();
    });
  }

  /**
   * Ends a subscription. Removes the record before waiting for the worker, so that a crash meanwhile does not bring the
   * subscription back.
   */
  async #drop(id: string): Promise<void> {
    const worker = this.#workers.get(id);
    this.#workers.delete(id);
    this.#parts.store.remove(id);
    await worker?.stop();
  }

  /** Makes `close` wait for this promise. */
  #leave(ended: Promise<unknown>): void {
    this.#farewells.add(ended);
    void ended.catch(() => {}).finally(() => this.#farewells.delete(ended));
  }

  #textOf(offset: Offset): string {
    return this.#parts.feed.offsetText(offset, undefined);
  }
}

/**
 * Derives a subscription's id from its key and target, so that a client can refresh or end the subscription without
 * storing the id.
 */
function subscriptionId(keyId: string, { name, arguments: asked, url }: SubscriptionTarget): string {
  const sorted = Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const text = JSON.stringify([keyId, url, name, sorted]);
  return `sub_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
