import { errorCode } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { columnNames, isCorrupt, TemporaryTables } from './temporary-tables.ts';

/** The rows of one table that cannot be read. */
export interface UnreadableRows {
  readonly table: string;
  /** Ids of the rows of which nothing can be read, in ascending order. */
  readonly rowIds: readonly number[];
  /** Ids of all rows that the table cannot return. An index still has the content of some of them. */
  readonly skipped: readonly number[];
}

/** The rows that a chat.db with damaged pages cannot return. */
export interface Damage {
  readonly tables: readonly UnreadableRows[];
  /** True if an index is damaged, too. No index of chat.db is used then. */
  readonly hasBadIndex: boolean;
}

/** The tables that are read around. Every other table is read as it is. */
export const CONTENT_TABLES = [
  'message',
  'chat',
  'handle',
  'attachment',
  'chat_message_join',
  'chat_handle_join',
  'message_attachment_join',
  'chat_recoverable_message_join',
  'chat_lookup',
] as const;

const JOINS = 'chat_message_join';

/** The indexes without which lists of conversations and messages would read all joins once per message. */
const JOIN_INDEXES: readonly (readonly string[])[] = [['message_id'], ['chat_id', 'message_date', 'message_id']];

/** With more damaged ranges than this, lists do not use the indexes of `message` but sort all rows. */
const MAX_RANGES = 100;

/**
 * Reads around damaged pages, and stands in for a missing index. TEMP tables and views of the same names hide the
 * tables of chat.db from this one connection, so that every query works as it is. chat.db is never written.
 *
 * SQLite stops a query at the first damaged page, so a view must not let it come near one. `message` looks a row up by
 * its id, and only if the id is in a list of readable ones. `message_by_index` is for queries that an index drives:
 * it excludes the damaged ranges by row id, which SQLite compares in the index, before it opens the row.
 */
export class ReadAround {
  readonly #sqlite: Sqlite;
  readonly #copies = new Map<string, () => void>();
  readonly #tables: TemporaryTables;
  #hasMessageView = false;
  #version = Number.NaN;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#tables = new TemporaryTables(sqlite);
  }

  /** The table or view for queries that find messages by an index instead of by row id. */
  get messagesByIndex(): 'message' | 'message_by_index' {
    return this.#hasMessageView ? 'message_by_index' : 'message';
  }

  /** Reports whether chat.db has no index of its joins by message. `copyJoins` makes up for it. */
  lacksJoinIndex(): boolean {
    const hasIndex = this.#tables.indexes(JOINS).some(({ columns }) => columns[0] === 'message_id');
    return !hasIndex && this.#tables.columns(JOINS).includes('message_id');
  }

  /** Copies up to `limit` joins into a TEMP table with indexes. Returns true after the last. Throws `index_missing`. */
  copyJoins(limit = -1): boolean {
    try {
      return this.#tables.write(() => {
        if (!this.#copies.has(JOINS)) {
          this.#version = this.#commit();
          this.#tables.create(JOINS, JOIN_INDEXES);
          this.#copies.set(JOINS, () => this.#updateJoins());
        }
        return this.#addJoins(limit) < limit || limit < 0;
      });
    } catch (cause) {
      if (isCorrupt(cause)) throw cause;
      throw problem('index_missing', { table: JOINS, reason: errorCode(cause) ?? 'unknown error' }, { cause });
    }
  }

  #addJoins(limit: number): number {
    const columns = columnNames(this.#tables.columns(JOINS));
    return this.#sqlite
      .prepare(`INSERT INTO temp.${JOINS} (ROWID, ${columns}) SELECT ROWID, ${columns} FROM main.${JOINS}
        WHERE ROWID > (SELECT ifnull(max(ROWID), ${Number.MIN_SAFE_INTEGER}) FROM temp.${JOINS}) ORDER BY ROWID LIMIT ?`)
      .run(limit);
  }

  /**
   * Adds the joins of new messages. If joins are gone, compares all of them and removes those that are not in chat.db
   * as they were copied: SQLite gives the row id of a removed join to the next one.
   */
  #updateJoins(): void {
    const isSame = ['chat_id', 'message_id'].map((column) => `m.${column} IS t.${column}`).join(' AND ');
    const isThere = `EXISTS (SELECT 1 FROM main.${JOINS} m WHERE m.ROWID = t.ROWID AND ${isSame})`;
    const last = this.#sqlite.prepare(`SELECT ${isThere} FROM temp.${JOINS} t ORDER BY t.ROWID DESC LIMIT 1`).get();
    if (last?.[0] !== 0) this.#addJoins(-1);
    const [copied, stored] = ['temp', 'main'].map((of) =>
      Number(this.#sqlite.prepare(`SELECT count(*) FROM ${of}.${JOINS}`).get()?.[0]),
    );
    if (last?.[0] !== 0 && copied === stored) return;
    this.#sqlite.exec(`DELETE FROM temp.${JOINS} AS t WHERE NOT ${isThere}`);
    this.#addJoins(-1);
  }

  /** Finds the rows that cannot be read. Reads every row once. */
  survey(): Damage {
    const tables = CONTENT_TABLES.filter((table) => this.#tables.columns(table).length > 0).map((table) => {
      const skipped = this.#tables.write(() => this.#unreadable(table));
      const saved = new Set(this.#tables.savedByIndex(table, skipped).map(([rowId]) => Number(rowId)));
      return { table, skipped, rowIds: skipped.filter((rowId) => !saved.has(rowId)) };
    });
    return { tables: tables.filter(({ skipped }) => skipped.length > 0), hasBadIndex: false };
  }

  /** Hides the unreadable rows from this connection. */
  apply(damage: Damage): void {
    const { hasBadIndex } = damage;
    this.#version = this.#commit();
    for (const table of CONTENT_TABLES.slice(1)) {
      const found = damage.tables.find((one) => one.table === table);
      const columns = this.#tables.columns(table);
      if (columns.length === 0 || (found === undefined && !hasBadIndex)) continue;
      const source = (): string => {
        this.#tables.listIds(table, found?.skipped ?? []);
        return `SELECT m.ROWID, ${columnNames(columns, 'm.')} FROM temp.ids_${table} r CROSS JOIN main.${table} m ON m.ROWID = r.id`;
      };
      const extra = table === JOINS ? JOIN_INDEXES : [];
      this.#copy(table, source, extra, found?.skipped);
    }
    const rows = damage.tables.find(({ table }) => table === 'message')?.skipped ?? [];
    if (rows.length > 0 || hasBadIndex) this.#tables.write(() => this.#viewMessages(rows, hasBadIndex));
  }

  /** Brings TEMP tables up to date if chat.db had a commit since the last call. */
  refresh(): void {
    if (this.#copies.size === 0 && !this.#hasMessageView) return;
    const now = this.#commit();
    if (now === this.#version) return;
    this.#tables.write(() => {
      for (const copy of this.#copies.values()) copy();
      if (this.#hasMessageView) this.#addNewIds();
    });
    this.#version = now;
  }

  #commit(): number {
    return Number(this.#sqlite.prepare('PRAGMA data_version').get()?.[0]);
  }

  #viewMessages(rows: readonly number[], hasBadIndex: boolean): void {
    const columns = this.#tables.columns('message');
    this.#tables.listIds('message', rows);
    const ranges = this.#ranges(rows);
    const byIndex =
      hasBadIndex || ranges.length > MAX_RANGES
        ? 'SELECT * FROM temp.message'
        : `SELECT ROWID AS ROWID, ${columnNames(columns)} FROM main.message
           WHERE ${['1', ...ranges.map(([first, last]) => `NOT ROWID BETWEEN ${first} AND ${last}`)].join(' AND ')}`;
    this.#sqlite.exec(`DROP VIEW IF EXISTS temp.message; DROP VIEW IF EXISTS temp.message_by_index;
      CREATE TEMP VIEW message AS SELECT r.id AS ROWID, ${columnNames(columns, 'm.')}
        FROM temp.ids_message r CROSS JOIN main.message m NOT INDEXED ON m.ROWID = r.id;
      CREATE TEMP VIEW message_by_index AS ${byIndex}`);
    this.#hasMessageView = true;
  }

  /** Returns ranges that contain all of these ids, in ascending order, and no readable row. */
  #ranges(rowIds: readonly number[]): readonly (readonly [first: number, last: number])[] {
    const between = this.#sqlite.prepare('SELECT 1 FROM temp.ids_message WHERE id > ? AND id < ? LIMIT 1');
    const ranges: [number, number][] = [];
    for (const rowId of rowIds) {
      const last = ranges.at(-1);
      if (last !== undefined && between.get(last[1], rowId) === undefined) last[1] = rowId;
      else ranges.push([rowId, rowId]);
    }
    return ranges;
  }

  #copy(...[table, ...how]: Parameters<TemporaryTables['copy']>): void {
    this.#copies.set(table, this.#tables.copy(table, ...how));
  }

  #addNewIds(): void {
    try {
      this.#sqlite.exec(`INSERT OR IGNORE INTO temp.ids_message SELECT ROWID FROM main.message
        WHERE ROWID > (SELECT ifnull(max(id), 0) FROM temp.ids_message) AND ROWID <= ${Number.MAX_SAFE_INTEGER}`);
    } catch (error) {
      // The newest page is damaged, so SQLite cannot have added a row behind it.
      if (!isCorrupt(error)) throw error;
    }
  }

  /** Returns the ids of the rows whose pages cannot be read, in ascending order. */
  #unreadable(table: string): readonly number[] {
    this.#tables.listIds(table, []);
    const ids = `temp.ids_${table}`;
    // Comparing a value makes SQLite read all of its pages, which asking for its length or type does not.
    const isRead = this.#tables.columns(table).map((column) => `m."${column}" IS x'00'`);
    const probe = this.#sqlite.prepare(`SELECT count(*) FROM ${ids} r CROSS JOIN main.${table} m ON m.ROWID = r.id
      WHERE r.id BETWEEN ? AND ? AND (${isRead.join(' OR ')})`);
    const found: number[] = [];
    const [first, last] = this.#sqlite.prepare(`SELECT min(id), max(id) FROM ${ids}`).get() ?? [];
    const ranges = first === null || first === undefined ? [] : [[Number(first), Number(last)] as const];
    for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
      const [from, to] = range;
      try {
        probe.get(from, to);
      } catch (error) {
        if (!isCorrupt(error)) throw error;
        const middle = Math.floor((from + to) / 2);
        if (from === to) found.push(from);
        else ranges.push([middle + 1, to], [from, middle]);
      }
    }
    return found;
  }
}

/** Maximum number of ranges that `idRanges` names. */
const MAX_NAMED = 20;

/** Names row ids for people, as in `1038-1052, 1060`. */
export function idRanges(rowIds: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const rowId of rowIds) {
    const last = ranges.at(-1);
    if (last !== undefined && rowId === last[1] + 1) last[1] = rowId;
    else ranges.push([rowId, rowId]);
  }
  const named = ranges.slice(0, MAX_NAMED).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return [...named, ...(ranges.length > MAX_NAMED ? [`and ${ranges.length - MAX_NAMED} more ranges`] : [])].join(', ');
}

/** Returns a sentence that names the rows that cannot be read; undefined if every row can. */
export function damageSentence({ tables, hasBadIndex }: Damage): string | undefined {
  const lost = tables.filter(({ rowIds }) => rowIds.length > 0);
  if (lost.length === 0) {
    return hasBadIndex || tables.length > 0 ? 'chat.db is damaged, but every row of it can be read.' : undefined;
  }
  const named = lost.map(({ table, rowIds }) => `${rowIds.length} of ${table} (row ids ${idRanges(rowIds)})`);
  return `chat.db is damaged. These rows cannot be read: ${named.join('; ')}.`;
}
