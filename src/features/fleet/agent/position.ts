import { randomUUID } from 'node:crypto';
import type { LogIdentity } from '../../../core/model/cursor.ts';
import { DAY_MS, HOUR_MS } from '../../../core/model/durations.ts';
import { type Offset, rowOffset } from '../../../core/model/offset.ts';
import { type ChainState, eventId } from '../protocol/event-message.ts';
import type { JoinedParts } from './agent.ts';

/** Number of messages that are read at once to find where the history begins. */
const PAGE = 200;

/** The facts that decide where an agent resumes. */
export interface Known {
  readonly mac: string;
  readonly epoch: string;
  /**
   * Position stored by this Mac. A stream has acknowledged every event up to this position. Undefined if none is
   * stored.
   */
  readonly position: Offset | undefined;
  /** This Mac's newest row in the stream; undefined if the stream has no rows of this Mac. */
  readonly last: ChainState | undefined;
  /** True if `position` was stored for this stream, not for a stream that this one replaced. */
  readonly isSameStream: boolean;
  /** Returns the guid at a row, and the highest row id of chat.db. */
  readonly identity: (at: Offset) => LogIdentity;
  /** Returns the position before the oldest row that a new stream receives. */
  readonly backfill: () => Promise<Offset>;
}

export interface Start {
  readonly after: Offset;
  readonly epoch: string;
  /** The row that the next message names as its predecessor; 0 for none. */
  readonly previousRow: number;
}

/**
 * Chooses where an agent resumes publishing: after this Mac's newest row in the stream, if that row is from this
 * chat.db.
 */
export async function startAfter(known: Known): Promise<Start> {
  const { last, mac } = known;
  if (last === undefined) return known.isSameStream ? fromMemory(known) : afresh(known);
  const { guidAtCursor: guid, highestRowId } = known.identity(rowOffset(last.row));
  const isUnnamed = guid === null || last.id === '';
  const isOurs = isUnnamed ? last.epoch === known.epoch : eventId(mac, last.epoch, guid) === last.id;
  if (isOurs && last.row <= highestRowId) {
    // chat.db has the stream's newest row, so the stream's epoch is right even if this Mac has forgotten it.
    return { after: rowOffset(last.row), epoch: last.epoch, previousRow: last.row };
  }
  // The stream is ahead of this chat.db, or holds the rows of another chat.db. Row ids would repeat in the stream's
  // epoch, so another epoch begins.
  const epoch = last.epoch === known.epoch ? randomUUID() : known.epoch;
  return { ...(await fromMemory(known)), epoch, previousRow: 0 };
}

async function fromMemory(known: Known): Promise<Start> {
  const { position, epoch } = known;
  if (position === undefined) return afresh(known);
  const { highestRowId } = known.identity(position);
  const after = position.rowId > highestRowId ? rowOffset(highestRowId) : position;
  return { after, epoch, previousRow: after.rowId };
}

/**
 * Returns where to resume in a stream that has no messages of this chat.db: before the rows to backfill, or before the
 * first row that was not acknowledged, whichever is earlier.
 */
async function afresh({ position, backfill, epoch }: Known): Promise<Start> {
  const start = await backfill();
  const after = position !== undefined && position.rowId < start.rowId ? position : start;
  return { after, epoch, previousRow: 0 };
}

/**
 * Returns the position before the history that this Mac publishes to a stream created at `created`: `backfillHours`
 * before now, or before the stream was created if this Mac was away then. Hubs rely on that, because the other Macs
 * refilled the stream when it was created. `position` is the newest event that an earlier stream acknowledged.
 */
export async function beforeHistory(
  { messages, reader, feed, clock, settings }: JoinedParts,
  created: string,
  position: Offset | undefined,
): Promise<Offset> {
  const last = feed.lastPublished();
  if (settings.backfillHours === 0) return last;
  const [known] = position === undefined ? [] : messages.entries(rowOffset(position.rowId - 1), position, 1);
  // A Mac that comes from another fleet has published events since this stream was created, so it was not away.
  const publishedMs = known === undefined ? Number.POSITIVE_INFINITY : Date.parse(known.event.data.timestamp);
  const fromMs = Math.min(clock.now(), Math.max(Date.parse(created), publishedMs));
  const sinceNs = BigInt(Math.floor(fromMs - settings.backfillHours * HOUR_MS)) * 1_000_000n;
  // The next day's messages are listed too, because clocks differ. A message of the far future, which may be in any old
  // row, is not.
  const beforeNs = BigInt(Math.ceil(clock.now() + DAY_MS)) * 1_000_000n;
  // A message that arrived late has a higher row id than messages dated after it, so the lowest id can be on any page.
  let lowest = last.rowId + 1;
  let cursor: string | undefined;
  do {
    const page = await reader.listMessages({ sinceNs, beforeNs, order: 'asc', limit: PAGE, offset: 0, cursor });
    for (const { id } of page.items) lowest = Math.min(lowest, Number(id));
    cursor = page.next;
  } while (cursor !== undefined);
  return rowOffset(lowest - 1);
}
