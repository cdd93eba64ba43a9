import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Approval } from '../../client/access-types.ts';
import { NO_USE } from '../../client/key-types.ts';
import type {
  HostReport,
  KeyOverview,
  Overview,
  StatisticKind,
  StatisticSeries,
  StatisticSpan,
  SubjectSeries,
  WebhookOverview,
} from '../../client/overview-types.ts';
import type { Config } from '../../core/config/config.ts';
import type { Host } from '../../core/host.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { WebhookRegistry } from '../../core/model/ports/webhooks-ports.ts';
import type { StatusReport } from '../../core/model/status.ts';
import { residentBytes } from '../../core/runtime/memory.ts';
import type { Approvals, OwnersAccess } from '../access/port.ts';
import { KEPT_SPANS } from './spans.ts';
import { grouped, lengthOf, pointsOf, type Statistics } from './statistics.ts';

const HOURS = 24;
/** Maximum number of sends waiting for approval that the home page lists. */
const MOST_HELD = 5;

export interface HomeParts {
  readonly config: Config;
  readonly host: Host;
  readonly statistics: Statistics;
  readonly status: () => StatusReport | Promise<StatusReport>;
  readonly webhooks: Pick<WebhookRegistry, 'status'>;
  readonly access: OwnersAccess;
  readonly approvals: Approvals;
  readonly uploads: { readonly bytes: number };
}

/** Collects everything that the owner's home page shows into one answer (decision Z1). */
export class HomePage {
  readonly #parts: HomeParts;
  #macos: Promise<string | undefined> | undefined;

  constructor(parts: HomeParts) {
    this.#parts = parts;
  }

  async overview(): Promise<Overview> {
    const { statistics, status, webhooks, access } = this.#parts;
    await statistics.fill();
    const [day = 0] = statistics.starts('day', 1);
    const since = (ms: number): string => isoSecond(Math.max(day, ms));
    const report = await status();
    const states = await Promise.all(report.webhooks.map(async ({ id }) => webhooks.status(id)));
    const hours = statistics.series('webhooks', 'hour', HOURS);
    const nothing = pointsOf([], statistics.starts('hour', HOURS));
    const events = statistics.series('events', 'minute', KEPT_SPANS.minute).get('');
    const today = (kind: StatisticKind): Readonly<Record<string, number>> =>
      statistics.series(kind, 'day', 1).get('')?.points[0]?.counts ?? {};
    return {
      status: report,
      since: isoSecond(statistics.sinceMs),
      day: isoSecond(day),
      events: {
        since: since(statistics.eventsSinceMs),
        today: Object.values(today('events')).reduce((sum, count) => sum + count, 0),
        minutes: events?.points ?? pointsOf([], statistics.starts('minute', KEPT_SPANS.minute)),
      },
      sends: { since: since(statistics.sinceMs), today: today('sends') },
      webhooks: report.webhooks.map(
        ({ id, name, origin, state }, index): WebhookOverview => ({
          id,
          ...(name !== undefined && { name }),
          origin,
          state,
          behind: states[index]?.behind ?? 0,
          ...(hours.get(id) ?? { points: nothing, median_ms: null, p95_ms: null }),
        }),
      ),
      ...(access.hasKeys() && { keys: this.#keys(), approvals: await this.#held() }),
      host: await this.#host(),
    };
  }

  async statistics(kind: StatisticKind, by: StatisticSpan, last: number): Promise<StatisticSeries> {
    const { statistics } = this.#parts;
    if (kind === 'events') await statistics.fill();
    const since = isoSecond(kind === 'events' ? statistics.eventsSinceMs : statistics.sinceMs);
    if (kind === 'keys') return { by, since, subjects: Object.fromEntries(this.#keySeries(by, last)) };
    const series = statistics.series(kind, by, last);
    if (kind === 'webhooks') return { by, since, subjects: Object.fromEntries(series) };
    return { by, since, points: series.get('')?.points ?? pointsOf([], statistics.starts(by, last)) };
  }

  /**
   * Counts the uses of each limited key in each of the newest `last` spans. Map key: the limited key's id. For days,
   * adds up the hours, because the audit log counts repeated reads by the hour.
   */
  #keySeries(by: StatisticSpan, last: number): ReadonlyMap<string, SubjectSeries> {
    const { statistics, access } = this.#parts;
    const starts = statistics.starts(by, last);
    const uses = access.audit.uses(starts[0] ?? 0, lengthOf(by === 'day' ? 'hour' : by));
    const rows = uses.map(({ keyId, atMs, what, count }) => ({
      keyId,
      atMs: starts.findLast((start) => start <= atMs) ?? 0,
      name: what,
      count,
    }));
    const byKey = grouped(rows, ({ keyId }) => keyId);
    return new Map([...byKey].map(([id, own]) => [id, { points: pointsOf(own, starts) }]));
  }

  #keys(): readonly KeyOverview[] {
    const { access } = this.#parts;
    const today = access.audit.usedToday();
    const hours = this.#keySeries('hour', HOURS);
    const keys = access.keys.list().map(({ id, name, last_used_at }) => ({
      id,
      name,
      last_used_at,
      today: today.get(id) ?? NO_USE,
      hours:
        hours.get(id)?.points.map(({ counts }) => Object.values(counts).reduce((sum, one) => sum + one, 0)) ??
        new Array<number>(HOURS).fill(0),
    }));
    return keys.sort((a, b) => (b.last_used_at ?? '').localeCompare(a.last_used_at ?? ''));
  }

  async #held(): Promise<readonly (Approval & { readonly key_name: string })[]> {
    const { access, approvals } = this.#parts;
    const names = new Map(access.keys.list().map(({ id, name }) => [id, name]));
    const held = await approvals.list({ state: 'held', waitMs: 0 });
    return [...held]
      .sort((a, b) => a.expires_at.localeCompare(b.expires_at))
      .slice(0, MOST_HELD)
      .map((approval) => ({ ...approval, key_name: names.get(approval.key_id) ?? approval.key_id }));
  }

  async #host(): Promise<HostReport> {
    const { config, uploads } = this.#parts;
    const [disk, chat, index, macos] = await Promise.all([
      statfs(config.dir).catch(() => undefined),
      bytesOf(config.backend.chatDbPath, `${config.backend.chatDbPath}-wal`),
      config.features.search?.isEnabled === true ? bytesOf(join(config.dir, 'search.db')) : undefined,
      this.#version(),
    ]);
    return {
      ...(macos !== undefined && { macos }),
      memory_bytes: residentBytes(),
      disk_free: disk === undefined ? 0 : disk.bavail * disk.bsize,
      disk_total: disk === undefined ? 0 : disk.blocks * disk.bsize,
      ...(chat !== undefined && { chat_db_bytes: chat }),
      ...(index !== undefined && { index_bytes: index }),
      upload_bytes: uploads.bytes,
    };
  }

  #version(): Promise<string | undefined> {
    this.#macos ??= this.#readVersion();
    return this.#macos;
  }

  async #readVersion(): Promise<string | undefined> {
    const { host } = this.#parts;
    if (host.platform !== 'darwin') return undefined;
    const { stdout } = await host.run('sw_vers', ['-productVersion']);
    return stdout.trim() === '' ? undefined : `macOS ${stdout.trim()}`;
  }
}

/**
 * Returns the total size of these files in bytes, or undefined if the first file cannot be examined. Any other file
 * that cannot be examined counts as 0.
 */
async function bytesOf(...paths: readonly string[]): Promise<number | undefined> {
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => undefined,
      ),
    ),
  );
  return sizes[0] === undefined ? undefined : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
