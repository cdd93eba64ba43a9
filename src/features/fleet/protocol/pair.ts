import { MAC_ID } from '../../../core/model/fleet.ts';
import { parsedBytes } from './envelope.ts';
import { storedPair } from './fleet-records-schema.ts';

/** Two Macs of one Apple account, shown as one under the first one's id (decision N6). */
export interface Pair {
  readonly mac: string;
  readonly standby: string;
  /** When the operator made the pair, Unix milliseconds. */
  readonly sinceMs: number;
}

const PREFIX = 'pair_';

/**
 * Returns a pair's key in the bucket `macs`. Only the operator may write this key. It is never the key of a Mac's
 * presence, because no Mac id has an underscore.
 */
export function pairKey(mac: string): string {
  return `${PREFIX}${mac}`;
}

/** Returns the first Mac of the pair with this key in `macs`; undefined if `key` is not the key of a pair. */
export function macOfPairKey(key: string): string | undefined {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
}

export function encodePair({ standby, sinceMs }: Pair): Uint8Array {
  return Buffer.from(JSON.stringify({ standby, sinceMs }));
}

/** Returns undefined unless `encodePair` wrote the bytes. */
export function decodePair(mac: string, bytes: Uint8Array): Pair | undefined {
  const { data } = storedPair.safeParse(parsedBytes(bytes));
  return data !== undefined && MAC_ID.test(mac) && mac !== data.standby ? { mac, ...data } : undefined;
}
