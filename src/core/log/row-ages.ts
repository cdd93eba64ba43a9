import type { MessageDetails } from '../model/details.ts';
import { isChatDbAway } from '../model/errors.ts';
import { LATE_S, type PendingRow, type RowEntry } from '../model/event.ts';
import type { Message } from '../model/message.ts';
import { isShownByDefault, LEAST_AGE_S } from '../model/narrowing.ts';
import { rowOffset } from '../model/offset.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { EarlierRows, RowAgeStore } from '../model/ports/row-ages-ports.ts';
import { ArrivalDelays } from './arrival-delays.ts';
import type { RunningTime } from './running-time.ts';

/** The first sight of a row. `seenMs` is its time in Unix milliseconds. */
export interface Sighting {
  readonly row: Pick<PendingRow, 'rowId' | 'datedMs' | 'event' | 'isImessage' | 'marks'>;
  readonly seenMs: number;
}

export interface RowAgesParts {
  readonly store: RowAgeStore;
  readonly running: RunningTime;
  readonly log: Log;
  /** Absent where rows are not in a chat.db. */
  readonly earlier?: EarlierRows | undefined;
  /** The highest row id that earlier processes published. */
  readonly published?: number | undefined;
}

/** Sleeps with a shorter time between them are one. */
const WAKE_MS = 5 * 60_000;

/**
 * Stores the age of each row when it was first seen (decision U4). The age is the time between the row's date and its
 * arrival, without the periods in which chat.db was not watched. A message that was delayed by downtime or sleep is
 * therefore young; an old message that iCloud adds later is old. A message that somebody has seen before gets no such
 * credit (decision AB6).
 */
export class RowAges {
  readonly delays = new ArrivalDelays();
  readonly #parts: RowAgesParts;
  #published: number;
  /** The last sleep, and the highest row id that was published before it. */
  #sleep: { readonly fromMs: number; readonly toMs: number; readonly published: number } | undefined;

  constructor(parts: RowAgesParts) {
    this.#parts = parts;
    this.#published = parts.published ?? 0;
  }

  /** Starts over at this row: chat.db is another one, whose row ids mean other rows. */
  restart(rowId: number): void {
    this.#published = rowId;
    this.#sleep = undefined;
  }

  /** Notes a sleep that has just ended. */
  noteSleep(fromMs: number, toMs: number): void {
    const isSame = this.#sleep !== undefined && fromMs - this.#sleep.toMs < WAKE_MS;
    this.#sleep = { fromMs, published: this.#published, ...(isSame && this.#sleep), toMs };
  }

  /**
   * Stores the ages of the rows that are at least `LEAST_AGE_S` old, and returns them. Key: the row id. Value: the age
   * in seconds. `sightings` must be in row id order. A row that an earlier process saw but did not publish keeps the
   * age stored by that process.
   */
  note(sightings: readonly Sighting[], nowMs: number): ReadonlyMap<number, number> {
    const { store, running, log } = this.#parts;
    const kept = store.between(
      rowOffset((sightings[0]?.row.rowId ?? 1) - 1),
      rowOffset(sightings.at(-1)?.row.rowId ?? 0),
    );
    const ages = new Map<number, number>();
    for (const { row, seenMs } of sightings) {
      const { rowId, datedMs } = row;
      if (isIncoming(row)) this.delays.add(running.between(datedMs, seenMs));
      if (seenMs - datedMs < LEAST_AGE_S * 1000 || kept.has(rowId)) continue;
      const ageS = Math.floor(running.between(datedMs, seenMs) / 1000);
      const wallS = Math.floor((seenMs - datedMs) / 1000);
      if (ageS <= LATE_S && wallS >= LATE_S && this.#isRepeated(row)) ages.set(rowId, Math.max(wallS, LATE_S + 1));
      else if (ageS >= LEAST_AGE_S) ages.set(rowId, ageS);
    }
    this.#published = Math.max(this.#published, sightings.at(-1)?.row.rowId ?? 0);
    if (ages.size === 0) return kept;
    try {
      store.add(ages, nowMs);
    } catch (error) {
      log.error('could not store which rows arrived late', { error });
    }
    return kept.size === 0 ? ages : new Map([...kept, ...ages]);
  }

  /** Returns the details, with `late: true` if the message was more than `LATE_S` seconds old when first seen. */
  added(message: Message, details: MessageDetails): MessageDetails {
    const ageS = this.#parts.store.of(Number(message.id)) ?? 0;
    if (ageS <= LATE_S) return details;
    const twin = this.#ask((earlier) => earlier.twinOf(Number(message.id)));
    return { ...details, late: true, ...(twin !== undefined && { twin_of: twin }) };
  }

  /**
   * Reports whether a row repeats an earlier one, or was overtaken before the last sleep by what was published then.
   */
  #isRepeated({ rowId, datedMs }: Sighting['row']): boolean {
    if (this.#ask((earlier) => earlier.twinOf(rowId)) !== undefined) return true;
    const sleep = this.#sleep;
    return (
      sleep !== undefined && datedMs < sleep.fromMs && this.#ask((one) => one.hasLater(rowId, sleep.published)) === true
    );
  }

  #ask<Answer>(question: (earlier: EarlierRows) => Answer): Answer | undefined {
    const { earlier, log } = this.#parts;
    try {
      return earlier && question(earlier);
    } catch (error) {
      if (!isChatDbAway(error)) log.error('could not compare a row with the earlier ones', { error });
      return undefined;
    }
  }

  /** Returns a log that reads from `messages` and adds the stored age to each entry that has one. */
  withAges(messages: MessageLog): MessageLog {
    const { store } = this.#parts;
    return {
      entries(after, upTo, limit) {
        const entries = messages.entries(after, upTo, limit);
        const last = entries.at(-1);
        const ages = last === undefined ? undefined : store.between(after, last.offset);
        return ages === undefined || ages.size === 0 ? entries : aged(entries, ages);
      },
      pendingRows: (...parameters) => messages.pendingRows(...parameters),
      newest: () => messages.newest(),
      identity: (at) => messages.identity(at),
    };
  }
}

/** Reports whether somebody sent this row to this Mac by iMessage. */
function isIncoming(row: Sighting['row']): boolean {
  return row.event.type === 'message.received' && row.isImessage === true && isShownByDefault(row);
}

/** Returns the entries, with their age in `marks` of those whose row id is in `ages`. */
export function aged<Entry extends RowEntry>(
  entries: readonly Entry[],
  ages: ReadonlyMap<number, number>,
): readonly Entry[] {
  return entries.map((entry) => {
    const ageS = ages.get(entry.rowId);
    return ageS === undefined ? entry : { ...entry, marks: { ...entry.marks, ageS } };
  });
}
