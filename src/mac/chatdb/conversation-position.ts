import { problem } from '../../domain/problems.ts';
import type { Instant } from './columns.ts';

/** A conversation in the list. `last` is the date of its last message; undefined if it has none. */
export interface RecentConversation {
  readonly chatId: number;
  readonly last: Instant | undefined;
  /** A row dated `last`, if known. */
  readonly rowId: number | undefined;
}

/** A page of the list. With `after`, the page begins behind that position, and `offset` is ignored. */
export interface PageOfOrder {
  readonly limit: number;
  readonly offset: number;
  readonly after: RecentConversation | undefined;
}

/** Returns the position of a conversation in the list as the opaque text of `Page.next`. */
export function cursorTo({ chatId, last }: RecentConversation): string {
  return `${last?.seconds ?? ''}.${last?.nanos ?? ''}.${chatId}`;
}

/** Returns the position that `cursorTo` wrote. Throws `invalid_cursor` for any other text. */
export function positionAt(cursor: string): RecentConversation {
  const [, seconds, nanos, chatId] = /^(-?\d{1,15})?\.(\d{1,9})?\.(-?\d{1,16})$/.exec(cursor) ?? [];
  if (chatId === undefined || (seconds === undefined) !== (nanos === undefined)) throw problem('invalid_cursor');
  const last = seconds === undefined ? undefined : { seconds: Number(seconds), nanos: Number(nanos) };
  return { chatId: Number(chatId), last, rowId: undefined };
}
