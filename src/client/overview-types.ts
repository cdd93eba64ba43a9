import type { StatusReport } from '../core/model/status.ts';
import type { Approval } from './access-types.ts';
import type { KeyUse } from './key-types.ts';

/** The kinds of counts that are kept over time. */
export const STATISTIC_KINDS = ['events', 'sends', 'webhooks', 'keys'] as const;
export type StatisticKind = (typeof STATISTIC_KINDS)[number];

export const STATISTIC_SPANS = ['minute', 'hour', 'day'] as const;
export type StatisticSpan = (typeof STATISTIC_SPANS)[number];

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

/** Facts about the machine that concern this service. Unknown sizes are absent. */
export interface HostReport {
  /** Such as `macOS 26.1`. */
  readonly macos?: string | undefined;
  readonly memory_bytes: number;
  readonly disk_free: number;
  readonly disk_total: number;
  readonly chat_db_bytes?: number | undefined;
  readonly index_bytes?: number | undefined;
  readonly upload_bytes: number;
}

/** A webhook on the home page, with its counts of the last 24 hours. */
export interface WebhookOverview extends SubjectSeries {
  readonly id: string;
  readonly name?: string | undefined;
  readonly origin: string;
  readonly state: StatusReport['webhooks'][number]['state'];
  readonly behind: number;
}

/** A limited key on the home page. */
export interface KeyOverview {
  readonly id: string;
  readonly name: string;
  readonly last_used_at: string | null;
  readonly today: KeyUse;
  /** Actions in each of the last 24 hours, the current hour last. */
  readonly hours: readonly number[];
}

/** The counts of today. */
export interface Today<Counts> {
  /** From when on `today` is complete: the beginning of the day, or when counting began. */
  readonly since: string;
  readonly today: Counts;
}

/** Answer of `GET /overview`: the owner's home page in one answer. */
export interface Overview {
  readonly status: StatusReport;
  /** When counting began. */
  readonly since: string;
  /** When today began in the Mac's time zone. */
  readonly day: string;
  readonly events: Today<number> & { readonly minutes: readonly StatisticPoint[] };
  readonly sends: Today<Readonly<Record<string, number>>>;
  readonly webhooks: readonly WebhookOverview[];
  /** The limited keys, most recently used first; absent until there is a limited key. */
  readonly keys?: readonly KeyOverview[] | undefined;
  /** The five held sends that expire soonest, soonest first; absent until there is a limited key. */
  readonly approvals?: readonly (Approval & { readonly key_name: string })[] | undefined;
  readonly host: HostReport;
}
