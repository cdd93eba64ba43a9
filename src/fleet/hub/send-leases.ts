import type { KV } from '@nats-io/kv';
import { isAppError } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import { compareAndSet } from '../protocol/compare-and-set.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { BUCKETS } from '../protocol/layout.ts';
import type { MacReads } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import { within } from './within.ts';

const TIME_LIMIT_MS = 5000;
const ATTEMPTS = 3;

export interface SendLeasesParts {
  readonly connection: FleetConnection;
  readonly macs: Macs;
  readonly reads: Pick<MacReads, 'knowsKey'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The lease of each pair, which names the Mac that sends, for all hubs: an entry of a bucket that a hub moves by
 * compare-and-set when the holder no longer answers (decision N6).
 */
export class SendLeases {
  readonly #parts: SendLeasesParts;

  constructor(parts: SendLeasesParts) {
    this.#parts = parts;
  }

  /**
   * The Mac of this pair to send by: the one that knows the Idempotency-Key, else the holder of the lease. Throws
   * `mac_away` if none answers, and `broker_away`.
   */
  async holder(member: string, idempotencyKey = ''): Promise<string> {
    const { connection, clock, log } = this.#parts;
    try {
      const bucket = await within(connection.kv(BUCKETS.webhooks), clock, TIME_LIMIT_MS);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const mac = await this.#attempt(member, idempotencyKey, bucket);
        if (mac !== undefined) return mac;
      }
    } catch (error) {
      if (isAppError(error)) throw error;
      log.warn('the lease of a pair cannot be used', { member, reason: (error as Error).message });
    }
    throw problem('broker_away');
  }

  /** Undefined if another hub has moved the lease meanwhile. */
  async #attempt(member: string, idempotencyKey: string, bucket: KV): Promise<string | undefined> {
    const { macs, clock, log } = this.#parts;
    const key = `sends_${member}`;
    const entry = await within(bucket.get(key), clock, TIME_LIMIT_MS);
    const named = entry?.operation === 'PUT' ? new TextDecoder().decode(entry.value) : member;
    const isBetter = (mac: string): number => (this.#isHealthy(mac) ? 0 : 2) + (mac === named ? 0 : 1);
    const asked = macs.macsOf(member).filter((known) => !macs.isAway(known));
    const answers = await Promise.all(
      asked.map(async ({ mac }) => ({ mac, isUsed: await this.#ask(mac, idempotencyKey) })),
    );
    // A broker that forgot which Mac a key belongs to must not make the other one send it again.
    const user = answers.find(({ isUsed }) => isUsed === true);
    if (user !== undefined) return user.mac;
    const [best] = answers
      .flatMap(({ mac, isUsed }) => (isUsed === undefined ? [] : [mac]))
      .sort((one, other) => isBetter(one) - isBetter(other));
    if (best === undefined) throw problem('mac_away', { mac: member });
    if (best === named && entry?.operation === 'PUT') return best;
    const revision = await compareAndSet(bucket, key, Buffer.from(best), entry?.revision ?? 0);
    if (revision === undefined) return undefined;
    log.info('a Mac of a pair sends from now on', { member, mac: best });
    return best;
  }

  #isHealthy(mac: string): boolean {
    return this.#parts.macs.get(mac)?.presence?.health.connected === true;
  }

  /** Undefined if the Mac does not answer. */
  async #ask(mac: string, idempotencyKey: string): Promise<boolean | undefined> {
    try {
      return await this.#parts.reads.knowsKey(mac, idempotencyKey);
    } catch (error) {
      if (!isAppError(error) || error.code === 'broker_away') throw error;
      return undefined;
    }
  }
}
