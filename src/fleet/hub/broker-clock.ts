import type { KV } from '@nats-io/kv';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { BUCKETS } from '../protocol/layout.ts';
import { within } from './within.ts';

const KEY = 'clock';
const MEASURE_EVERY_MS = 10_000;
const LIMIT_MS = 5000;

export interface BrokerClockParts {
  readonly connection: FleetConnection;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The broker's time, which every hub shares. Servers before 2.10 tell it only as the timestamp of a stored message, so
 * it is measured by storing one.
 */
export class BrokerClock {
  readonly #parts: BrokerClockParts;
  readonly #cancelConnect: Cancel;
  /** How far the broker is ahead; undefined before the first measurement. */
  #aheadMs: number | undefined;
  #cancelTimer: Cancel | undefined;

  constructor(parts: BrokerClockParts) {
    this.#parts = parts;
    this.#cancelConnect = parts.connection.onConnect(() => this.#measureAgain());
  }

  /** How far the broker's clock is ahead of this machine's; undefined before the first measurement. */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  /** The broker's time in Unix milliseconds: this machine's before the first measurement. */
  now(): number {
    return this.#parts.clock.now() + (this.#aheadMs ?? 0);
  }

  /** The broker's time, measured now. Rejects if it cannot be. */
  async measured(): Promise<number> {
    const { connection, clock } = this.#parts;
    const bucket = await within(connection.kv(BUCKETS.webhooks), clock, LIMIT_MS);
    this.#aheadMs = await within(aheadOf(bucket, clock), clock, LIMIT_MS);
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

/** How far the broker's clock is ahead of `clock`, in milliseconds. Exact to half of the time its answer takes. */
export async function aheadOf(bucket: KV, clock: Pick<Clock, 'now'>): Promise<number> {
  const askedMs = clock.now();
  const revision = await bucket.put(KEY, '');
  const answeredMs = clock.now();
  const stored = await bucket.get(KEY, { revision });
  if (stored === null) throw new Error('another hub measures at the same time');
  return stored.created.getTime() - (askedMs + answeredMs) / 2;
}
