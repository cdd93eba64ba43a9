import type { Approval } from './approval.ts';
import type { KeyUse, StatisticPoint, SubjectSeries } from './statistics.ts';
import type { StatusReport } from './status.ts';

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

/** Answer of `GET /overview`: the home page of the console in one answer (decision Z1). */
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

/** One setting of config.toml (decision Z3). Secrets are left out. */
export interface ShownSetting {
  /** `section.key`, as in the file. */
  readonly key: string;
  readonly value: unknown;
  readonly default: unknown;
  readonly is_default: boolean;
  /** Always true: Postern reads every setting only at startup. */
  readonly needs_restart: true;
  readonly description: string;
}
