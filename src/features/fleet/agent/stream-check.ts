import type { StreamInfo } from '@nats-io/jetstream';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../core/model/durations.ts';
import { isRowEntry, type LogEntry } from '../../../core/model/event.ts';
import { isShownByDefault } from '../../../core/model/narrowing.ts';
import { type Offset, rowOffset } from '../../../core/model/offset.ts';
import { EVENTS, eventSubject } from '../protocol/subjects.ts';
import { kindOf } from './event-kind.ts';
import type { EventPublisherParts } from './publisher.ts';
import type { Mark } from './store.ts';

/** Number of rows that every check asks for, and that a repair publishes again before what the stream has. */
const OVERLAP = 50;
const NS_PER_MS = 1_000_000;
/** Number of changes that are published again to a stream that lacks this Mac's events. */
const LOST_CHANGES = 2000;
/** Number of messages that are read at once to find where the history begins. */
const PAGE = 200;

/** Returns the date before which rows are not published, in Unix milliseconds. */
export function oldestMs({ config }: StreamInfo, nowMs: number): number {
  return config.max_age === 0 ? Number.NEGATIVE_INFINITY : nowMs - config.max_age / NS_PER_MS;
}

/** Reports whether `later` is still the stream `info`, with all that `mark` says it took. */
export function isSameStream(info: StreamInfo, later: StreamInfo, mark: Mark | undefined): boolean {
  const known = mark?.created === info.created ? mark.sequence : 0;
  const isLedAlike = later.cluster?.leader === info.cluster?.leader;
  return later.created === info.created && isLedAlike && later.state.last_seq >= known;
}

/** Finds from where on this Mac must publish, by asking the stream for what it should have. */
export class StreamCheck {
  readonly #parts: EventPublisherParts;

  constructor(parts: EventPublisherParts) {
    this.#parts = parts;
  }

  async look(): Promise<StreamInfo> {
    return (await this.#parts.connection.manager()).streams.info(EVENTS);
  }

  /** `position` is up to where this Mac has published; undefined if it never has. */
  async run(position: Offset | undefined): Promise<{ readonly stream: StreamInfo; readonly after: Offset }> {
    const stream = await this.look();
    const mark = this.#parts.store.mark();
    if (position === undefined || mark === undefined || mark.created !== stream.created) {
      return { stream, after: await this.#floor(position) };
    }
    return { stream, after: await this.#lastKept(position, mark, stream) };
  }

  /** Returns the position up to which the stream has everything of the last rows. */
  async #lastKept(position: Offset, mark: Mark, stream: StreamInfo): Promise<Offset> {
    const since = this.#expectedSince(stream);
    const recent = this.#entries(back(position, OVERLAP), position).filter((entry) => dateOf(entry) >= since);
    // An expired event is not lost: after a long silence, the last event that was taken is no longer there.
    const marked = mark.sequence >= stream.state.first_seq ? [mark.subject] : [];
    const expected = [...marked, ...recent.map((entry) => this.#subject(entry))];
    const has = await Promise.all(expected.map((subject) => this.#has(subject)));
    if (!has.includes(false)) return position;
    this.#parts.log.warn('the stream of the fleet has lost events of this Mac, which are published again');
    const floor = await this.#floor(position);
    for (let step = OVERLAP; position.rowId - step > floor.rowId; step *= 2) {
      const at = back(position, step);
      const probe = this.#entries(back(at, 50), at).at(-1);
      if (probe !== undefined && dateOf(probe) >= since && (await this.#has(this.#subject(probe)))) {
        return earliest(back(at, OVERLAP), position);
      }
    }
    return floor;
  }

  /**
   * Returns from which date on the stream should have every row: one older than the first backfill was never published.
   */
  #expectedSince(stream: StreamInfo): number {
    const { store, member, machine, clock, values } = this.#parts;
    const beganMs = Math.max(store.since(member, machine, clock.now()), Date.parse(stream.created));
    const first = beganMs - values.backfillHours * HOUR_MS + MINUTE_MS;
    return Math.max(first, oldestMs(stream, clock.now()) + HOUR_MS);
  }

  /** Returns the events that should be in the stream after `from`, up to `to`. */
  #entries(from: Offset, to: Offset): readonly LogEntry[] {
    const found: LogEntry[] = [];
    let at = from;
    for (;;) {
      const entries = this.#parts.core.chatLog.entries(at, rowOffset(to.rowId), PAGE);
      const last = entries.at(-1);
      if (last === undefined) return found.filter(isShownByDefault);
      found.push(...entries);
      at = last.offset;
    }
  }

  #subject(entry: LogEntry): string {
    return eventSubject(this.#parts, entry.guid, kindOf(entry, this.#parts.machine, undefined));
  }

  /**
   * Asks the leader. Any server answers a direct get: one that is behind, or none, because a third of the questions
   * goes to a server that has stopped.
   */
  async #has(subject: string): Promise<boolean> {
    const { streams } = await this.#parts.connection.manager();
    const { state } = await streams.info(EVENTS, { subjects_filter: subject });
    return state.subjects?.[subject] !== undefined;
  }

  /** Returns the position before the oldest event that a stream without this Mac's events receives. */
  async #floor(position: Offset | undefined): Promise<Offset> {
    const { core, clock, values } = this.#parts;
    const { backfillHours, changes } = values;
    const last = core.feed.lastPublished({ changes });
    if (backfillHours === 0) return position ?? last;
    const sinceNs = BigInt(clock.now() - backfillHours * HOUR_MS) * BigInt(NS_PER_MS);
    // The next day's messages are listed too, because clocks differ. One of the far future may be in any old row.
    const beforeNs = BigInt(clock.now() + DAY_MS) * BigInt(NS_PER_MS);
    // A message that arrived late has a higher row id than messages dated after it, so the lowest id can be on any
    // page.
    let lowest = last.rowId + 1;
    let cursor: string | undefined;
    do {
      const page = await core.owner.reader.listMessages({
        sinceNs,
        beforeNs,
        order: 'asc',
        limit: PAGE,
        offset: 0,
        cursor,
      });
      for (const { id } of page.items) lowest = Math.min(lowest, Number(id));
      cursor = page.next;
    } while (cursor !== undefined);
    if (position === undefined) return { ...last, rowId: lowest - 1 };
    return earliest({ ...position, rowId: lowest - 1 }, back(position, LOST_CHANGES, 0));
  }
}

function back({ rowId, change }: Offset, changes: number, rows = changes): Offset {
  return { rowId: Math.max(0, rowId - rows), change: Math.max(0, change - changes) };
}

function earliest(one: Offset, other: Offset): Offset {
  return { rowId: Math.min(one.rowId, other.rowId), change: Math.min(one.change, other.change) };
}

function dateOf(entry: LogEntry): number {
  return isRowEntry(entry) ? Date.parse(entry.event.data.timestamp) : Number.NEGATIVE_INFINITY;
}
