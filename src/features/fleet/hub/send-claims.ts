import type { KV } from '@nats-io/kv';
import { isAppError } from '../../../core/model/errors.ts';
import { MAC_ID } from '../../../core/model/fleet.ts';
import { problem } from '../../../core/model/problems.ts';
import { isFull } from '../protocol/compare-and-set.ts';
import { pack, unpack } from '../protocol/envelope.ts';
import { type SendOutcome, sendClaim } from '../protocol/fleet-records-schema.ts';
import { BUCKETS, outcomeKey, SEND_CLAIMS } from '../protocol/layout.ts';
import { keyHash, unpackOutcome } from '../protocol/sends.ts';
import type { HubParts } from './hub-parts.ts';
import { withTimeLimit } from './time-limit.ts';

const TIME_LIMIT_MS = 5000;

/** The first use of an Idempotency-Key at any hub. */
export interface SendClaim {
  readonly mac: string;
  /** The recipient as the Mac names it. */
  readonly recipient: string;
  /** `hashOfRequest` of the client's request. */
  readonly askedHash: string;
}

export type SendClaimsParts = Pick<HubParts, 'connection' | 'envelope' | 'clock'>;

/** The Idempotency-Keys used at any hub and the outcomes that Macs stored. Both are kept for 24 hours. */
export class SendClaims {
  readonly #parts: SendClaimsParts;

  constructor(parts: SendClaimsParts) {
    this.#parts = parts;
  }

  async find(key: string): Promise<SendClaim | undefined> {
    const entry = await this.#get(`${SEND_CLAIMS}.${keyHash(key)}`);
    if (entry === undefined) return undefined;
    const end = entry.indexOf(0);
    const mac = Buffer.from(entry.subarray(0, Math.max(0, end))).toString('latin1');
    if (!MAC_ID.test(mac)) throw problem('mac_answer_invalid');
    const claim = unpack(sendClaim, this.#parts.envelope, mac, ['claim', keyHash(key)], entry.subarray(end + 1));
    return { mac, ...claim };
  }

  /** Claims a key. Returns the existing claim if another hub was faster. */
  async claim(key: string, { mac, ...claim }: SendClaim): Promise<SendClaim> {
    const packed = pack(this.#parts.envelope, mac, ['claim', keyHash(key)], claim);
    const value = Buffer.concat([Buffer.from(`${mac}\0`), packed]);
    try {
      await this.#ask((bucket) => bucket.create(`${SEND_CLAIMS}.${keyHash(key)}`, value));
      return { mac, ...claim };
    } catch (error) {
      const earlier = await this.find(key);
      if (earlier === undefined) throw error;
      return earlier;
    }
  }

  /** Returns the outcome that a Mac stored for a key; undefined if there is none. */
  async outcome(mac: string, key: string): Promise<SendOutcome | undefined> {
    const entry = await this.#get(outcomeKey(mac, keyHash(key)));
    return entry && unpackOutcome(this.#parts.envelope, mac, key, entry);
  }

  async #get(name: string): Promise<Uint8Array | undefined> {
    const entry = await this.#ask((bucket) => bucket.get(name));
    return entry === null || entry.operation !== 'PUT' ? undefined : entry.value;
  }

  /**
   * Sends a request to the bucket. If it fails for any reason, throws `broker_full` or `broker_away`. Both say that
   * nothing was sent, because hubs queue a send only after these requests have succeeded.
   */
  async #ask<Value>(request: (bucket: KV) => Promise<Value>): Promise<Value> {
    const { connection, clock } = this.#parts;
    if (!connection.isConnected) throw problem('broker_away');
    try {
      const bucket = await withTimeLimit(connection.kv(BUCKETS.outcomes), clock, TIME_LIMIT_MS);
      return await withTimeLimit(request(bucket), clock, TIME_LIMIT_MS);
    } catch (error) {
      throw isAppError(error) ? error : problem(isFull(error) ? 'broker_full' : 'broker_away');
    }
  }
}
