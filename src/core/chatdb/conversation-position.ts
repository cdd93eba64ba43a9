import { problem } from '../model/problems.ts';
import { compareInstants, type Instant } from './columns.ts';

/**
 * A conversation's position in the list of conversations. `last` is the conversation's `last_message_at`; undefined if
 * the conversation has no row that counts (decision B12).
 */
export interface RecentConversation {
  readonly chatId: number;
  readonly last: Instant | undefined;
  /** Row id of a row in the conversation that is dated `last`; undefined if unknown. */
  readonly rowId: number | undefined;
}

/**
 * The bounds of a page of the list of conversations. If `after` is defined, the page begins directly behind it, and
 * `offset` is ignored.
 */
export interface PageOfOrder {
  readonly limit: number;
  readonly offset: number;
  readonly after: RecentConversation | undefined;
  /** The chats to list; undefined for all. */
  readonly only?: ReadonlySet<number> | undefined;
}

/** Returns a conversation's position in the list as an opaque text for `Page.next`. */
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

/** Reports whether `a` is later than `b`. Anything is later than undefined. */
export function isNewer(a: Instant | undefined, b: Instant | undefined): boolean {
  return a !== undefined && (b === undefined || compareInstants(a, b) > 0);
}

type Dated = Pick<RecentConversation, 'chatId' | 'last'>;

/**
 * Compares two conversations: the one with the newer message is first, and of equals the one with the higher row id.
 */
export function byRecency(a: Dated, b: Dated): number {
  if (isNewer(a.last, b.last)) return -1;
  return isNewer(b.last, a.last) ? 1 : b.chatId - a.chatId;
}
