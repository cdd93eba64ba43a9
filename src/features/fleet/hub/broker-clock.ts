import type { KV } from '@nats-io/kv';
import type { Cancel, Clock } from '../../../core/model/ports/host-ports.ts';
import { BUCKETS } from '../protocol/layout.ts';
import type { HubParts } from './hub-parts.ts';
import { withTimeLimit } from './time-limit.ts';

const KEY = 'clock';
const MEASURE_EVERY_MS = 10_000;
const LIMIT_MS = 5000;

export type BrokerClockParts = Pick<HubParts, 'connection' | 'clock' | 'log'>;

/**
 * Measures the broker's time, which all hubs share. Stores a message at the broker and reads the message's timestamp,
 * because servers before 2.10 report their time in no other way.
 */
export class BrokerClock {
  readonly #parts: BrokerClockParts;
  readonly #cancelConnect: Cancel;
  #aheadMs: number | undefined;
  #cancelTimer: Cancel | undefined;

  constructor(parts: BrokerClockParts) {
    this.#parts = parts;
    this.#cancelConnect = parts.connection.onConnect(() => this.#measureAgain());
  }

  /** Milliseconds by which the broker's clock is ahead of this machine's; undefined before the first measurement. */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  /** The broker's time in Unix milliseconds; before the first measurement, this machine's. */
  now(): number {
    return this.#parts.clock.now() + (this.#aheadMs ?? 0);
  }

  /** Measures the broker's time and returns it. Rejects if the broker does not answer. */
  async measured(): Promise<number> {
    const { connection, clock } = this.#parts;
    const bucket = await withTimeLimit(connection.kv(BUCKETS.webhooks), clock, LIMIT_MS);
    this.#aheadMs = await withTimeLimit(aheadOf(bucket, clock), clock, LIMIT_MS);
    return this.now();
  }

  close(): void {
    this.#cancelConnect();
    this.#cancelTimer?.();
  }

  #measureAgain(): void {
    const { connection, clock, log } = this.#parts;
    this.#cancelTimer?.();
    this.#cancelTimer = clock.after(MEASURE_EVERY_MS, () => this.#measureAgain());
    if (!connection.isConnected) return;
    this.measured().catch((error: unknown) => log.debug('the broker’s time cannot be measured', { error }));
  }
}

/** Returns how many milliseconds the broker's clock is ahead of `clock`, give or take half of the round trip. */
async function aheadOf(bucket: KV, clock: Clock): Promise<number> {
  const askedMs = clock.now();
  const revision = await bucket.put(KEY, '');
  const answeredMs = clock.now();
  const stored = await bucket.get(KEY, { revision });
  if (stored === null) throw new Error('another hub measures at the same time');
  return stored.created.getTime() - (askedMs + answeredMs) / 2;
}
