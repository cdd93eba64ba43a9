import { DAY_MS } from '../model/durations.ts';
import { CHANGE_NAMES } from '../model/event.ts';
import { NO_PRINT, PRINTS_VERSION, type Print, type PrintArray } from '../model/fingerprint.ts';
import { BLOCK_ROWS, type Change, type ChangeStore, type LoggedChange } from '../model/ports/changes-ports.ts';
import type { Row, Sqlite } from '../runtime/sqlite.ts';

/** Maximum number of changes kept. A change is kept for at most `KEPT_MS`. */
const KEPT_CHANGES = 100_000;
const KEPT_MS = 30 * DAY_MS;
/** Maximum number of changes that one statement deletes because of their age. */
const FORGOTTEN_AT_ONCE = 1000;

const RESTART = 'DELETE FROM change; DELETE FROM fingerprint; UPDATE change_detection SET generation = generation + 1';

/**
 * Stores the change log. Also stores the fingerprints of rows, because a changed fingerprint reveals a change. Deletes
 * all fingerprints if an earlier version of Postern computed them differently.
 */
export function changeStore(database: Sqlite): ChangeStore {
  takePrintsAgain(database);
  const selectState = database.prepare('SELECT generation, is_on, asked_at_ms, swept_at_ms FROM change_detection');
  const setState = database.prepare('UPDATE change_detection SET is_on = ?, asked_at_ms = ?, swept_at_ms = NULL');
  const setAsked = database.prepare('UPDATE change_detection SET asked_at_ms = ?');
  const setSwept = database.prepare('UPDATE change_detection SET swept_at_ms = ?');
  const selectNewest = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'change'");
  const selectOldest = database.prepare('SELECT min(seq) FROM change');
  const select = database.prepare(
    `SELECT seq, row_id, names, is_removed, guid, conversation_id, first_row_id, count FROM change
      WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
  );
  const forgetMany = database.prepare('DELETE FROM change WHERE seq <= ?');
  const forgetOld = database.prepare(
    `DELETE FROM change WHERE seq <= (SELECT max(seq) FROM
       (SELECT seq, at_ms FROM change ORDER BY seq LIMIT ${FORGOTTEN_AT_ONCE}) WHERE at_ms < ?)`,
  );
  const selectBlock = database.prepare('SELECT prints FROM fingerprint WHERE block = ?');
  const selectNextBlock = database.prepare('SELECT min(block) FROM fingerprint WHERE block >= ?');
  const writePrints = printWriter(database);
  const newest = (): number => Number(selectNewest.get()?.[0] ?? 0);

  const add = changeWriter(database);
  const restart = (isOn: boolean, nowMs: number, prints: ReadonlyMap<number, Print>): void =>
    database.transaction(() => {
      database.exec(RESTART);
      setState.run(isOn ? 1 : 0, nowMs);
      writePrints(prints);
    });

  return {
    generation: () => Number(selectState.get()?.[0] ?? 0),
    newest,
    floor() {
      const oldest = selectOldest.get()?.[0] ?? null;
      return oldest === null ? newest() : Number(oldest) - 1;
    },
    changes: (after, upTo, limit) => select.all(after, upTo, limit).map(toChange),
    state() {
      const [, isOn, askedAtMs, sweptAtMs = null] = selectState.get() ?? [];
      return {
        isOn: isOn === 1,
        askedAtMs: Number(askedAtMs ?? 0),
        sweptAtMs: sweptAtMs === null ? null : Number(sweptAtMs),
      };
    },
    begin: (nowMs, prints) => restart(true, nowMs, prints),
    end: () => restart(false, 0, new Map()),
    noteAsked: (nowMs) => void setAsked.run(nowMs),
    noteSwept(nowMs) {
      database.transaction(() => {
        setSwept.run(nowMs);
        forgetOld.run(nowMs - KEPT_MS);
      });
    },
    prints(block) {
      const bytes = selectBlock.get(block)?.[0];
      return bytes instanceof Uint8Array ? toPrints(bytes) : undefined;
    },
    nextBlock(block) {
      const next = selectNextBlock.get(block)?.[0] ?? null;
      return next === null ? undefined : Number(next);
    },
    record(changes, prints, nowMs) {
      database.transaction(() => {
        for (const change of changes) add(change, nowMs);
        writePrints(prints);
        if (changes.length === 0) return;
        forgetMany.run(newest() - KEPT_CHANGES);
        forgetOld.run(nowMs - KEPT_MS);
      });
    },
  };
}

/** Returns a function that adds a change to the log inside the caller's transaction. */
export function changeWriter(database: Sqlite): (change: Change, atMs: number) => void {
  const insert = database.prepare(
    `INSERT INTO change (row_id, names, is_removed, at_ms, guid, conversation_id, first_row_id, count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (change, atMs) => {
    if (change.kind === 'many') {
      insert.run(change.lastRowId, 0, 0, atMs, null, null, change.firstRowId, change.count);
    } else if (change.kind === 'removed') {
      insert.run(change.rowId, 0, 1, atMs, change.guid, change.conversationId, null, null);
    } else {
      insert.run(change.rowId, toBits(change.changes), 0, atMs, null, null, null, null);
    }
  };
}

/**
 * Discards all fingerprints if an earlier version of Postern computed them differently. The change log and its
 * generation stay, and new fingerprints are taken without reporting changes. An upgrade alone therefore causes no event
 * and expires no offset (decision U1).
 */
function takePrintsAgain(database: Sqlite): void {
  const version = database.prepare('SELECT prints_version FROM change_detection').get()?.[0];
  if (version === PRINTS_VERSION) return;
  database.transaction(() => {
    database.exec('DELETE FROM fingerprint');
    database.prepare('UPDATE change_detection SET prints_version = ?, swept_at_ms = NULL').run(PRINTS_VERSION);
  });
}

/** Restarts the change log inside the caller's transaction, after chat.db was replaced (decision C5). */
export function restartChanges(database: Sqlite): void {
  database.exec(`${RESTART}; UPDATE change_detection SET swept_at_ms = NULL`);
}

/**
 * Starts a new generation of the change log. Every offset of an earlier generation expires, because a restored change
 * log reuses numbers that clients have received since the backup. The new generation is at least the Unix time in
 * seconds, so it is higher than any earlier one.
 */
export function expireOffsets(database: Sqlite): void {
  database.exec("UPDATE change_detection SET generation = max(generation + 1, CAST(strftime('%s', 'now') AS INTEGER))");
}

/**
 * Returns a function that writes the fingerprints of rows inside the caller's transaction, and rewrites only the blocks
 * that contain these rows. With `isFirst`, a row keeps an existing fingerprint, because the changes since that
 * fingerprint have not been reported yet.
 */
export function printWriter(database: Sqlite): (prints: ReadonlyMap<number, Print>, isFirst?: boolean) => void {
  const select = database.prepare('SELECT prints FROM fingerprint WHERE block = ?');
  const upsert = database.prepare('INSERT OR REPLACE INTO fingerprint (block, prints) VALUES (?, ?)');
  const remove = database.prepare('DELETE FROM fingerprint WHERE block = ?');
  return (prints, isFirst = false) => {
    const blocks = new Map<number, PrintArray>();
    for (const [rowId, print] of prints) {
      const number = Math.floor(rowId / BLOCK_ROWS);
      let block = blocks.get(number);
      if (block === undefined) {
        const stored = select.get(number)?.[0];
        block = stored instanceof Uint8Array ? toPrints(stored) : new Float64Array(BLOCK_ROWS);
        blocks.set(number, block);
      }
      const at = rowId % BLOCK_ROWS;
      if (!isFirst || block[at] === NO_PRINT) block[at] = print;
    }
    for (const [number, block] of blocks) {
      if (block.every((print) => print === NO_PRINT)) remove.run(number);
      else upsert.run(number, new Uint8Array(block.buffer));
    }
  };
}

function toPrints(bytes: Uint8Array): PrintArray {
  const prints = new Float64Array(BLOCK_ROWS);
  const room = new Uint8Array(prints.buffer);
  room.set(bytes.subarray(0, room.length));
  return prints;
}

function toBits(names: readonly string[]): number {
  return CHANGE_NAMES.reduce((bits, name, at) => (names.includes(name) ? bits + 2 ** at : bits), 0);
}

function toChange([seq, rowId, names, isRemoved, guid, conversation, first, count]: Row): LoggedChange {
  const numbers = { seq: Number(seq), rowId: Number(rowId) };
  if (first !== null && first !== undefined) {
    const { rowId: lastRowId } = numbers;
    return { kind: 'many', firstRowId: Number(first), lastRowId, count: Number(count), seq: numbers.seq };
  }
  if (isRemoved === 1) {
    return { ...numbers, kind: 'removed', guid: String(guid ?? ''), conversationId: String(conversation ?? '') };
  }
  return { ...numbers, kind: 'updated', changes: CHANGE_NAMES.filter((_, at) => (Number(names) & (2 ** at)) !== 0) };
}
