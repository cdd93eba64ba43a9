import type { ArrivalDelay } from '../arrival-delay.ts';
import type { MessagesAccount } from '../messages-account.ts';

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
  readonly messagesAccount?: MessagesAccount | undefined;
  readonly arrivalDelay?: ArrivalDelay | undefined;
  /** Adds the gauges of features. */
  readonly ofFeatures?: (gauge: (name: string, help: string, value: number | null) => void) => void;
}
