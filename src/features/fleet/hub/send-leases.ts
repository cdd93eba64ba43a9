import type { KV } from '@nats-io/kv';
import { isAppError } from '../../../core/model/errors.ts';
import { problem } from '../../../core/model/problems.ts';
import { compareAndSet } from '../protocol/compare-and-set.ts';
import { BUCKETS } from '../protocol/layout.ts';
import type { HubParts } from './hub-parts.ts';
import { withTimeLimit } from './time-limit.ts';

const TIME_LIMIT_MS = 5000;
const REFRESH_MS = 1000;
const ATTEMPTS = 3;

/**
 * The lease of each pair. It is an entry of the bucket `webhooks` and names the Mac that sends for the pair. A hub
 * moves the lease by compare-and-set once the named Mac no longer answers (decision N6).
 */
export class SendLeases {
  readonly #parts: HubParts;
  readonly #holders = new Map<string, string>();

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /**
   * Returns the Mac that held a pair's lease when the lease was last read. Before the first read, returns the pair's
   * first Mac.
   */
  lastHolder(member: string): string {
    return this.#holders.get(member) ?? member;
  }

  /** Reads the lease of each pair. Never rejects: if a lease cannot be read, `lastHolder` keeps its previous answer. */
  async refresh(): Promise<void> {
    const { connection, pairs, clock, log } = this.#parts;
    const members = pairs.list().map(({ mac }) => mac);
    if (members.length === 0 || !connection.isConnected) return;
    try {
      const bucket = await withTimeLimit(connection.kv(BUCKETS.webhooks), clock, REFRESH_MS);
      await withTimeLimit(Promise.all(members.map((member) => this.#read(bucket, member))), clock, REFRESH_MS);
    } catch (error) {
      log.debug('the leases that name the sending Macs of pairs cannot be read', { error });
    }
  }

  /**
   * Returns the Mac of a pair to send by: the one that knows the Idempotency-Key, else the holder of the lease. Throws
   * `mac_away` if neither Mac answers, and `broker_away` if the lease cannot be read or moved.
   */
  async holder(member: string, idempotencyKey = ''): Promise<string> {
    const { connection, clock, log } = this.#parts;
    try {
      const bucket = await withTimeLimit(connection.kv(BUCKETS.webhooks), clock, TIME_LIMIT_MS);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const mac = await this.#attempt(member, idempotencyKey, bucket);
        if (mac !== undefined) return mac;
      }
    } catch (error) {
      if (isAppError(error)) throw error;
      log.warn('the sending Mac of a pair cannot be chosen, because the lease cannot be read or written', {
        member,
        reason: (error as Error).message,
      });
    }
    throw problem('broker_away');
  }

  /** Returns the revision and the holder of a lease; no holder before the first send. */
  async #read(bucket: KV, member: string): Promise<{ readonly revision: number; readonly named: string | undefined }> {
    const entry = await bucket.get(leaseKey(member));
    const named = entry?.operation === 'PUT' ? new TextDecoder().decode(entry.value) : undefined;
    if (named !== undefined) this.#holders.set(member, named);
    return { revision: entry?.revision ?? 0, named };
  }

  /**
   * Chooses the Mac to send by, and moves the lease to that Mac. The lease does not move if the Mac was chosen because
   * it knows the Idempotency-Key. Returns undefined if another hub has just moved the lease.
   */
  async #attempt(member: string, idempotencyKey: string, bucket: KV): Promise<string | undefined> {
    const { macs, clock, log } = this.#parts;
    const { revision, named } = await withTimeLimit(this.#read(bucket, member), clock, TIME_LIMIT_MS);
    const rank = (mac: string): number => (this.#isHealthy(mac) ? 0 : 2) + (mac === (named ?? member) ? 0 : 1);
    const asked = macs.macsOf(member).filter((known) => !macs.isAway(known));
    const answers = await Promise.all(
      asked.map(async ({ mac }) => ({ mac, isUsed: await this.#ask(mac, idempotencyKey) })),
    );
    // Chooses the Mac that has used the Idempotency-Key, because the other Mac would send the message again. A Mac
    // knows the keys it has used even if the broker has lost them.
    const user = answers.find(({ isUsed }) => isUsed === true);
    if (user !== undefined) return user.mac;
    const [best] = answers
      .flatMap(({ mac, isUsed }) => (isUsed === undefined ? [] : [mac]))
      .sort((one, other) => rank(one) - rank(other));
    if (best === undefined) throw problem('mac_away', { mac: member });
    if (best === named) return best;
    if ((await compareAndSet(bucket, leaseKey(member), Buffer.from(best), revision)) === undefined) return undefined;
    this.#holders.set(member, best);
    log.info('a Mac of a pair now holds the lease and sends for the pair', { member, mac: best });
    return best;
  }

  #isHealthy(mac: string): boolean {
    return this.#parts.macs.get(mac)?.presence?.health.connected === true;
  }

  /** Reports whether a Mac knows the Idempotency-Key. Returns undefined if the Mac does not answer. */
  async #ask(mac: string, idempotencyKey: string): Promise<boolean | undefined> {
    try {
      return await this.#parts.reads.ask(mac, 'knowsKey', { key: idempotencyKey });
    } catch (error) {
      if (!isAppError(error) || error.code === 'broker_away') throw error;
      return undefined;
    }
  }
}

function leaseKey(member: string): string {
  return `sends_${member}`;
}
