import type { SearchStatus } from '../search.ts';
import type { FleetMac } from '../status.ts';
import type { ChangeStatus } from './changes.ts';
import type { FleetReport } from './fleet.ts';

/** Clients that are sent every event. */
interface StreamCounts {
  /** Connected now. */
  readonly clients: number;
  /** Events that slow ones lost since the start. */
  readonly missed: number;
}

/** What `/metrics` shows besides counts (decision H). */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  /** null at a hub, where row ids are of many Macs. */
  readonly newestEvent: number | null;
  /** Since the start. */
  readonly published: number;
  readonly webSockets: StreamCounts;
  readonly streams: StreamCounts;
  readonly heldWebhooks: number;
  readonly search: SearchStatus;
  readonly changes: ChangeStatus;
  /** undefined: this Mac is in no fleet. */
  readonly fleet: FleetReport | undefined;
  /** At a hub alone. */
  readonly hub?: HubMetrics;
}

export interface HubMetrics {
  readonly macs: readonly FleetMac[];
  /** Messages in the stream that are no events. */
  readonly rejected: number;
  /** Rows that the stream lacked and their Macs gave, and how often something was not to be had. */
  readonly filled: number;
  readonly missing: number;
}
