import type { SearchStatus } from '../search.ts';

/** What `/metrics` shows besides counts (decision H). */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  readonly newestEvent: number;
  /** Since the start. */
  readonly published: number;
  readonly clients: number;
  /** Since the start. */
  readonly missed: number;
  readonly search: SearchStatus;
}
