import { NS_PER_MS, NS_PER_S } from '../../../core/model/durations.ts';
import { MAC_ID } from '../../../core/model/fleet.ts';
import type { Message } from '../../../core/model/message.ts';
import type { MessageQuery } from '../../../core/model/ports/reading-ports.ts';
import { problem } from '../../../core/model/problems.ts';

/**
 * The position in a list over several Macs. `timestamp` is the second of the last message shown. All messages before
 * that second in the list were shown. `shown` counts the messages shown within that second. Key: the Mac. Macs without
 * such a message are omitted.
 */
export interface FleetCursor {
  readonly timestamp: string;
  readonly shown: Readonly<Record<string, number>>;
}

/**
 * Returns the cursor that continues after the items of a page; undefined if there are no items. `before` is the cursor
 * with which the page was requested.
 */
export function cursorBehind(
  items: readonly { readonly mac: string; readonly item: Message }[],
  before: FleetCursor | undefined,
): string | undefined {
  const timestamp = items.at(-1)?.item.timestamp;
  if (timestamp === undefined) return undefined;
  const shown: Record<string, number> = before?.timestamp === timestamp ? { ...before.shown } : {};
  for (const { mac, item } of items) {
    if (item.timestamp === timestamp) shown[mac] = (shown[mac] ?? 0) + 1;
  }
  return Buffer.from(JSON.stringify([timestamp, shown])).toString('base64url');
}

/** Decodes a cursor. Throws `invalid_cursor` if the text does not have the form that `cursorBehind` writes. */
export function readCursor(text: string): FleetCursor {
  try {
    const [timestamp, shown] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as [unknown, unknown];
    const isFine =
      typeof timestamp === 'string' &&
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(timestamp) &&
      !Number.isNaN(Date.parse(timestamp)) &&
      typeof shown === 'object' &&
      shown !== null &&
      Object.entries(shown).every(([mac, count]) => MAC_ID.test(mac) && Number.isSafeInteger(count) && count > 0);
    if (isFine) return { timestamp, shown: shown as Record<string, number> };
  } catch {
    // It is not JSON.
  }
  throw problem('invalid_cursor');
}

/** Returns the query for the messages of one Mac after the cursor. */
export function behind(cursor: FleetCursor, mac: string, query: MessageQuery): MessageQuery {
  const second = BigInt(Date.parse(cursor.timestamp)) * NS_PER_MS;
  const offset = cursor.shown[mac] ?? 0;
  if (query.order === 'desc') return { ...query, cursor: undefined, offset, beforeNs: second + NS_PER_S };
  const from = second - 1n;
  const sinceNs = query.sinceNs !== undefined && query.sinceNs > from ? query.sinceNs : from;
  return { ...query, cursor: undefined, offset, sinceNs };
}
