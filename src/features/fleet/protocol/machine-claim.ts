import { createHash } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import { PermissionViolationError } from '@nats-io/nats-core';
import { isConflict } from './compare-and-set.ts';
import type { FleetConnection } from './connection.ts';
import { type Envelope, pack, unpackIf } from './envelope.ts';
import { type ClaimNames, claimNames } from './fleet-records-schema.ts';
import { BUCKETS, claimKey } from './layout.ts';

const PREFIX = claimKey('');
const CONTEXT = ['machine'] as const;
const REQUEST_MS = 2000;
const MAX_ATTEMPTS = 5;
/** A refused machine asks every 30 s. It counts as gone after this long without a sign of life. */
export const REFUSED_MS = 90_000;

/** The machine to which a Mac's identity belongs: the first one that connected with its key. */
export interface MachineClaim {
  /**
   * Public half of the nkey with which the machine connected. A claim with an earlier key of the Mac is void, because
   * the broker admits only the Mac's newest key.
   */
  readonly key: string;
  /** Hash of the machine's id. */
  readonly machine: string;
  /**
   * Names of the holding machine and of a refused one. Undefined if this process lacks the content key that sealed
   * them.
   */
  readonly names: ClaimNames | undefined;
}

/** Returns the Mac whose claim has this key in the bucket `macs`; undefined if `key` is not the key of a claim. */
export function macOfClaimKey(key: string): string | undefined {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
}

/** Returns undefined unless `encodeClaim` wrote the bytes. */
export function decodeClaim(envelope: Envelope, mac: string, bytes: Uint8Array): MachineClaim | undefined {
  try {
    const { key, machine, sealed } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    if (typeof key !== 'string' || typeof machine !== 'string' || typeof sealed !== 'string') return undefined;
    return { key, machine, names: unpackIf(claimNames, envelope, mac, CONTEXT, Buffer.from(sealed, 'base64')) };
  } catch {
    return undefined;
  }
}

function encodeClaim(envelope: Envelope, mac: string, { key, machine, names }: MachineClaim): Uint8Array {
  const sealed = Buffer.from(pack(envelope, mac, CONTEXT, names)).toString('base64');
  return Buffer.from(JSON.stringify({ key, machine, sealed }));
}

export interface Claimant {
  readonly mac: string;
  /** The connection's public key. */
  readonly key: string;
  /** Hash of this machine's id. */
  readonly machine: string;
  readonly name: string;
  readonly nowMs: number;
  /** True if another agent acts under this Mac id, so that this machine may not claim the identity. */
  readonly isAnswered: boolean;
}

/**
 * Claims a Mac's identity for this machine by compare-and-set, unless `isAnswered`. Returns undefined if no other
 * machine with the same key has claimed the identity. Otherwise records this machine in the other machine's claim as
 * refused, and returns that claim. Throws what the NATS client throws.
 */
export async function claimIdentity(
  connection: FleetConnection,
  envelope: Envelope,
  { mac, key, machine, name, nowMs, isAnswered }: Claimant,
): Promise<MachineClaim | undefined> {
  const subject = `$KV.${BUCKETS.macs}.${claimKey(mac)}`;
  const jsm = await jetstreamManager(connection.nc, { checkAPI: false, timeout: REQUEST_MS });
  for (let attempt = 1; ; attempt += 1) {
    const stored = await jsm.direct.getMessage(`KV_${BUCKETS.macs}`, { last_by_subj: subject });
    const found = stored === null ? undefined : decodeClaim(envelope, mac, stored.data);
    const present = found?.key === key ? found : undefined;
    const isOwn = present === undefined || present.machine === machine;
    if (isOwn && isAnswered) return undefined;
    const { holder, refused } = present?.names ?? {};
    // A process that cannot read the claim's names cannot add this machine to them.
    if (!isOwn && holder === undefined) return present;
    const own = { name, sinceMs: nowMs };
    const names = isOwn
      ? { holder: { name, sinceMs: holder?.sinceMs ?? nowMs } }
      : { holder: holder ?? own, refused: refused?.name === name ? refused : own };
    try {
      const next = encodeClaim(envelope, mac, { key, machine: present?.machine ?? machine, names });
      await connection.js.publish(subject, next, {
        expect: { lastSubjectSequence: stored?.seq ?? 0 },
        timeout: REQUEST_MS,
      });
    } catch (error) {
      if (isConflict(error) && attempt < MAX_ATTEMPTS) continue;
      // An existing claim is valid even if its names could not be updated.
      if (present === undefined) throw error;
    }
    return isOwn ? undefined : present;
  }
}

/** Returns a hash of the machine's id that differs for each Mac id. */
export function machineHash(mac: string, machineId: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['postern machine', mac, machineId]))
    .digest('hex')
    .slice(0, 32);
}

/** Reports whether a request failed because the broker's users.conf forbids it. */
export function isForbidden(error: unknown): boolean {
  return error instanceof PermissionViolationError || (error as Error).cause instanceof PermissionViolationError;
}
