import type { MessageDetails } from '../model/details.ts';
import { LATE_S, type PendingRow, type RowEntry } from '../model/event.ts';
import type { Message } from '../model/message.ts';
import { isShownByDefault } from '../model/narrowing.ts';
import { rowOffset } from '../model/offset.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { RowAgeStore } from '../model/ports/row-ages-ports.ts';
import { ArrivalDelays } from './arrival-delays.ts';
import type { RunningTime } from './running-time.ts';

/** Smaller ages are not stored, because no client can ask to skip rows that young. */
export const LEAST_AGE_S = 60;

/** The first sight of a row. `seenMs` is its time in Unix milliseconds. */
export interface Sighting {
  readonly row: Pick<PendingRow, 'rowId' | 'datedMs' | 'event' | 'isImessage' | 'marks'>;
  readonly seenMs: number;
}

export interface RowAgesParts {
  readonly store: RowAgeStore;
  readonly running: RunningTime;
  readonly log: Log;
}

/**
 * Stores the age of each row when it was first seen (decision U4). The age is the time between the row's date and its
 * arrival, without the periods in which chat.db was not watched. A message that was delayed by downtime or sleep is
 * therefore young; an old message that iCloud adds later is old.
 */
export class RowAges {
  readonly delays = new ArrivalDelays();
  readonly #parts: RowAgesParts;

  constructor(parts: RowAgesParts) {
    this.#parts = parts;
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
      if (ageS >= LEAST_AGE_S) ages.set(rowId, ageS);
    }
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
    return ageS > LATE_S ? { ...details, late: true } : details;
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
