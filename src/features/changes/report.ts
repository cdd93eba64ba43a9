/** The state of change detection, as the status shows it. */
export interface ChangesReport {
  /**
   * `starting`: the first sweep, which examines every message once, has not finished. Until then, changes of old
   * messages are not seen.
   */
  readonly state: 'starting' | 'on';
  /** Number of changes kept for readers that resume. */
  readonly logged: number;
  /** When a sweep last finished examining every message; null before the first. */
  readonly swept_at: string | null;
}
