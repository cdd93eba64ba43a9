import type { Manager } from './connect-once.ts';
import { type Envelope, pack, unpack, unpackIf } from './envelope.ts';
import { type MacPresence, macPresence } from './fleet-records-schema.ts';
import { BUCKETS } from './layout.ts';

const CONTEXT = ['presence'] as const;
/** Largest tolerated difference from the broker's clock. Beyond it, deadlines of sends become unreliable. */
const MAX_CLOCK_MS = 5000;

/**
 * Returns how many milliseconds a Mac's clock was ahead of the broker's when the Mac last wrote its presence. Returns
 * undefined if there is no presence, or none that can be read.
 */
export async function storedClockAhead(jsm: Manager, envelope: Envelope, mac: string): Promise<number | undefined> {
  try {
    const stored = await jsm.direct.getMessage(`KV_${BUCKETS.macs}`, { last_by_subj: `$KV.${BUCKETS.macs}.${mac}` });
    return stored === null ? undefined : unpackPresence(envelope, mac, stored.data).atMs - stored.time.getTime();
  } catch {
    return undefined;
  }
}

/** Describes how a clock differs from the broker's; undefined up to a difference of 5 s. */
export function clockTrouble(aheadMs: number): string | undefined {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return Math.abs(aheadMs) > MAX_CLOCK_MS
    ? `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the broker's`
    : undefined;
}

export function packPresence(envelope: Envelope, mac: string, presence: MacPresence): Uint8Array {
  return pack(envelope, mac, CONTEXT, presence);
}

/** Like `unpackPresence`, but returns undefined instead of throwing. */
export function readPresence(envelope: Envelope, mac: string, packed: Uint8Array): MacPresence | undefined {
  return unpackIf(macPresence, envelope, mac, CONTEXT, packed);
}

/** Throws AppError `fleet_content_unreadable` unless an agent of this version wrote the bytes. */
export function unpackPresence(envelope: Envelope, mac: string, packed: Uint8Array): MacPresence {
  return unpack(macPresence, envelope, mac, CONTEXT, packed);
}
