import { createHash } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { FleetConnection } from '../protocol/connection.ts';

/** Who sends under an Idempotency-Key. */
export interface SendClaim {
  readonly machine: string;
  /** True if this call made the claim: nobody was asked before. */
  readonly isNew: boolean;
  readonly revision: number;
}

/**
 * The machine that was asked to send under an Idempotency-Key, in a bucket of the broker: one key is one machine's, at
 * whichever hub it is repeated.
 */
export class Claims {
  readonly #connection: FleetConnection;

  constructor(connection: FleetConnection) {
    this.#connection = connection;
  }

  /**
   * Claims the key for `machine`, unless a machine has it. Whoever finds a claim writes it again: from then on, the hub
   * that made it cannot move it, because that machine is now asked twice.
   */
  async claim(key: string, machine: string): Promise<SendClaim> {
    const bucket = await this.#connection.kv('claims');
    for (;;) {
      const found = await bucket.get(key);
      const owner = found?.operation === 'PUT' ? found.string() : undefined;
      try {
        if (found === null || owner === undefined) {
          return { machine, isNew: true, revision: await bucket.create(key, machine) };
        }
        return { machine: owner, isNew: false, revision: await bucket.update(key, owner, found.revision) };
      } catch (error) {
        if (!isTakenMeanwhile(error)) throw error;
      }
    }
  }

  /** Gives a claim that this hub has made to another machine; to none if `to` is undefined. False if it is too late. */
  async move(key: string, { revision }: SendClaim, to: string | undefined): Promise<boolean> {
    const bucket = await this.#connection.kv('claims');
    try {
      if (to === undefined) await bucket.delete(key, { previousSeq: revision });
      else await bucket.update(key, to, revision);
      return true;
    } catch (error) {
      if (isTakenMeanwhile(error)) return false;
      throw error;
    }
  }
}

/** Whether another hub changed the entry first. */
export function isTakenMeanwhile(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === 10071;
}

/** Returns the bucket's key for an Idempotency-Key, which may contain anything. Each key of the Mac has its own. */
export function claimKey(member: string, asker: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([member, asker, key]))
    .digest('hex');
}
