import { basename } from 'node:path';
import type { Message } from '../model/message.ts';
import type { EarlierRows } from '../model/ports/row-ages-ports.ts';
import { INT_PARAM, MESSAGE_COLUMNS, TEXT_PARAM } from './columns.ts';
import type { Connection } from './connection.ts';
import { messageOf, toMessage } from './message.ts';
import { messageParts } from './queries.ts';
import { anyChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import { perSchema } from './schema-info.ts';
import { datesAround } from './self-copies.ts';
import type { Snapshot } from './snapshot.ts';

/** A row that iCloud writes again has the same date, to within this many milliseconds. */
const SAME_DATE_MS = 1000;
/** Maximum number of rows of one date that are compared. */
const MAX_ROWS = 100;

/** SQL for the rows that a row is compared with; undefined without an index by date. */
const earlierSql = perSchema((schema) => {
  if (!schema.hasIndex('message', 'date')) return undefined;
  const columns = MESSAGE_COLUMNS.select(messageParts(schema, anyChat(schema)));
  return {
    /** `MESSAGE_COLUMNS` of earlier rows. Parameters: first and last date, row id. */
    twins: `SELECT ${columns} FROM ${schema.messagesByIndex} m
      WHERE m.date BETWEEN ${INT_PARAM} AND ${INT_PARAM} AND m.date > 0 AND m.ROWID < ${INT_PARAM} AND ${isMessage(schema)}
      ORDER BY m.ROWID LIMIT ${MAX_ROWS}`,
    /** The row id of the chat of a row. */
    chat: `SELECT ${anyChat(schema)} FROM message m WHERE m.ROWID = ${INT_PARAM}`,
    /**
     * Is there a later row of the same sender in one of these chats? Parameters: row id, highest row id, a JSON array
     * of row ids of chats.
     */
    later: `SELECT 1 FROM message r CROSS JOIN ${schema.messagesByIndex} m ON m.date > r.date
      WHERE r.ROWID = ${INT_PARAM} AND m.ROWID <= ${INT_PARAM} AND m.handle_id = r.handle_id
        AND m.is_from_me = r.is_from_me AND ${anyChat(schema)} IN (SELECT value FROM json_each(${TEXT_PARAM}))
      LIMIT 1`,
  };
});

/** Compares rows of chat.db with the rows before them (decision AB6). */
export function earlierRows(connection: Connection): EarlierRows {
  return {
    twinOf: (rowId) => connection.read((snapshot) => twinOf(snapshot, rowId)),
    hasLater: (rowId, upTo) =>
      connection.read((snapshot) => {
        const { database } = snapshot;
        const sql = earlierSql(database.schema);
        const chatId = sql && database.get(sql.chat, rowId)?.[0];
        const chat = typeof chatId === 'number' ? snapshot.chat(chatId) : undefined;
        if (sql === undefined || chat === undefined) return false;
        return database.get(sql.later, rowId, upTo, JSON.stringify(chat.rowIds)) !== undefined;
      }),
  };
}

function twinOf(snapshot: Snapshot, rowId: number): Pick<Message, 'id' | 'guid'> | undefined {
  const { database } = snapshot;
  const sql = earlierSql(database.schema)?.twins;
  const message = sql === undefined ? undefined : messageOf(snapshot, rowId);
  if (sql === undefined || message === undefined) return undefined;
  const twin = database
    .all(sql, ...datesAround(snapshot, rowId, SAME_DATE_MS, SAME_DATE_MS), rowId)
    .map((row) => toMessage(row, snapshot))
    .find((earlier) => isSame(earlier, message));
  return twin && { id: twin.id, guid: twin.guid };
}

function isSame(one: Message, other: Message): boolean {
  return identityOf(one) === identityOf(other);
}

function identityOf({ conversation_id: id, sender, is_from_me: isFromMe, body, attachments }: Message): string {
  return JSON.stringify([id, isFromMe || sender, body, ...attachments.map((path) => basename(path))]);
}
