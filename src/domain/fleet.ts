/** The form in which message bodies cross the broker (docs/fleet.md). */
export type FleetContent = 'encrypted' | 'metadata' | 'plain';

/** The section `[fleet]` of config.toml. */
export interface FleetSettings {
  /** `nats://` or `tls://` addresses of the broker, at least one. */
  readonly servers: readonly string[];
  /** Id of this Mac; "" for a random one stored in state.db. A hub has none. */
  readonly mac: string;
  /** Path of the file with the seed of the nkey; "" for none. */
  readonly keyFile: string;
  /** Path of the file with the CA certificates that verify the broker's certificate; "" for those of the system. */
  readonly caFile: string;
  readonly content: FleetContent;
  /** Path of the file with the content keys; "" for none. */
  readonly contentKeyFile: string;
  /** How many hours of history an agent publishes to an empty stream. */
  readonly backfillHours: number;
  /** True to publish changes of existing messages too (decision N9). */
  readonly changes: boolean;
}

/** Form of a Mac's id. The id becomes part of the broker's subjects and of the ids that a hub shows. */
export const MAC_ID = /^[a-z0-9-]{1,32}$/;

/** An id as a hub shows it (decision N1). */
export interface QualifiedId {
  readonly mac: string;
  /** The id that the Mac itself uses. */
  readonly id: string;
}

export function qualify(mac: string, id: string): string {
  return `${mac}~${id}`;
}

/** Splits an id at the first `~`. Returns undefined if it names no Mac. */
export function splitId(text: string): QualifiedId | undefined {
  const end = text.indexOf('~');
  const mac = text.slice(0, Math.max(0, end));
  const id = text.slice(end + 1);
  return MAC_ID.test(mac) && id !== '' ? { mac, id } : undefined;
}

/**
 * A Mac and the name by which clients of a hub know it, `member`. The two Macs of a pair share this name (decision N6).
 */
export interface MacName {
  readonly mac: string;
  readonly member: string;
  readonly isPair: boolean;
}

export function nameOfOne(mac: string): MacName {
  return { mac, member: mac, isPair: false };
}

/**
 * Returns the id of a pair's message. It contains the guid, because the two Macs store the message in different rows
 * (decision N6).
 */
export function idOfGuid(guid: string): string {
  return `g${guid}`;
}

/** Returns the guid in the id of a pair's message; undefined for a row id. */
export function guidOfId(id: string): string | undefined {
  return /^g./s.test(id) ? id.slice(1) : undefined;
}
