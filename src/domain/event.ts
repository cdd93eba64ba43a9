import type { Print } from './fingerprint.ts';
import type { Message } from './message.ts';
import type { Offset } from './offset.ts';
import type { Reaction } from './reaction.ts';

/** What a new row of chat.db can become. */
export const ROW_EVENT_TYPES = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'] as const;
export type EventType = (typeof ROW_EVENT_TYPES)[number];

/** What a change of rows that were published before can become (decision I3). */
export const CHANGE_EVENT_TYPES = ['message.updated', 'message.removed', 'messages.changed'] as const;

/**
 * What can have happened to a message (decisions I3, V3), in the order in which an event lists it. They are stored by
 * their place: a new one goes to the end.
 */
export const CHANGE_NAMES = [
  'sent',
  'delivered',
  'read',
  'failed',
  'edited',
  'unsent',
  'attachment',
  'deleted',
  'restored',
  'transcript',
  'preview',
  'poll',
  'mirror',
] as const;
export type ChangeName = (typeof CHANGE_NAMES)[number];

/** A row that was older at its first sighting came late (decision U4). */
export const LATE_S = 30 * 60;

/** The contract's event envelope. */
export type Event =
  | { readonly type: 'message.received' | 'message.sent'; readonly data: Message }
  | { readonly type: 'reaction.added' | 'reaction.removed'; readonly data: Reaction };

/** `data` of `message.removed`: what is known of a message that is gone, `""` where nothing is. */
export interface RemovedMessage {
  readonly id: string;
  readonly guid: string;
  readonly conversation_id: string;
}

/** `data` of `messages.changed`: too many changes to list them, all between these two rows. */
export interface ChangedRange {
  readonly first_id: string;
  readonly last_id: string;
  readonly count: number;
}

/** The envelope of a change (decision I3); only readers that ask for changes get one. */
export type ChangeEvent =
  | { readonly type: 'message.updated'; readonly data: Message; readonly changes: readonly ChangeName[] }
  | { readonly type: 'message.removed'; readonly data: RemovedMessage }
  | { readonly type: 'messages.changed'; readonly data: ChangedRange };

/** One entry of the event log: a new row of chat.db, or a change of rows before it. */
export interface LogEntry {
  /** The position of a reader that has seen this entry and everything before it. */
  readonly offset: Offset;
  /** The row that the event is about; of `messages.changed` the last one. */
  readonly rowId: number;
  /** guid of that row, "" where it is not known; the delivery ids of new rows are made from it (decision F2). */
  readonly guid: string;
  readonly event: Event | ChangeEvent;
  /** Number of the change; undefined for a new row. */
  readonly change?: number | undefined;
  /**
   * Of the change log, in every entry of a reader with changes: such an entry is shown with its offset, as
   * `EventFeed.offsetText` writes it. At a hub every entry has one.
   */
  readonly generation?: number | undefined;
  /**
   * Seconds that the row was old at its first sighting, in time that chat.db was watched; undefined for less than a
   * minute, at a hub, and where it is not known any more (decision U4).
   */
  readonly ageS?: number | undefined;
  /** True for a row that macOS filed as junk when it was read (decision V5); never at a hub. */
  readonly isJunk?: true | undefined;
}

/** A new row as an entry. */
export interface RowEntry extends LogEntry {
  readonly event: Event;
}

/** A row that has not been published, with what it still lacks (decision C2). */
export interface PendingRow extends RowEntry {
  /** The row's own date, Unix milliseconds. */
  readonly datedMs: number;
  /** True while its chat join or an attachment it announces is not there yet. */
  readonly isIncomplete: boolean;
  /** True for an own row that is neither sent nor failed yet. */
  readonly isUnsent: boolean;
  /** True for a row that is no event: a vote or an added option, where rows are told by kind (U5). */
  readonly isSilent?: boolean;
  /** Rows before it that it shows to be copies of an own message (U7); only together with a print. */
  readonly copies?: readonly number[];
  /** True for an incoming message without a handle: Messages may mark it as an own one in a moment (decision U1). */
  readonly lacksHandle: boolean;
  /** Of the row as it is given here; undefined when none was asked for (decision I4). */
  readonly print?: Print | undefined;
}
