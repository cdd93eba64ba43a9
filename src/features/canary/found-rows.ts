import { includeSet } from '../../core/model/include.ts';
import type { Message } from '../../core/model/message.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { CanaryRecord } from './ports.ts';
import { CANARY_START, canaryText } from './text.ts';

/** Number of rows to search for a canary: the newest in the owner's conversation with themselves. */
const ROWS = 20;
/** Number of rows to search in all conversations: the first after a canary was sent. */
const ROWS_SINCE = 200;
/** A row of a canary may be dated this much before its send, because the clocks of Apple and of the Mac differ. */
const SKEW_MS = 60_000;
const WITH_DETAILS = includeSet(['details']);

type Reader = Pick<MessageReader, 'listMessages' | 'message'>;

/** The state of one canary, as its rows in chat.db show it. */
export interface CanaryRows {
  readonly isSent: boolean;
  readonly hasFailed: boolean;
  readonly hasArrived: boolean;
  /** True if anything else came in since the canary was sent, or since the first of those that were lost in a row. */
  readonly hasOthers: boolean;
}

/**
 * Searches the newest rows of the owner's proved conversation for a canary, and the first rows of all conversations
 * since it was sent: Messages may write the copy into the conversation of another of the owner's addresses. `isMarked`
 * is true once the row that Postern wrote cannot look like an incoming one any more.
 */
export async function foundRows(
  reader: Reader,
  chat: string,
  { number, sentMs, deadSinceMs }: CanaryRecord,
  isMarked: boolean,
): Promise<CanaryRows> {
  const text = canaryText(number);
  const query = { conversationId: chat, order: 'desc', limit: ROWS, offset: 0, withHidden: true } as const;
  const { items } = await reader.listMessages({ ...query, include: WITH_DETAILS });
  const rows = [...items.filter(({ body }) => body === text), ...(await elsewhere(reader, chat, text, sentMs))];
  const own = rows.find(({ is_from_me: isFromMe }) => isFromMe);
  const hasCopy = rows.some(({ is_from_me: isFromMe }) => !isFromMe);
  return {
    isSent: own !== undefined && own.status !== 'pending',
    hasFailed: own?.status === 'failed',
    hasArrived: (hasCopy && (own !== undefined || isMarked)) || (own?.details?.delivered_at ?? null) !== null,
    hasOthers: await hasIncoming(reader, deadSinceMs ?? sentMs),
  };
}

/** Returns the rows of a canary in other conversations: own rows, and copies from one of the owner's addresses. */
async function elsewhere(reader: Reader, proved: string, text: string, sentMs: number): Promise<readonly Message[]> {
  const query = { sinceNs: nanoseconds(sentMs - SKEW_MS), order: 'asc', limit: ROWS_SINCE, offset: 0 } as const;
  const { items } = await reader.listMessages({ ...query, withHidden: true });
  const found = items.filter(({ body, conversation_id: chat }) => body === text && chat !== proved);
  const rows = await Promise.all(found.map(async ({ id }) => reader.message(id, { include: WITH_DETAILS })));
  return rows.flatMap((row) => (row?.is_from_me === true || row?.details?.mirror === true ? [row] : []));
}

/** Reports whether anything but a canary came in since then, in any conversation. */
async function hasIncoming(reader: Reader, sinceMs: number): Promise<boolean> {
  const query = { sinceNs: nanoseconds(sinceMs), order: 'desc', limit: ROWS_SINCE, offset: 0 } as const;
  const { items } = await reader.listMessages(query);
  return items.some(({ is_from_me: isFromMe, body }) => !isFromMe && !body.startsWith(CANARY_START));
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n;
}
