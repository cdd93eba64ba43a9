import type { ConversationFilter, FilterAction, MessageDetails } from '../model/details.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import { DETAIL_COLUMNS } from './columns.ts';

/**
 * The actions that `filter_action` stores as numbers. The index is the number; 0 means that macOS did not file the row.
 * The numbers are from imessage-exporter, pull request 797, and have not been seen on a Mac.
 */
const ACTIONS: readonly (FilterAction | undefined)[] = [undefined, 'allowed', 'junk', 'promotion', 'transaction'];

/**
 * Returns `filter`, which shows how macOS filed a row. Returns {} if the row is not filed, and on macOS before 27,
 * where the columns do not exist.
 */
export function filingOf(row: Row): Pick<MessageDetails, 'filter'> {
  const { at } = DETAIL_COLUMNS;
  const code = Number(row[at.filterAction] ?? 0);
  if (!Number.isSafeInteger(code) || code === 0) return {};
  const subCode = Number(row[at.filterSubAction] ?? Number.NaN);
  return {
    filter: { action: ACTIONS[code] ?? 'other', code, sub_code: Number.isSafeInteger(subCode) ? subCode : null },
  };
}

/**
 * The categories of `chat.is_filtered`. Numbers above 1 are in no list of Messages on a Mac (Sentient-OS, pull request
 * 102, a database of 749 chats). In numbers above 16, the last four bits are the category that `filter_action` names
 * too, and those before them its kind of transaction.
 */
const CATEGORIES: ReadonlyMap<number, ConversationFilter> = new Map([
  [0, 'known'],
  [1, 'unknown'],
  [2, 'spam'],
  [3, 'promotion'],
  [4, 'transaction'],
  [36, 'transaction'],
  [52, 'transaction'],
  [68, 'transaction'],
]);

/**
 * Returns how Messages files a chat (decision AB4), from `is_filtered` and `is_blackholed`. Returns undefined if
 * chat.db has no such column.
 */
export function filterOfChat(
  isFiltered: SqlValue | undefined,
  isBlackholed: SqlValue | undefined,
): ConversationFilter | undefined {
  const code = Number(isFiltered ?? 0);
  if (code >= 2) return CATEGORIES.get(code) ?? 'hidden';
  if (Number(isBlackholed ?? 0) === 1) return 'hidden';
  return isFiltered === null || isFiltered === undefined ? undefined : code === 1 ? 'unknown' : 'known';
}
