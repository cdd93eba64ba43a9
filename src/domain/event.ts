import type { Message } from './message.ts';
import type { Offset } from './offset.ts';
import type { Reaction } from './reaction.ts';

export const EVENT_TYPES = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The contract's event envelope. */
export type Event =
  | { readonly type: 'message.received' | 'message.sent'; readonly data: Message }
  | { readonly type: 'reaction.added' | 'reaction.removed'; readonly data: Reaction };

/** One entry of the event log: a row of chat.db seen as an event. */
export interface LogEntry {
  /** The position of a reader that has seen this entry and everything before it. */
  readonly offset: Offset;
  /** The row that the event is about. */
  readonly rowId: number;
  /** guid of that row; delivery ids are made from it (decision F2). */
  readonly guid: string;
  readonly event: Event;
}

/** A row that has not been published, with what it still lacks (decision C2). */
export interface PendingRow extends LogEntry {
  /** The row's own date, Unix milliseconds. */
  readonly datedMs: number;
  /** True while its chat join or an attachment it announces is not there yet. */
  readonly isIncomplete: boolean;
  /** True for an own row that is neither sent nor failed yet. */
  readonly isUnsent: boolean;
}
