import type { Offset } from '../offset.ts';

/** The state of a fleet's agent: its identity, and how far the stream has acknowledged this Mac's events. */
export interface FleetStore {
  /** Returns the generated id of this Mac, for a configuration without one. */
  ownMac(): string;
  /** Returns a text that identifies chat.db. It changes when chat.db is replaced. */
  epoch(): string;
  setEpoch(epoch: string): void;
  /** Creation time of the stream that `position` refers to; undefined before the first connection. */
  stream(): string | undefined;
  setStream(created: string): void;
  /** Everything up to here was acknowledged, or need not be published; undefined before the first connection. */
  position(): Offset | undefined;
  setPosition(offset: Offset): void;
}

/** An agent's report for the service's status. */
export interface FleetReport {
  readonly mac: string;
  /** `refused`: another Mac uses the same id. */
  readonly state: 'connected' | 'away' | 'refused';
  /** Row id of the newest event that the stream has acknowledged; null before the first connection. */
  readonly published_row: number | null;
  /**
   * Upper bound of the number of published events that the stream has not acknowledged: it counts rows without an event
   * too.
   */
  readonly behind: number;
  /** Whole seconds by which this machine's clock is ahead of the broker's; null while unknown. */
  readonly clock_ahead_s: number | null;
  /** When the certificate of the connected server expires (ISO 8601, UTC); null without TLS. */
  readonly certificate_ends: string | null;
  /** The current problem, as a sentence; null if there is none. */
  readonly problem: string | null;
}
