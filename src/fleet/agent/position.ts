import { randomUUID } from 'node:crypto';
import type { LogIdentity } from '../../domain/cursor.ts';
import { type Offset, rowOffset } from '../../domain/offset.ts';
import { type EventMessage, eventId } from '../protocol/event-message.ts';

/** What decides where an agent goes on. */
export interface Known {
  readonly mac: string;
  readonly epoch: string;
  /** What the stream acknowledged last, as this Mac remembers it. */
  readonly position: Offset | undefined;
  /** Newest message of this Mac in the stream; undefined: it has none. */
  readonly last: EventMessage | undefined;
  /** The stream is the one that `position` is about. */
  readonly isSameStream: boolean;
  /** chat.db at a row. */
  readonly identity: (at: Offset) => LogIdentity;
  /** Before the oldest row that a new stream is given. */
  readonly backfill: () => Promise<Offset>;
}

export interface Start {
  readonly after: Offset;
  readonly epoch: string;
  /** Row that the stream has before the next one; 0: none that belongs before it. */
  readonly previousRow: number;
}

/** Where an agent goes on: what the stream has counts, forwards or backwards, as long as it is of this chat.db. */
export async function startAfter(known: Known): Promise<Start> {
  const { last, mac } = known;
  if (last === undefined) return known.isSameStream ? fromMemory(known) : afresh(known);
  const { guidAtCursor: guid, highestRowId } = known.identity(rowOffset(last.row));
  const isOurs = guid === null ? last.epoch === known.epoch : eventId(mac, last.epoch, guid) === last.id;
  if (isOurs && last.row <= highestRowId) {
    // Also an epoch that this Mac has forgotten: its row is in this chat.db.
    return { after: rowOffset(last.row), epoch: last.epoch, previousRow: last.row };
  }
  // The stream is ahead of this chat.db, or of another one: its row ids would be used twice.
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

/** A stream that has nothing of this Mac gets the last hours, and everything that was not acknowledged before. */
async function afresh({ position, backfill, epoch }: Known): Promise<Start> {
  const start = await backfill();
  const after = position !== undefined && position.rowId < start.rowId ? position : start;
  return { after, epoch, previousRow: 0 };
}
