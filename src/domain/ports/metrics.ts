import type { SearchStatus } from '../search.ts';
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
  readonly newestEvent: number;
  /** Since the start. */
  readonly published: number;
  readonly webSockets: StreamCounts;
  readonly streams: StreamCounts;
  readonly heldWebhooks: number;
  readonly search: SearchStatus;
  readonly changes: ChangeStatus;
  /** undefined: this Mac is in no fleet. */
  readonly fleet: FleetReport | undefined;
}
