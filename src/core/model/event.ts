import type { Print } from './fingerprint.ts';
import type { Message } from './message.ts';
import type { Marks } from './narrowing.ts';
import type { Offset } from './offset.ts';
import type { Reaction } from './reaction.ts';

/** Event types of new rows in chat.db. */
export const ROW_EVENT_TYPES = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'] as const;
export type EventType = (typeof ROW_EVENT_TYPES)[number];

/** Event types of changes to already published rows. */
export const CHANGE_EVENT_TYPES = ['message.updated', 'message.removed', 'messages.changed'] as const;

/**
 * The changes that a message can undergo (decision V3), in the order in which an event lists them. Append new
 * names: a change is stored as its index in this list.
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
  'conversation',
] as const;
export type ChangeName = (typeof CHANGE_NAMES)[number];

/** A row counts as late if it was more than this many seconds old when Postern first saw it (decision U4). */
export const LATE_S = 30 * 60;

/** The envelope of an event, as in the API's contract. */
export type Event =
  | { readonly type: 'message.received' | 'message.sent'; readonly data: Message }
  | { readonly type: 'reaction.added' | 'reaction.removed'; readonly data: Reaction };

/** `data` of `message.removed`. Members that are no longer known are `""`. */
export interface RemovedMessage {
  readonly id: string;
  readonly guid: string;
  readonly conversation_id: string;
}

/** `data` of `messages.changed`: the range of rows in which too many messages changed to report each one. */
export interface ChangedRange {
  readonly first_id: string;
  readonly last_id: string;
  readonly count: number;
}

/** The envelope of a change. Only readers that ask for changes receive changes. */
export type ChangeEvent =
  | {
      readonly type: 'message.updated';
      readonly data: Message;
      readonly changes: readonly ChangeName[];
      /**
       * When the message was last edited or unsent. Macs send this member only to hubs. A hub uses it to order the
       * edits that the two Macs of a pair report.
       */
      readonly edited_at?: string | undefined;
    }
  | { readonly type: 'message.removed'; readonly data: RemovedMessage }
  | { readonly type: 'messages.changed'; readonly data: ChangedRange };

const ROW_TYPES: ReadonlySet<string> = new Set(ROW_EVENT_TYPES);

export function isRowEvent(event: Event | ChangeEvent): event is Event {
  return ROW_TYPES.has(event.type);
}

/** One entry of the event log: a new row of chat.db, or a change of earlier rows. */
export interface LogEntry {
  /** The position of a reader that has seen this entry and everything before it. */
  readonly offset: Offset;
  /** Row id of the row that the event reports; for `messages.changed`, of the last row in the range. */
  readonly rowId: number;
  /** guid of the row `rowId`, "" if unknown. The delivery ids of new rows are derived from this guid (decision F2). */
  readonly guid: string;
  readonly event: Event | ChangeEvent;
  /** Number of the change in the change log; undefined for a new row. */
  readonly change?: number | undefined;
  /**
   * Generation of the change log; `EventFeed.offsetText` needs it. The JSON of an entry that has it contains the
   * offset. Absent in entries for readers that did not ask for changes.
   */
  readonly generation?: number | undefined;
  /** By what a reader may skip the entry; undefined if by nothing. */
  readonly marks?: Marks | undefined;
}

/** A new row as a log entry. */
export interface RowEntry extends LogEntry {
  readonly event: Event;
}

export function isRowEntry(entry: LogEntry): entry is RowEntry {
  return isRowEvent(entry.event);
}

/** A row that is not published yet, and what it still lacks (decision C2). */
export interface PendingRow extends RowEntry {
  /** The date stored in the row, Unix milliseconds. */
  readonly datedMs: number;
  /** True while chat.db lacks the row's chat, or an attachment that the row announces. */
  readonly isIncomplete: boolean;
  /** True for an outgoing row that is neither sent nor failed yet. */
  readonly isUnsent: boolean;
  /**
   * True for a row that causes no event: a vote or an added option of a poll, with `backend.associated_rows =
   * "by_kind"` (decision U5).
   */
  readonly isSilent?: boolean;
  /** True if the row came or goes by iMessage. */
  readonly isImessage?: boolean;
  /**
   * For an outgoing message to oneself: row ids of the earlier incoming rows that repeat the message (decision U7).
   * Absent if the row was read without its print.
   */
  readonly copies?: readonly number[];
  /**
   * True for an incoming message without a handle: Messages may mark the row as outgoing a moment later (decision U1).
   */
  readonly lacksHandle: boolean;
  /** The row's print when the row was read; undefined if prints were not requested. */
  readonly print?: Print | undefined;
}
