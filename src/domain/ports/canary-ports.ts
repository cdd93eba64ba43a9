import type { CanaryReport } from '../canary.ts';

/** The last canary, and the last known state of Apple's push. */
export interface CanaryRecord {
  /** The address that the canary was sent to. */
  readonly address: string;
  /** Eight hexadecimal digits, different for each canary. */
  readonly number: string;
  /**
   * When the canary was sent, Unix milliseconds. If a start finds this time in the future, the clock was set back. The
   * time of that start then replaces it.
   */
  readonly sentMs: number;
  /** `waiting`: being sent, or sent less than ten minutes ago without having arrived. */
  readonly outcome: 'waiting' | 'arrived' | 'lost' | 'not_sent' | 'unknown';
  /** Code of the problem with which sending failed. */
  readonly problem: string | null;
  /** When a canary last arrived; null before the first. */
  readonly arrivedMs: number | null;
  readonly delayMs: number | null;
  readonly deadSinceMs: number | null;
}

/** Stores the last canary. The record is erased when chat.db is replaced. */
export interface CanaryStore {
  load(): CanaryRecord | undefined;
  /** Durable once it returns. */
  save(record: CanaryRecord): void;
}

/** The canary as health, status and metrics see it. */
export interface CanaryStatus {
  report(): CanaryReport;
  /** Returns the sentence for health while push is dead. */
  warning(): string | undefined;
}
