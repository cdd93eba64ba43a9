import type { CanaryReport } from '../canary.ts';
import type { SearchStatus } from '../search.ts';
import type { FleetMac } from '../status.ts';
import type { ChangeStatus } from './changes.ts';
import type { FleetReport } from './fleet.ts';

/** Clients that receive every event. */
interface StreamCounts {
  /** Connected now. */
  readonly clients: number;
  /** Events that slow clients lost since the start. */
  readonly missed: number;
}

/** The values of `/metrics` besides counts (decision H). */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  /** Null at a hub, whose row ids belong to many Macs. */
  readonly newestEvent: number | null;
  /** Since the start. */
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
  /** True if it can serve (decision N4). */
  readonly isReady: boolean;
  /** True while it delivers to the webhooks of the fleet. */
  readonly isDelivering: boolean;
  /** Events that the webhook that is furthest behind has not handled yet; null unless this hub delivers. */
  readonly webhookBacklog: number | null;
  /** Bytes that the stream of events takes in the servers; null before it was first asked. */
  readonly streamBytes: number | null;
  /** How far the broker's clock is ahead, in milliseconds; null before the first measurement. */
  readonly brokerAheadMs: number | null;
  /** Milliseconds since the hub was level with the stream; 0 while it is. */
  readonly behindMs: number;
  /** Messages in the stream that are not events. */
  readonly rejected: number;
  /** Rows that the stream lacked and their Macs supplied, and how often rows were missing for good. */
  readonly filled: number;
  readonly missing: number;
}
