import type { Offset } from '../offset.ts';

/** What an agent of a fleet keeps: who it is, and how far the stream has acknowledged the events of this Mac. */
export interface FleetStore {
  /** The id that was made for this Mac, for a configuration that names none. */
  ownMac(): string;
  /** Another one after chat.db was replaced. */
  epoch(): string;
  setEpoch(epoch: string): void;
  /** When the stream was created that `position` is about; undefined before the first. */
  stream(): string | undefined;
  setStream(created: string): void;
  /** Everything up to here was acknowledged, or need not be; undefined before the first connection. */
  position(): Offset | undefined;
  setPosition(offset: Offset): void;
}

/** How an agent is doing, for the status of the service. */
export interface FleetReport {
  readonly mac: string;
  /** `refused`: another Mac uses the same id. */
  readonly state: 'connected' | 'away' | 'refused';
  /** Row id of the newest event that the stream has acknowledged; null before the first connection. */
  readonly published_row: number | null;
  /** Published events that the stream has not acknowledged, at most: rows in between may be none. */
  readonly behind: number;
  /** What is wrong; null when nothing is. */
  readonly problem: string | null;
}
