import { createHash } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import { type KV, type KvEntry, Kvm } from '@nats-io/kv';
import type { FleetConnection } from '../protocol/connection.ts';
import { type BUCKETS, MACHINE } from '../protocol/subjects.ts';

/** Opens a bucket that `postern fleet` has created. */
export function bucketOf({ js }: FleetConnection, name: (typeof BUCKETS)[number]): Promise<KV> {
  return new Kvm(js).open(name);
}

/** The machine that was asked to send under an Idempotency-Key, in a bucket of the broker. */
interface SendClaim {
  readonly machine: string;
  /** True if this call made the claim: nobody was asked before. */
  readonly isNew: boolean;
  readonly revision: number;
}

/**
 * Claims the Idempotency-Key `key` for `machine`, unless a machine has it: one key is one machine's, at whichever hub
 * it is repeated. A hub that finds a claim writes it again: from then on, the hub that made it cannot move it, because
 * that machine is now asked twice.
 */
export async function claimSend(connection: FleetConnection, key: string, machine: string): Promise<SendClaim> {
  const bucket = await bucketOf(connection, 'claims');
  for (;;) {
    const found = await bucket.get(key);
    const owner = machineIn(found);
    try {
      if (found === null || owner === undefined) {
        const isEntry = found?.operation === 'PUT';
        const claimed = isEntry ? bucket.update(key, machine, found.revision) : bucket.create(key, machine);
        return { machine, isNew: true, revision: await claimed };
      }
      return { machine: owner, isNew: false, revision: await bucket.update(key, owner, found.revision) };
    } catch (error) {
      if (!isTakenMeanwhile(error)) throw error;
    }
  }
}

/** Gives a claim that this hub has made to another machine; to none if `to` is undefined. False if it is too late. */
export async function moveClaim(
  connection: FleetConnection,
  key: string,
  { revision }: SendClaim,
  to: string | undefined,
): Promise<boolean> {
  const bucket = await bucketOf(connection, 'claims');
  const moved = to === undefined ? bucket.delete(key, { previousSeq: revision }) : bucket.update(key, to, revision);
  return unlessTaken(moved);
}

/** Resolves with whether a change was made; false if another hub changed the entry first. */
export async function unlessTaken(changed: Promise<unknown>): Promise<boolean> {
  try {
    await changed;
    return true;
  } catch (error) {
    if (isTakenMeanwhile(error)) return false;
    throw error;
  }
}

/** Reports whether another hub changed the entry first. */
function isTakenMeanwhile(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === 10071;
}

/**
 * Returns the machine whose own ids and MCP clients mean when they name none: the first of `known`, which this hub has
 * heard. One that any hub took for the first within a day stays it for a hub that has started since and not heard it.
 */
export async function firstMachine(
  connection: FleetConnection,
  member: string,
  known: readonly [string, ...string[]],
): Promise<string> {
  const bucket = await bucketOf(connection, 'claims');
  const key = claimKey(member);
  const claimed = machineIn(await bucket.get(key));
  if (claimed !== undefined && !known.includes(claimed)) return claimed;
  await bucket.put(key, known[0]);
  return known[0];
}

/**
 * Returns the machine that an entry names; undefined if there is none, and for an answer of the broker, which a Mac can
 * make it write anywhere.
 */
function machineIn(entry: KvEntry | null): string | undefined {
  const text = entry?.operation === 'PUT' ? entry.string() : '';
  return MACHINE.test(text) ? text : undefined;
}

/** Returns the bucket's key for an Idempotency-Key, which may contain anything: each key of the Mac has its own. */
export function claimKey(member: string, ...askerAndKey: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([member, ...askerAndKey]))
    .digest('hex');
}
