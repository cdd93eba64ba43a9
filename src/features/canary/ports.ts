/**
 * The newest canary to an address, and what canaries have shown about Apple's push. A canary is a message to the
 * owner's own address.
 */
export interface CanaryRecord {
  /** The address that the canary was sent to. */
  readonly address: string;
  /** Eight hexadecimal digits, different for each canary. */
  readonly number: string;
  /**
   * When the canary was sent, Unix milliseconds. If this time is in the future when Postern starts, the clock was set
   * back. Postern then stores its start time instead.
   */
  readonly sentMs: number;
  /** `waiting`: being sent, or sent less than ten minutes ago without having arrived. */
  readonly outcome: 'waiting' | 'arrived' | 'lost' | 'not_sent' | 'unknown';
  /**
   * Code of the problem that occurred while the canary was sent; null if none did. After some problems it is unknown
   * whether the canary was sent.
   */
  readonly problem: string | null;
  /** When a canary last arrived, Unix milliseconds; null if none has arrived yet. */
  readonly arrivedMs: number | null;
  /**
   * How long the newest canary that arrived took; null if none has arrived yet, or if Postern was restarted after that
   * canary was sent.
   */
  readonly delayMs: number | null;
  /** When the first of the canaries that were lost in a row was sent, Unix milliseconds; null if none was lost. */
  readonly deadSinceMs: number | null;
  /** Number of canaries that were lost in a row while nothing else came in. */
  readonly lost: number;
}

/**
 * Stores the record of the newest canary to each address. Records outlive chat.db: those from before the last proof of
 * the conversation are of one that was replaced.
 */
export interface CanaryStore {
  load(address: string): CanaryRecord | undefined;
  /** Stores the record durably before it returns. */
  save(record: CanaryRecord): void;
}
