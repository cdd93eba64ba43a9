import type { Offset } from '../offset.ts';

/** The state of a fleet's agent: its identity, and how far the stream has acknowledged this Mac's events. */
export interface FleetStore {
  /** Returns the generated id of this Mac, which is used if the configuration contains no `fleet.mac`. */
  ownMac(): string;
  /** Returns a random text that identifies this chat.db. It changes when chat.db is replaced. */
  epoch(): string;
  setEpoch(epoch: string): void;
  /** Returns the creation time of the stream that `position` refers to; undefined before the first connection. */
  stream(): string | undefined;
  setStream(created: string): void;
  /**
   * Returns the position up to which the stream has acknowledged every event that must be published. Undefined before
   * the first connection.
   */
  position(): Offset | undefined;
  setPosition(offset: Offset): void;
}

/** The state of this Mac's connection to its fleet, for the status report. */
export interface FleetReport {
  readonly mac: string;
  /** `refused`: the agent does not publish, because another Mac uses its id. `away`: the broker is not connected. */
  readonly state: 'connected' | 'away' | 'refused';
  /** Row id of the newest event that the stream has acknowledged; null before the first connection. */
  readonly published_row: number | null;
  /**
   * Upper bound of the number of events that the stream has not acknowledged yet. Rows that cause no event are counted
   * too.
   */
  readonly behind: number;
  /** Whole seconds by which this machine's clock is ahead of the broker's; null while unknown. */
  readonly clock_ahead_s: number | null;
  /** When the certificate of the connected server expires (ISO 8601, UTC); null without TLS. */
  readonly certificate_ends: string | null;
  /** A sentence about the problem that keeps this Mac from publishing or connecting; null if there is none. */
  readonly problem: string | null;
}
