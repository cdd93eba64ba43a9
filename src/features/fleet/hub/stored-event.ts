import type { ChangeEvent, Event } from '../../../core/model/event.ts';
import type { StreamOffset } from '../../../core/model/offset.ts';

/**
 * A message of the stream, identified by message id and time. The id alone is not enough: a restored broker may store
 * the same message again later, even at the same sequence.
 */
export type StreamMessage = Pick<StreamOffset, 'messageId' | 'atMs'>;

/** The place of a message in the stream. */
export type StreamPlace = Pick<StreamOffset, 'stream' | 'sequence'> & StreamMessage;

/** An event of a Mac, with its body as received: sealed if the fleet encrypts content. */
export interface MacEvent {
  readonly mac: string;
  readonly epoch: string;
  readonly row: number;
  readonly type: string;
  readonly messageId: string;
  readonly sequence: number;
  /** When the stream stored the event, Unix milliseconds. */
  readonly atMs: number;
  readonly keyId: string | null;
  readonly body: Uint8Array;
  /** The opened body, as `EventReader.read` returned it; undefined if it has not been read yet. */
  readonly read?: Event | ChangeEvent | undefined;
}

/** The members of an event that are needed to open its body. */
export type SealedEvent = Pick<MacEvent, 'mac' | 'epoch' | 'row' | 'type' | 'keyId' | 'body'>;

/** An event from the stream. */
export interface ReceivedEvent extends MacEvent {
  /** The row that the Mac published before this one. */
  readonly previousRow: number;
  /** Sequence of the previous message of the same chain; 0 if the headers name none. */
  readonly previousSequence: number;
}

/** An event as hub.db holds it. */
export interface StoredEvent extends MacEvent {
  /** The event's position in this hub's order. Clients never see it. */
  readonly number: number;
  readonly stream: string;
  /** The `floor` and `changeFloor` of the event's offset, which `StreamOffset` explains. */
  readonly floor: number | undefined;
  readonly changeFloor: number | undefined;
}

/** The newest row, or change, that a Mac has announced as published. */
export type NewestRow = Pick<StreamPlace, 'stream' | 'sequence'> & Pick<MacEvent, 'epoch' | 'row'>;

/** Rows that the stream lacks although their Mac published them. */
export interface Hole {
  readonly mac: string;
  readonly epoch: string;
  /** Name of the queue whose events wait for the missing rows. */
  readonly queue: string;
  /**
   * The last known row before the hole: rows `after` + 1 to `last` are missing. If the start of the hole is unknown,
   * `after` equals `last`.
   */
  readonly after: number;
  readonly last: number;
  /** The row that revealed the hole: the next one after the missing rows. */
  readonly before: number;
  readonly openedMs: number;
  /** The place of the message that revealed the hole. The missing rows are stored under the same place. */
  readonly place: Pick<StreamPlace, 'stream' | 'sequence' | 'atMs'>;
  /** In the table `waiting`, the number of the message that revealed the hole. */
  readonly number: number;
}

/** A row that its Mac supplied on request, because the stream lacks it. */
export type FilledRow = Pick<MacEvent, 'row' | 'type' | 'messageId' | 'keyId' | 'body' | 'read'>;
