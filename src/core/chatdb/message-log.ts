import type { Cursor, LogIdentity } from '../model/cursor.ts';
import type { PendingRow, RowEntry } from '../model/event.ts';
import { type Offset, rowOffset } from '../model/offset.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';
import type { Row } from '../runtime/sqlite.ts';
import { ENTRY_COLUMNS, instantAt, PENDING_COLUMNS, STATUS_CODE, toText, toUnixMs } from './columns.ts';
import type { Connection } from './connection.ts';
import { printsBetween } from './fingerprints.ts';
import { identityAt } from './log-identity.ts';
import { marksOf } from './marks.ts';
import { bodyOf, countPlaceholders, toMessage, toReaction } from './message.ts';
import { type ChatDbLocation, readOnce } from './read-once.ts';
import { hasFlag } from './row-flags.ts';
import { earlierCopiesOf } from './self-copies.ts';
import { MAX_LARGE_BYTES, type Snapshot } from './snapshot.ts';
import { attachmentPaths } from './stored-attachments.ts';

/** Reads the rows of chat.db in the order of their row ids, as a log. The row id is the log's offset. */
export class ChatLog implements MessageLog {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    return this.#connection.read((snapshot) =>
      snapshot.database
        .all(snapshot.queries.entries, after.rowId, upTo.rowId, rowsAtOnce(snapshot, after, upTo.rowId, limit))
        .map((row) => toRowEntry(row, snapshot)),
    );
  }

  pendingRows(after: Offset, limit: number, hasPrints = false): readonly PendingRow[] {
    return this.#connection.read((snapshot) => {
      const rows = snapshot.database
        .all(snapshot.queries.pendingRows, after.rowId, rowsAtOnce(snapshot, after, Number.MAX_SAFE_INTEGER, limit))
        .map((row) => toPendingRow(row, snapshot));
      const last = rows.at(-1);
      if (!hasPrints || last === undefined) return rows;
      const prints = printsBetween(snapshot, after.rowId + 1, last.rowId);
      return rows.map((row) => ({ ...row, print: prints.get(row.rowId), copies: copiesBefore(snapshot, row) }));
    });
  }

  /** Returns how many of the rows from `first` to `last` are in chat.db and cause no event (decision U5). */
  silentRows(first: number, last: number): number {
    return this.#connection.read(({ database, queries }) => Number(database.get(queries.silentRows, first, last)?.[0]));
  }

  newest(): Cursor {
    return this.#connection.read(({ database, queries }) => {
      const row = database.get(queries.newest);
      const inode = this.#connection.fileId;
      return row === undefined
        ? { offset: rowOffset(0), guid: null, inode }
        : { offset: rowOffset(row[0] as number), guid: toText(row[1]), inode };
    });
  }

  identity(at: Offset): LogIdentity {
    return this.#connection.read((snapshot) => identityAt(snapshot, this.#connection.fileId, at));
  }
}

/**
 * Returns how many of the rows behind `after` to read at once: at most `limit`, and at least one. More than one row is
 * read only if their bodies have at most half of `MAX_LARGE_BYTES` in total, because the body of a pending row can be
 * decoded twice.
 */
function rowsAtOnce({ database, queries }: Snapshot, after: Offset, upTo: number, limit: number): number {
  if (queries.bodyLengths === undefined) return limit;
  let bytes = 0;
  const end = database.all(queries.bodyLengths, after.rowId, upTo, limit).findIndex(([length]) => {
    bytes += Number(length ?? 0);
    return bytes > MAX_LARGE_BYTES / 2;
  });
  return end === -1 ? limit : Math.max(1, end);
}

/** Returns the event of a row of `ENTRY_COLUMNS`. */
export function toRowEntry(row: Row, snapshot: Snapshot): RowEntry {
  const { at } = ENTRY_COLUMNS;
  const rowId = row[at.rowId] as number;
  const guid = toText(row[at.guid]);
  const chat = row[at.chat] === null ? undefined : snapshot.chat(row[at.chat] as number);
  const marks = marksOf(snapshot, row[at.flags] as number, chat);
  if (!hasFlag(row, 'isMessage')) {
    const associated = Number(row[at.associatedType] ?? 0);
    const isRemoval = associated >= 3000 && associated < 4000;
    const data = toReaction(row, snapshot);
    const type = isRemoval ? 'reaction.removed' : 'reaction.added';
    return { offset: rowOffset(rowId), rowId, guid, event: { type, data }, marks };
  }
  const data = toMessage(row, snapshot);
  const type = data.is_from_me ? 'message.sent' : 'message.received';
  return { offset: rowOffset(rowId), rowId, guid, event: { type, data }, marks };
}

/**
 * Returns the event of a row, and reports whether Messages has yet to add data such as the row's chat or attachments
 * (decision C2). A row with status `failed` counts as complete.
 */
function toPendingRow(row: Row, snapshot: Snapshot): PendingRow {
  const { at } = PENDING_COLUMNS;
  const status = row[at.status] as number;
  const isSettled = status === STATUS_CODE.failed;
  // Lists the members instead of spreading the result of `toRowEntry`: adding members to a spread object takes as long
  // as reading the row.
  const { offset, rowId, guid, event, marks } = toRowEntry(row, snapshot);
  const lacksChat = row[at.chat] === null || hasFlag(row, 'lacksJoin');
  return {
    offset,
    rowId,
    guid,
    event,
    marks,
    datedMs: toUnixMs(instantAt(row, at.date)),
    isIncomplete: !isSettled && (lacksChat || lacksAttachments(row, snapshot)),
    isUnsent: status === STATUS_CODE.unsent,
    isSilent: hasFlag(row, 'isPartOfPoll'),
    isImessage: hasFlag(row, 'isImessage'),
    lacksHandle: hasFlag(row, 'isMessage') && hasFlag(row, 'lacksHandle'),
  };
}

/**
 * Returns the row ids of the earlier incoming copies if this row is an outgoing message to oneself. Returns an empty
 * list for every other row.
 */
function copiesBefore(snapshot: Snapshot, { event: { type, data } }: RowEntry): readonly number[] {
  return type === 'message.sent' ? earlierCopiesOf(snapshot, data) : [];
}

function lacksAttachments(row: Row, snapshot: Snapshot): boolean {
  const { at } = PENDING_COLUMNS;
  if (row[at.announcesAttachments] === null) return false;
  if (row[at.hasUnnamedAttachment] !== 0) return true;
  const joined = row[at.attachments] as number;
  const announced = Math.max(row[at.announcesAttachments] === 0 ? 0 : 1, countPlaceholders(bodyOf(row, snapshot)));
  // Some attachments are never joined, but the body names them.
  return joined < announced && attachmentPaths(snapshot, row[at.rowId] as number).length < announced;
}

/**
 * Reads the identity of chat.db, which `isReplaced` compares. Opens chat.db for this one read, for programs other than
 * the service. Throws `chat_db_unavailable`.
 */
export function readLogIdentity(location: ChatDbLocation, at: Offset): LogIdentity {
  return readOnce(location, (connection) => new ChatLog(connection).identity(at));
}
