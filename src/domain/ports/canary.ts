import type { CanaryReport } from '../canary.ts';

/** The last canary and what is known of push. */
export interface CanaryRecord {
  /** The address that it was sent to. */
  readonly address: string;
  /** Eight hexadecimal digits, different for each. */
  readonly number: string;
  /** When it was sent, Unix milliseconds; after the clock was set back, when that was noticed. */
  readonly sentMs: number;
  /** `waiting` until it has arrived or ten minutes are over, also while it is being sent. */
  readonly outcome: 'waiting' | 'arrived' | 'lost' | 'not_sent' | 'unknown';
  /** Code of the problem that sending met. */
  readonly problem: string | null;
  /** When one last arrived; null before the first. */
  readonly arrivedMs: number | null;
  readonly delayMs: number | null;
  readonly deadSinceMs: number | null;
}

/** Stores the last canary. A replaced chat.db erases it. */
export interface CanaryStore {
  load(): CanaryRecord | undefined;
  /** Durable once it returns. */
  save(record: CanaryRecord): void;
}

/** The canary as health, status and metrics see it. */
export interface CanaryStatus {
  report(): CanaryReport;
  /** The sentence for health while push is dead. */
  warning(): string | undefined;
}
