import { openSqlite, type Row, type Sqlite, type SqlValue } from '../../core/runtime/sqlite.ts';

/** Longest wait for a lock on the file: long enough for a commit by Contacts. The wait blocks the event loop. */
const BUSY_TIMEOUT_MS = 50;
const CACHE_KIB = 512;
/** Number of rows read before other work can run. Reading them takes some milliseconds. */
const BATCH_SIZE = 1000;
/** Maximum length of a name or an address in UTF-16 code units. A longer text is read as "". */
const MAX_TEXT = 400;
/** Text that `textOf` returns unchanged: ASCII words separated by single spaces. */
const PLAIN = /^[!-~](?:[!-~]| (?=[!-~]))*$/;
const ADDRESSES = [
  ['ZABCDPHONENUMBER', 'ZFULLNUMBER'],
  ['ZABCDEMAILADDRESS', 'ZADDRESS'],
] as const;

/** A stored card without its addresses. */
export interface StoredCard {
  readonly key: number;
  readonly first: string;
  readonly last: string;
  readonly nickname: string;
  readonly organization: string;
  /** Identifies a group of linked cards, which Contacts shows as one card; "" if the card is not linked. */
  readonly link: string;
}

/** One file of the Address Book, opened read-only. Each account of the user has its own file. */
export class AddressBookFile {
  readonly #sqlite: Sqlite;

  /** Throws SQLite's error if the file cannot be opened or is not a database. */
  constructor(path: string) {
    this.#sqlite = openSqlite(path, { readonly: true, busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      this.#sqlite.exec(
        `PRAGMA query_only = 1; PRAGMA trusted_schema = 0; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0`,
      );
      // Opening reads nothing: only a query proves that the file is a database.
      this.#sqlite.prepare('SELECT count(*) FROM sqlite_master').get();
    } catch (error) {
      this.#sqlite.close();
      throw error;
    }
  }

  /** Returns a number that changes with every commit by another connection. */
  version(): number {
    return Number(this.#sqlite.prepare('PRAGMA data_version').get()?.[0]);
  }

  /**
   * Passes every card to `add`, and yields after each batch. Recognizes cards by their entity number. That number
   * differs between Macs, so it is looked up in the file.
   */
  *people(add: (card: StoredCard) => void): Generator<void> {
    const table = 'ZABCDRECORD';
    const known = this.#columnsOf(table);
    const contact = known.has('Z_ENT') ? this.#contactEntity() : undefined;
    const columns = ['ZFIRSTNAME', 'ZLASTNAME', 'ZNICKNAME', 'ZORGANIZATION', 'ZLINKID'].map((name) =>
      columnSql(name, known),
    );
    for (const rows of this.#batches(table, known, columns, contact === undefined ? '1' : `Z_ENT = ${contact}`)) {
      for (const [key, first, last, nickname, organization, link] of rows) {
        add({
          key: Number(key),
          first: textOf(first),
          last: textOf(last),
          nickname: textOf(nickname),
          organization: textOf(organization),
          link: link === 0 ? '' : textOf(link),
        });
      }
      yield;
    }
  }

  /** Passes each stored address, with the key of its card, to `add`, and yields after each batch. */
  *addresses(add: (owner: number, address: string) => void): Generator<void> {
    for (const [table, column] of ADDRESSES) {
      const known = this.#columnsOf(table);
      if (!known.has('ZOWNER')) continue;
      const columns = ['ZOWNER', columnSql(column, known)];
      for (const rows of this.#batches(table, known, columns, "typeof(ZOWNER) = 'integer'")) {
        for (const [, owner, address] of rows) add(Number(owner), textOf(address));
        yield;
      }
    }
  }

  close(): void {
    this.#sqlite.close();
  }

  /** Yields the key and the given columns of a table's rows, in batches. Yields nothing if the table does not exist. */
  *#batches(
    table: string,
    known: ReadonlySet<string>,
    columns: readonly string[],
    condition: string,
  ): Generator<readonly Row[]> {
    if (!known.has('Z_PK')) return;
    const statement = this.#sqlite.prepare(
      `SELECT Z_PK, ${columns.join(', ')} FROM ${table}
       WHERE Z_PK > ? AND Z_PK <= ${Number.MAX_SAFE_INTEGER} AND ${condition} ORDER BY Z_PK LIMIT ${BATCH_SIZE}`,
    );
    let after = Number.MIN_SAFE_INTEGER;
    while (true) {
      const rows = statement.all(BigInt(after));
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH_SIZE) return;
      after = Number(rows.at(-1)?.[0]);
    }
  }

  #columnsOf(table: string): ReadonlySet<string> {
    const isTable = this.#sqlite.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
    if (isTable === undefined) return new Set();
    return new Set(
      this.#sqlite
        .prepare(`PRAGMA table_info(${table})`)
        .all()
        .map(([, name]) => String(name)),
    );
  }

  #contactEntity(): number | undefined {
    const known = this.#columnsOf('Z_PRIMARYKEY');
    if (!known.has('Z_ENT') || !known.has('Z_NAME')) return undefined;
    const row = this.#sqlite.prepare("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'ABCDContact' LIMIT 1").get();
    const entity = row?.[0];
    return typeof entity === 'number' && Number.isSafeInteger(entity) ? entity : undefined;
  }
}

/** SQL for a column, or NULL if this version of macOS lacks it. */
function columnSql(name: string, known: ReadonlySet<string>): string {
  return known.has(name) ? name : 'NULL';
}

/**
 * Returns a value as text on one line. A damaged or hostile file may contain anything: returns "" for a blob, and for a
 * text longer than `MAX_TEXT`.
 */
function textOf(value: SqlValue | undefined): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || value.length > MAX_TEXT) return '';
  return PLAIN.test(value) ? value : value.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}
