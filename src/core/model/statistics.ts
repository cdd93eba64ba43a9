/** The kinds of counts that are kept over time (decision Z1). */
export const STATISTIC_KINDS = ['events', 'sends', 'webhooks', 'keys'] as const;
export type StatisticKind = (typeof STATISTIC_KINDS)[number];

/** How many minutes, hours and days are kept. */
export const KEPT_SPANS = { minute: 60, hour: 48, day: 30 } as const;
export type StatisticSpan = keyof typeof KEPT_SPANS;
export const STATISTIC_SPANS = ['minute', 'hour', 'day'] as const;

/** The counts of one minute, hour or day. `counts` omits names with a count of 0. */
export interface StatisticPoint {
  /** The beginning of the span, ISO 8601 UTC. Days begin at midnight in the Mac's time zone. */
  readonly at: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** The counts of one webhook or key. */
export interface SubjectSeries {
  readonly points: readonly StatisticPoint[];
  /**
   * Median response time of first attempts in milliseconds, accurate to 12 %. For webhooks only; null if there were no
   * deliveries.
   */
  readonly median_ms?: number | null | undefined;
  readonly p95_ms?: number | null | undefined;
}

/** Answer of `GET /stats/{kind}`: oldest span first, the current one last. */
export interface StatisticSeries {
  readonly by: StatisticSpan;
  /** When counting began; earlier spans are empty. */
  readonly since: string;
  /** Present only for the kinds `events` and `sends`. */
  readonly points?: readonly StatisticPoint[] | undefined;
  /** Present only for the kinds `webhooks` and `keys`. Key: the id of a webhook or key. Value: its counts. */
  readonly subjects?: Readonly<Record<string, SubjectSeries>> | undefined;
}

/** Numbers from the audit log: how often a limited key read, asked to send, sent, and was refused. */
export interface KeyUse {
  readonly read: number;
  readonly asked: number;
  readonly sent: number;
  readonly refused: number;
}

export const NO_USE: KeyUse = { read: 0, asked: 0, sent: 0, refused: 0 };
