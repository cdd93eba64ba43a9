import type { SearchStatus } from '../search.ts';
import type { ChangeStatus } from './changes.ts';

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
  readonly changes: ChangeStatus;
}
