import { DAY_MS } from '../model/durations.ts';
import { clientKey, storedKey } from '../model/idempotency-key.ts';
import type { ExpectedChat, SentPartStore } from '../model/ports/sent-parts-ports.ts';
import type { ServiceReason } from '../model/send-service.ts';
import type { Sqlite, SqlValue } from '../runtime/sqlite.ts';
import { firstNumber } from './record.ts';
import { durably } from './state-database.ts';

const KEPT_MS = 30 * DAY_MS;
const KEPT_PARTS = 100_000;

/** Stores the parts of each send, and the row in chat.db that belongs to each part (decision I5). */
export function sentPartStore(database: Sqlite): SentPartStore {
  const insert = database.prepare(
    `INSERT INTO sent_part (at_ms, request_id, idempotency_key, after_row_id, chat, content, is_open, service_reason,
       key_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const newest = database.prepare('SELECT max(number) FROM sent_part');
  const oldest = database.prepare(
    'SELECT number, at_ms, coalesce(row_id, until_row_id, after_row_id, 0) FROM sent_part ORDER BY number LIMIT 1',
  );
  const setChat = database.prepare('UPDATE sent_part SET chat = ? WHERE number = ?');
  const remove = database.prepare('DELETE FROM sent_part WHERE number = ?');
  const pair = database.prepare('UPDATE sent_part SET row_id = ?, guid = ?, is_open = 0 WHERE number = ?');
  const giveUp = database.prepare('UPDATE sent_part SET until_row_id = ?, is_open = 0 WHERE number = ?');
  // A part with a guid and no row id is in doubt. Its row is then kept as `until_row_id`.
  const doubt = database.prepare(
    'UPDATE sent_part SET until_row_id = row_id, row_id = NULL WHERE number = ? AND row_id IS NOT NULL',
  );
  const part = database.prepare(
    'SELECT at_ms, iif(guid IS NULL, NULL, coalesce(row_id, until_row_id)) FROM sent_part WHERE number = ?',
  );
  const open = database.prepare(
    'SELECT number, at_ms, after_row_id, chat, content FROM sent_part WHERE is_open <> 0 ORDER BY number',
  );
  const ofRow = database.prepare(
    'SELECT guid, request_id, idempotency_key, service_reason, key_id FROM sent_part WHERE row_id = ?',
  );
  const rowsOf = database.prepare(
    `SELECT coalesce(row_id, until_row_id) FROM sent_part WHERE idempotency_key = ? AND guid IS NOT NULL
     ORDER BY number`,
  );
  const unpaired = 'SELECT chat FROM sent_part WHERE row_id IS NULL AND ifnull(after_row_id, 0) < ?';
  const anyUnpaired = database.prepare(unpaired);
  const unpairedWith = database.prepare(`${unpaired} AND instr(content, ?) > 0`);
  const withoutRow = database.prepare(
    `SELECT at_ms, chat FROM sent_part WHERE row_id IS NULL AND instr(content, ?) > 0 AND at_ms BETWEEN ? AND ?
       AND instr(chat, ';') > 0`,
  );
  const since = database.prepare('SELECT row_id FROM sent_since');
  const begin = database.prepare('INSERT OR REPLACE INTO sent_since (one, row_id) VALUES (1, ?)');
  const raise = database.prepare('UPDATE sent_since SET row_id = max(row_id, ?)');

  /**
   * Removes the parts that are older than `KEPT_MS` or beyond the newest `KEPT_PARTS`. Raises `sent_since` to the
   * highest row of a removed part: for rows up to it, nothing shows any more who sent them.
   */
  const forget = (nowMs: number): void => {
    const last = Number(newest.get()?.[0]);
    for (;;) {
      const [number, atMs, rowId] = (oldest.get() ?? []).map(Number);
      if (number === undefined || atMs === undefined || rowId === undefined) return;
      if (atMs >= nowMs - KEPT_MS && last - number < KEPT_PARTS) return;
      raise.run(rowId);
      remove.run(number);
    }
  };

  return {
    record: ({ atMs, requestId = null, idempotencyKey, keyId = null, afterRowId = null, chat, content, ...part }) =>
      durably(database, () => {
        const key = idempotencyKey === undefined ? null : storedKey(idempotencyKey);
        const isOpen = afterRowId === null ? 0 : 1;
        const { serviceReason = null } = part;
        insert.run(atMs, requestId, key, afterRowId, textOf(chat), content, isOpen, serviceReason, keyId);
        forget(atMs);
        return Number(newest.get()?.[0]);
      }),
    setChat: (number, chat) => void setChat.run(textOf(chat), number),
    remove: (number) => void remove.run(number),
    pair: (number, rowId, guid) => void pair.run(rowId, guid, number),
    doubt: (number) => void doubt.run(number),
    giveUp: (number, highestRowId) => void giveUp.run(highestRowId, number),
    open: () =>
      open.all().map(([number, atMs, afterRowId, chat, content]) => ({
        number: Number(number),
        atMs: Number(atMs),
        afterRowId: Number(afterRowId),
        chat: chatOf(String(chat)),
        content: String(content),
      })),
    part(number) {
      const row = part.get(number);
      return row && { atMs: Number(row[0]), rowId: firstNumber(row.slice(1)) };
    },
    rowsOf: (key) => rowsOf.all(storedKey(key)).map(([rowId]) => Number(rowId)),
    ofRow(rowId) {
      const row = ofRow.get(rowId);
      if (row === undefined) return undefined;
      const key = textOrNothing(row[2]);
      return {
        guid: String(row[0]),
        requestId: textOrNothing(row[1]),
        idempotencyKey: key === undefined ? undefined : clientKey(key),
        serviceReason: textOrNothing(row[3]) as ServiceReason | undefined,
        keyId: textOrNothing(row[4]),
      };
    },
    unpaired(rowId, contents) {
      const rows =
        contents === undefined
          ? anyUnpaired.all(rowId)
          : contents.flatMap((content) => unpairedWith.all(rowId, content));
      return rows.map(([chat]) => chatOf(String(chat)));
    },
    withoutRow: (contents, fromMs, toMs) =>
      contents
        .flatMap((content) => withoutRow.all(content, fromMs, toMs))
        .map(([atMs, chat]) => ({ atMs: Number(atMs), address: String(chat) })),
    completeSince: () => firstNumber(since.get()),
    begin: (rowId) => void begin.run(rowId),
  };
}

/** Returns the text to store for a chat: `any`, `one_to_one`, or an address, which always contains a `;`. */
function textOf(chat: ExpectedChat): string {
  return typeof chat === 'string' ? chat : chat.address;
}

function chatOf(text: string): ExpectedChat {
  return text === 'any' || text === 'one_to_one' ? text : { address: text };
}

function textOrNothing(value: SqlValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}
