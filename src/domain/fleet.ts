/** How the bodies of messages cross the broker (docs/fleet.md). */
export type FleetContent = 'encrypted' | 'metadata' | 'plain';

/** The section `[fleet]` of config.toml. */
export interface FleetSettings {
  /** `nats://` or `tls://` addresses of the broker, at least one. */
  readonly servers: readonly string[];
  /** Id of this Mac; "": a random one that is kept in state.db. A hub has none. */
  readonly mac: string;
  /** File with the seed of the nkey; "": none. */
  readonly keyFile: string;
  /** File with the certificates that the broker's are checked with; "": those of the system. */
  readonly caFile: string;
  readonly content: FleetContent;
  /** File with the keys of the content; "": none. */
  readonly contentKeyFile: string;
  /** How much of the past an agent gives to a stream that has nothing of it. */
  readonly backfillHours: number;
}

/** A Mac of a fleet: it is part of subjects and of ids. */
export const MAC_ID = /^[a-z0-9-]{1,32}$/;

/** An id as a hub shows it (decision N1). */
export interface QualifiedId {
  readonly mac: string;
  /** As the Mac itself names it. */
  readonly id: string;
}

export function qualify(mac: string, id: string): string {
  return `${mac}~${id}`;
}

/** undefined for what names no Mac: it is split at the first `~`. */
export function splitId(text: string): QualifiedId | undefined {
  const end = text.indexOf('~');
  const mac = text.slice(0, Math.max(0, end));
  const id = text.slice(end + 1);
  return MAC_ID.test(mac) && id !== '' ? { mac, id } : undefined;
}
