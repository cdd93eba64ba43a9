import { type ClientOffset, encodeOpaque, type Offset } from '../../../core/model/offset.ts';

/** A position in the stream: every event up to this one has been seen. */
export interface Place extends Offset {
  /** Sequence in the stream. */
  readonly rowId: number;
  readonly change: 0;
  /** When the stream was created, which tells one stream from another. */
  readonly stream: string;
  /** When the broker stored the event, in Unix milliseconds of its clock. */
  readonly atMs: number;
  /** Which run of the log the place belongs to: it changes when the stream turns out to be another one. */
  readonly generation: number;
}

/** The content of a client's offset. Only the stream can tell whether it is true. */
export interface OffsetClaim {
  /** Undefined if the offset stands for everything stored at `atMs` or later; at 0, the beginning. */
  readonly event?: Pick<Place, 'stream' | 'rowId'>;
  readonly atMs: number;
}

const EVENT = /^([\w.:+-]{1,40})\|(\d{1,15})\|(\d{1,15})$/;
const TIME = /^t\|(\d{1,15})$/;

export function isPlace(offset: Offset): offset is Place {
  return 'stream' in offset;
}

/** Returns the place of an offset that this hub's feed made. */
export function placeOf(offset: Offset): Place {
  if (isPlace(offset)) return offset;
  throw new Error('an offset of one Mac is no place in the stream');
}

/**
 * Reports whether two times of one event are the same. The client of NATS reads a consumer's times as a number of
 * nanoseconds, which is rounded, so that they can be a millisecond off.
 */
export function isSameMoment(oneMs: number, otherMs: number): boolean {
  return Math.abs(oneMs - otherMs) <= 1;
}

export function placeText({ stream, rowId, atMs }: Place): string {
  return encodeOpaque(`${stream}|${rowId}|${atMs}`);
}

/** Returns the offset that stands for everything stored at or after a time. */
export function timeText(atMs: number): string {
  if (atMs === 0) return '0';
  return encodeOpaque(`t|${atMs}`);
}

/** Returns what an offset claims; undefined if no hub wrote it. */
export function claimOf(offset: ClientOffset): OffsetClaim | undefined {
  if (!('opaque' in offset)) return offset.rowId === 0 ? { atMs: 0 } : undefined;
  const [, stream = '', sequence, storedAt] = EVENT.exec(offset.opaque) ?? [];
  if (stream !== '') return { event: { stream, rowId: Number(sequence) }, atMs: Number(storedAt) };
  const [, atMs] = TIME.exec(offset.opaque) ?? [];
  return atMs === undefined ? undefined : { atMs: Number(atMs) };
}
