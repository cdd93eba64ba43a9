import { FLAGS } from '../../../src/core/model/fingerprint.ts';
import { BLOCK_ROWS } from '../../../src/core/model/ports/changes-ports.ts';
import type { MemoryChangeStore } from './memory-change-store.ts';
import type { ModelChat, ModelRow } from './model-chat.ts';
import type { CommitName } from './schedule.ts';

/**
 * The changes that one commit makes to one row. None reverts an earlier change before it was seen: a reader that looked
 * in between would keep an outdated state, which nothing could correct.
 */
const EDITS: Partial<Record<CommitName, (row: ModelRow) => void>> = {
  edit(row) {
    row.version += 1;
  },
  unsend(row) {
    row.isUnsent = true;
  },
  read(row) {
    row.isRead = true;
  },
  delivered(row) {
    row.isDelivered = row.isOwn;
  },
  failed(row) {
    row.isFailed = row.isOwn;
  },
  delete(row) {
    row.isDeleted = true;
  },
  restore(row) {
    row.isDeleted = false;
  },
  attach(row) {
    row.files += 1;
  },
  flip(row) {
    row.isOwn = true;
  },
};

/** Makes one commit of Messages; `which` picks the row as a share of the existing ones. */
export function commit(chat: ModelChat, store: MemoryChangeStore, name: CommitName, which: number, size = 0): void {
  const rows = [...chat.rows.values()];
  const row = rows[Math.floor(which * rows.length)];
  const edit = EDITS[name];
  if (name === 'restore' && !isDeletionSeen(store, row)) return;
  if (name === 'delete' && isDeletionSeen(store, row)) return;
  if (edit !== undefined && row?.isReaction === false) chat.change(row.rowId, edit);
  else if (name === 'insert') chat.insert({ isComplete: which < 0.8 }, which > 0.9 ? 700 : 0);
  else if (name === 'insertOwn') chat.insert({ isOwn: true });
  else if (name === 'react') chat.insert({ isReaction: true });
  else if (name === 'insertLate') for (let n = 0; n <= size; n += 1) chat.insert({ isRead: true });
  else if (name === 'fill') {
    for (let n = 0; n < 3 + size; n += 1) chat.insert({ isOwn: n % 3 === 0 }, n === 2 && which < 0.5 ? 900 : 0);
  } else if (name === 'remove' && row !== undefined) chat.remove(row.rowId);
  else if (name === 'complete') for (const each of rows) each.isComplete = true;
  else if (name === 'flood') {
    for (const each of rows) if (!each.isReaction) chat.change(each.rowId, (one) => EDITS.edit?.(one));
  }
}

function isDeletionSeen(store: MemoryChangeStore, row: ModelRow | undefined): boolean {
  if (row === undefined) return false;
  const print = store.prints(Math.floor(row.rowId / BLOCK_ROWS))?.[row.rowId % BLOCK_ROWS] ?? 0;
  return Math.floor(print / FLAGS.deleted) % 2 === 1;
}
