import type { CanaryReport } from '../canary.ts';
import type { SearchStatus } from '../search.ts';
import type { FleetMac } from '../status.ts';
import type { ChangeStatus } from './changes-ports.ts';
import type { FleetReport } from './fleet-ports.ts';

/** Counts of the clients that receive every event. */
interface StreamCounts {
  /** Connected now. */
  readonly clients: number;
  /** Number of events that slow clients lost since startup. */
  readonly missed: number;
}

/** The values of `/metrics` that are read at each request (decision H). `Counters` holds the others. */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  /** Null at a hub, whose row ids belong to many Macs. */
  readonly newestEvent: number | null;
  /** Number of events published since startup. */
  readonly published: number;
  readonly webSockets: StreamCounts;
  readonly streams: StreamCounts;
  readonly heldWebhooks: number;
  readonly search: SearchStatus;
  readonly changes: ChangeStatus;
  /** Undefined if this Mac is in no fleet. */
  readonly fleet: FleetReport | undefined;
  /** Undefined without `canary.self`, and at a hub. */
  readonly canary?: CanaryReport | undefined;
  /** Only at a hub. */
  readonly hub?: HubMetrics;
}

export interface HubMetrics {
  readonly macs: readonly FleetMac[];
  /** True if this hub can serve clients (decision N4). */
  readonly isReady: boolean;
  /** True while this hub delivers to the webhooks of the fleet. */
  readonly isDelivering: boolean;
  /** Events not yet handled for the webhook that is furthest behind; null unless this hub delivers. */
  readonly webhookBacklog: number | null;
  /** Bytes that the stream of events occupies on the servers; null until first measured. */
  readonly streamBytes: number | null;
  /** Milliseconds by which the broker's clock is ahead; null before the first measurement. */
  readonly brokerAheadMs: number | null;
  /** How long the hub has been behind the stream, in milliseconds; 0 while it is not behind. */
  readonly behindMs: number;
  /** Number of messages in the stream that were rejected, because they are not events of a Mac. */
  readonly rejected: number;
  /** Number of rows that the stream lacked and their Macs supplied. */
  readonly filled: number;
  /** How often rows were lost for good. */
  readonly missing: number;
}
