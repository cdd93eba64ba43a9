import { MAC_ID } from '../../domain/fleet.ts';
import { storedPair } from '../../schema/fleet-records-schema.ts';
import { parsedBytes } from './envelope.ts';

/** Two Macs of one Apple account, shown as one under the first one's id (decision N6). */
export interface Pair {
  readonly mac: string;
  readonly standby: string;
  /** When the operator made it, Unix milliseconds. */
  readonly sinceMs: number;
}

const PREFIX = 'pair_';

/** Returns a pair's key in the bucket `macs`, which only the operator may write. No Mac id has an underscore. */
export function pairKey(mac: string): string {
  return `${PREFIX}${mac}`;
}

/** Returns the first Mac of the pair at a key; undefined for any other key. */
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
