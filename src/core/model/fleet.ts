/** The form in which message bodies cross the broker (docs/fleet.md). */
export type FleetContent = 'encrypted' | 'metadata' | 'plain';

/** The section `[fleet]` of config.toml. */
export interface FleetSettings {
  /** `nats://` or `tls://` addresses of the broker, at least one. */
  readonly servers: readonly string[];
  /**
   * Id of this Mac in the fleet; "" to use a random id, which is stored in state.db. A hub does not use this setting.
   */
  readonly mac: string;
  /**
   * Path of the file with the nkey seed that authenticates this process to the broker; "" to connect without an nkey.
   */
  readonly keyFile: string;
  /**
   * Path of the file with the CA certificates that verify the broker's certificate; "" for the system's CA
   * certificates.
   */
  readonly caFile: string;
  readonly content: FleetContent;
  /** Path of the file with the content keys; "" for none. */
  readonly contentKeyFile: string;
  /** Hours of past messages that an agent publishes if the stream has no messages of this Mac yet; 0 for none. */
  readonly backfillHours: number;
  /** True to publish changes of existing messages too (decision N9). */
  readonly changes: boolean;
}

/** Form of a Mac's id. The id becomes part of the broker's subjects and of the ids that a hub shows. */
export const MAC_ID = /^[a-z0-9-]{1,32}$/;

/** The two parts of an id at a hub, which is written `mac~id` (decision N1). */
export interface QualifiedId {
  readonly mac: string;
  /** The id without the prefix `mac~`, as the Mac itself writes it. */
  readonly id: string;
}

export function qualify(mac: string, id: string): string {
  return `${mac}~${id}`;
}

/** Splits a hub's id `mac~id` at the first `~`. Returns undefined if the text does not have this form. */
export function splitId(text: string): QualifiedId | undefined {
  const end = text.indexOf('~');
  const mac = text.slice(0, Math.max(0, end));
  const id = text.slice(end + 1);
  return MAC_ID.test(mac) && id !== '' ? { mac, id } : undefined;
}

/**
 * A Mac of a fleet. `member` is the name by which clients of a hub know the Mac. The two Macs of a pair, which use the
 * same Apple account, share one name (decision N6).
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
 * Returns the id that a hub shows for a message of a pair, without the prefix `mac~`. The id contains the guid and no
 * row id, because the two Macs of a pair store the message in different rows (decision N6).
 */
export function idOfGuid(guid: string): string {
  return `g${guid}`;
}

/** Returns the guid from an id that `idOfGuid` made; undefined for a row id. */
export function guidOfId(id: string): string | undefined {
  return /^g./s.test(id) ? id.slice(1) : undefined;
}
