import { MAC_ID } from '../../domain/fleet.ts';

/** Two Macs of one Apple account, which hubs show as one under the id of the first (decision N6). */
export interface Pair {
  readonly mac: string;
  readonly standby: string;
  /** When it was made, Unix milliseconds. */
  readonly sinceMs: number;
}

const PREFIX = 'pair_';

/** The key of a pair in the bucket `macs`, which only the operator may write. No Mac id has an underscore. */
export function pairKey(mac: string): string {
  return `${PREFIX}${mac}`;
}

/** The first Mac of the pair that a key belongs to; undefined for any other key. */
export function macOfPairKey(key: string): string | undefined {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
}

export function encodePair({ standby, sinceMs }: Pair): Uint8Array {
  return Buffer.from(JSON.stringify({ standby, sinceMs }));
}

/** Returns undefined for anything that `encodePair` did not write. */
export function decodePair(mac: string, bytes: Uint8Array): Pair | undefined {
  try {
    const { standby, sinceMs } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Pair>;
    const isFine = typeof standby === 'string' && typeof sinceMs === 'number' && Number.isSafeInteger(sinceMs);
    if (isFine && MAC_ID.test(mac) && MAC_ID.test(standby) && mac !== standby) return { mac, standby, sinceMs };
  } catch {
    // Not a pair.
  }
  return undefined;
}
