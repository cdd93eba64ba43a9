import type { MessageDetails } from './details.ts';
import type { Message } from './message.ts';
import type { Reaction } from './reaction.ts';

export const EVENT_TYPES = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The contract's event envelope. */
export type Event =
  | { readonly type: 'message.received' | 'message.sent'; readonly data: Message }
  | { readonly type: 'reaction.added' | 'reaction.removed'; readonly data: Reaction };

/** One row of chat.db seen as an event: chat.db is the log, the row id is the offset. */
export interface LogEntry {
  readonly rowId: number;
  /** guid of the row; the identity a delivery id is made from (F2). */
  readonly guid: string;
  readonly event: Event;
}

/** A new row, with what it still lacks (decision C2). */
export interface PendingRow extends LogEntry {
  /** The row's own date, Unix milliseconds. */
  readonly datedMs: number;
  /** True while its chat join or an attachment it announces is not there yet. */
  readonly isIncomplete: boolean;
  /** True for an own row that is neither sent nor failed yet. */
  readonly isUnsent: boolean;
}

const jsonOf = new WeakMap<LogEntry, string>();

/** The event as it goes out: serialised once, however many webhooks and sockets are sent it. */
export function eventJson(entry: LogEntry): string {
  let json = jsonOf.get(entry);
  if (json === undefined) {
    json = JSON.stringify(entry.event);
    jsonOf.set(entry, json);
  }
  return json;
}

/** The same with the details of a message (section H); `read` gives undefined when its row is gone. */
export function detailedEventJson(read: (message: Message) => MessageDetails | undefined) {
  const detailedJsonOf = new WeakMap<LogEntry, string>();
  return (entry: LogEntry): string => {
    const known = detailedJsonOf.get(entry);
    if (known !== undefined) return known;
    const { event } = entry;
    const details = 'associated_message_type' in event.data ? undefined : read(event.data);
    const json =
      details === undefined ? eventJson(entry) : JSON.stringify({ type: event.type, data: { ...event.data, details } });
    detailedJsonOf.set(entry, json);
    return json;
  };
}
