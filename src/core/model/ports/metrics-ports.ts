import type { ArrivalDelay } from '../arrival-delay.ts';
import type { MessagesAccount } from '../messages-account.ts';
import type { SearchStatus } from '../search.ts';
import type { FleetMac } from '../status.ts';
import type { ChangeStatus } from './changes-ports.ts';

/** Counts for clients of one kind of event stream: WebSockets (`webSockets`) or HTTP streams (`streams`). */
interface StreamCounts {
  /** Number of clients that are connected now. */
  readonly clients: number;
  /** Number of events that slow clients lost since startup. */
  readonly missed: number;
}

/**
 * The values of `/metrics` that are read at each request (decision H). `Counters` holds the values that Postern
 * increments as it works.
 */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  /** Row id of the newest published event; null at a hub, because its events come from many Macs. */
  readonly newestEvent: number | null;
  /** Number of events published since startup. */
  readonly published: number;
  readonly webSockets: StreamCounts;
  readonly streams: StreamCounts;
  readonly heldWebhooks: number;
  readonly search: SearchStatus;
  readonly changes: ChangeStatus;
  readonly messagesAccount?: MessagesAccount | undefined;
  readonly arrivalDelay?: ArrivalDelay | undefined;
  /** Adds the gauges of features. Absent at a hub. */
  readonly ofFeatures?: (gauge: (name: string, help: string, value: number | null) => void) => void;
  /** Present only at a hub. */
  readonly hub?: HubMetrics;
}

export interface HubMetrics {
  readonly macs: readonly FleetMac[];
  /** True if this hub can serve clients (decision N4). */
  readonly isReady: boolean;
  /** True while this hub delivers to the webhooks of the fleet. */
  readonly isDelivering: boolean;
  /** Backlog, in events, of the webhook that is furthest behind; null unless this hub delivers. */
  readonly webhookBacklog: number | null;
  /** Bytes that the stream of events occupies on the servers; null until first measured. */
  readonly streamBytes: number | null;
  /** Milliseconds by which the broker's clock is ahead of this hub's clock; null before the first measurement. */
  readonly brokerAheadMs: number | null;
  /** Milliseconds since the hub last had every event of the stream; 0 while it has every event. */
  readonly behindMs: number;
  /** Number of messages in the stream that this hub rejected because they are not events of a Mac. */
  readonly rejected: number;
  /** Number of rows that were missing from the stream and that Macs supplied later. */
  readonly filled: number;
  /** Number of times that this hub gave up a range of missing rows, because no Mac could supply them. */
  readonly missing: number;
}
