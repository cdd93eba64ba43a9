import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  STATISTIC_SPANS,
  type StatisticKind,
  type StatisticPoint,
  type StatisticSpan,
  type SubjectSeries,
} from '../../client/overview-types.ts';
import type { PastEvents } from '../../core/chatdb/public.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/model/durations.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { mayHaveBeenSent } from '../../core/model/failed-send.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import type { Cancel, Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { DeliveryRecord, DeliveryWatcher } from '../../core/model/webhook.ts';
import type { StatisticCount, StatisticStore } from './ports.ts';
import { KEPT_SPANS } from './spans.ts';

/** Maximum time between counting an occurrence and writing the count to the store (decision Z1). */
const FLUSH_MS = 10_000;
/** Maximum number of past events that are counted, and the number that is read at once. */
const MOST_PAST = 20_000;
const PAST_AT_ONCE = 2000;
/**
 * Logarithm of the factor between two classes of response times. The middle of each class is 1.25 times the middle of
 * the class below, so estimates are within 12 %.
 */
const STEP = Math.log(1.25);
const RESPONSE = 'response_';

/** Maps the outcomes of sends in `/metrics` to the words of `GET /stats/sends`. */
const SENDS: Readonly<Record<string, string>> = lookupTable({
  confirmed: 'sent',
  provisional: 'pending',
  held: 'held',
  scheduled: 'scheduled',
  scope_missing: 'refused',
  recipient_not_allowed: 'refused',
  cap_reached: 'refused',
  too_many_held: 'refused',
});

/** Maps event types to the words of `GET /stats/events`. Every other type counts as a change. */
const EVENTS: Readonly<Record<string, string>> = lookupTable({
  'message.received': 'received',
  'message.sent': 'sent',
  'reaction.added': 'reactions',
  'reaction.removed': 'reactions',
});

/** Reads the published events by their sequence numbers. */
export interface PublishedEvents {
  readonly published: () => number;
  readonly from: (sequence: number, limit: number) => readonly LogEntry[];
}

interface EventCounter {
  readonly hasBackpressure: false;
  isPending: boolean;
  isCaughtUp(): boolean;
  onMore(): void;
}

export interface StatisticsParts {
  readonly store: StatisticStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly past: PastEvents;
  /** Returns the start of the local day that contains `ms`. */
  readonly startOfDay: (ms: number) => number;
}

/**
 * Counts events, deliveries and sends by minute, hour and day, from the first start of the service on. The events of
 * before that come from chat.db (decision Z1).
 */
export class Statistics implements DeliveryWatcher {
  readonly #parts: StatisticsParts;
  /** When counting began, in ms since 1970. */
  readonly sinceMs: number;
  /** The counts that are not stored yet. Key: kind, span, the span's start, name and subject. */
  readonly #pending = new Map<string, { readonly row: Omit<StatisticCount, 'count'>; count: number }>();
  #cancelFlush: Cancel | undefined;
  #filling: Promise<void> | undefined;

  constructor(parts: StatisticsParts) {
    this.#parts = parts;
    this.sinceMs = parts.store.begin(parts.clock.now());
  }

  /** From when on events are complete, in ms since 1970. */
  get eventsSinceMs(): number {
    return this.#parts.store.eventsFrom() ?? this.sinceMs;
  }

  /** Counts the events of before `sinceMs`. Does nothing if they are counted, or while chat.db cannot be read. */
  fill(): Promise<void> {
    if (this.#parts.store.eventsFrom() !== undefined) return Promise.resolve();
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#parts.log.debug('could not count past events', { error }))
      .finally(() => (this.#filling = undefined));
    return this.#filling;
  }

  async #fill(): Promise<void> {
    const { store, past, clock } = this.#parts;
    const keptFrom = this.#keptFrom(clock.now());
    const counts = new Map<string, StatisticCount>();
    let fromMs = keptFrom.day;
    let read = 0;
    for (const events of past(this.sinceMs, PAST_AT_ONCE)) {
      for (const { atMs, type } of events) {
        for (const span of STATISTIC_SPANS.filter((one) => atMs >= keptFrom[one])) {
          const row = { kind: 'events', span, subject: '', name: EVENTS[type] ?? 'changes' } as const;
          const start = this.#startOf(span, atMs);
          const key = `${span} ${start} ${row.name}`;
          counts.set(key, { ...row, atMs: start, count: (counts.get(key)?.count ?? 0) + 1 });
        }
      }
      read += events.length;
      const oldestMs = events.at(-1)?.atMs ?? 0;
      if (oldestMs < keptFrom.day) break;
      if (read >= MOST_PAST) {
        fromMs = oldestMs;
        break;
      }
      await nextTurn();
    }
    store.addPast([...counts.values()], Math.min(fromMs, this.sinceMs));
  }

  /** Counts one occurrence. */
  count(kind: StatisticKind, name: string, subject = ''): void {
    for (const span of STATISTIC_SPANS) this.#add(kind, span, name, subject);
  }

  /** Counts a delivery to a webhook, and its response time if the first attempt succeeded. */
  countDelivery({ outcome, attempts, event, duration_ms: ms }: DeliveryRecord, webhookId: string): void {
    if (outcome === 'gone' || event === 'webhook.test') return;
    const isFirst = outcome === 'delivered' && attempts === 1;
    this.count('webhooks', isFirst || outcome === 'dropped' ? outcome : 'retried', webhookId);
    if (!isFirst) return;
    const name = RESPONSE + Math.round(Math.log(Math.max(1, ms)) / STEP);
    for (const span of ['hour', 'day'] as const) this.#add('webhooks', span, name, webhookId);
  }

  /** Counts a failed attempt of a delivery that is retried. */
  countRetry(webhookId: string): void {
    this.count('webhooks', 'failed', webhookId);
  }

  /**
   * Counts a send by its outcome, under the word that `GET /stats/sends` has for it. Ignores repeats, dry runs, invalid
   * requests, and sends refused at shutdown.
   */
  countSend(outcome: string): void {
    if (/^(?:replayed|dry_run|shutting_down|invalid_)/.test(outcome)) return;
    this.count('sends', SENDS[outcome] ?? (mayHaveBeenSent({ code: outcome }) ? 'unknown' : 'failed'));
  }

  /** Returns a channel reader that counts events by kind. The publisher does not wait for this reader. */
  reader({ published, from }: PublishedEvents): EventCounter {
    let next = published();
    return {
      hasBackpressure: false,
      isPending: false,
      isCaughtUp: () => true,
      onMore: () => {
        const now = published();
        for (const { event } of from(next, now - next)) this.count('events', EVENTS[event.type] ?? 'changes');
        next = now;
      },
    };
  }

  /**
   * Returns the counts of the newest `last` spans. Key: the subject, which is a webhook's id, or "" for events and
   * sends. Spans without a count have a point, too.
   */
  series(kind: StatisticKind, by: StatisticSpan, last: number): ReadonlyMap<string, SubjectSeries> {
    this.flush();
    const starts = this.starts(by, last);
    const rows = this.#parts.store.read(kind, by, starts[0] ?? 0);
    const bySubject = grouped(rows, ({ subject }) => subject);
    return new Map([...bySubject].map(([subject, own]) => [subject, seriesOf(own, starts, kind)]));
  }

  /** Returns the start times of the most recent spans, oldest first. */
  starts(by: StatisticSpan, last: number): readonly number[] {
    const starts: number[] = [];
    let start = this.#startOf(by, this.#parts.clock.now());
    while (starts.length < last) {
      starts.unshift(start);
      // Half a span before `start` is always in the previous span, even if the previous span is a day of 23 or 25
      // hours.
      start = this.#startOf(by, start - lengthOf(by) / 2);
    }
    return starts;
  }

  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#pending.size === 0) return;
    const { store, clock, log } = this.#parts;
    const nowMs = clock.now();
    const counts = [...this.#pending.values()].map(({ row, count }) => ({ ...row, count }));
    this.#pending.clear();
    try {
      store.add(counts, this.#keptFrom(nowMs));
    } catch (error) {
      // Losing the counts of ten seconds is not worth an error.
      log.warn('could not store the counters', { error });
    }
  }

  #keptFrom(nowMs: number): Readonly<Record<StatisticSpan, number>> {
    const from = (span: StatisticSpan): number => nowMs - (KEPT_SPANS[span] + 1) * lengthOf(span);
    return { minute: from('minute'), hour: from('hour'), day: from('day') };
  }

  #add(kind: StatisticKind, span: StatisticSpan, name: string, subject: string): void {
    const atMs = this.#startOf(span, this.#parts.clock.now());
    const key = `${kind} ${span} ${atMs} ${name} ${subject}`;
    const known = this.#pending.get(key);
    if (known === undefined) this.#pending.set(key, { row: { kind, span, atMs, name, subject }, count: 1 });
    else known.count += 1;
    this.#cancelFlush ??= this.#parts.clock.after(FLUSH_MS, () => this.flush());
  }

  #day: { fromMs: number; untilMs: number } = { fromMs: 0, untilMs: 0 };

  #startOf(span: StatisticSpan, ms: number): number {
    if (span !== 'day') return Math.floor(ms / lengthOf(span)) * lengthOf(span);
    if (ms < this.#day.fromMs || ms >= this.#day.untilMs) {
      const fromMs = this.#parts.startOfDay(ms);
      // A day has 23 to 25 hours, so only its first 23 hours are certain to be part of it.
      this.#day = { fromMs, untilMs: fromMs + 23 * HOUR_MS };
    }
    return this.#day.fromMs;
  }
}

/** Groups items by key. Keeps their order. */
export function grouped<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

export function lengthOf(span: StatisticSpan): number {
  return { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }[span];
}

/** Returns one point per start time, with the counts of the rows whose `atMs` is that time. */
export function pointsOf(
  rows: readonly Pick<StatisticCount, 'atMs' | 'name' | 'count'>[],
  starts: readonly number[],
): readonly StatisticPoint[] {
  const counts = new Map<number, Record<string, number>>(starts.map((start) => [start, {}]));
  for (const { atMs, name, count } of rows) {
    const own = counts.get(atMs);
    if (own !== undefined) own[name] = (own[name] ?? 0) + count;
  }
  return [...counts].map(([start, own]) => ({ at: isoSecond(start), counts: own }));
}

function seriesOf(rows: readonly StatisticCount[], starts: readonly number[], kind: StatisticKind): SubjectSeries {
  const points = pointsOf(
    rows.filter(({ name }) => !name.startsWith(RESPONSE)),
    starts,
  );
  if (kind !== 'webhooks') return { points };
  const responses = rows.filter(({ name }) => name.startsWith(RESPONSE));
  return { points, median_ms: quantile(responses, 0.5), p95_ms: quantile(responses, 0.95) };
}

/**
 * Returns the response time in ms that the fraction `share` of the deliveries did not exceed; null without deliveries.
 */
function quantile(rows: readonly StatisticCount[], share: number): number | null {
  const steps = rows
    .map(({ name, count }) => ({ step: Number(name.slice(RESPONSE.length)), count }))
    .sort((a, b) => a.step - b.step);
  const total = steps.reduce((sum, { count }) => sum + count, 0);
  let seen = 0;
  for (const { step, count } of steps) {
    seen += count;
    if (seen >= total * share) return Math.round(Math.exp(step * STEP));
  }
  return null;
}
