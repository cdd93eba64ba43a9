import { openSqlite, type Row, type Sqlite, type SqlValue } from '../../runtime/sqlite.ts';

/** Long enough for a commit of Contacts, short enough to block the event loop for. */
const BUSY_TIMEOUT_MS = 50;
const CACHE_KIB = 512;
/** Rows read at once: some milliseconds' work. */
const BATCH_SIZE = 1000;
/** A longer text is no name and no address. */
const MAX_TEXT = 400;
/** Nothing to clean: words with one space between them. */
const PLAIN = /^[!-~](?:[!-~]| (?=[!-~]))*$/;
const ADDRESSES = [
  ['ZABCDPHONENUMBER', 'ZFULLNUMBER'],
  ['ZABCDEMAILADDRESS', 'ZADDRESS'],
] as const;

/** A card as it is stored, without its addresses. */
export interface StoredCard {
  readonly key: number;
  readonly first: string;
  readonly last: string;
  readonly nickname: string;
  readonly organization: string;
  /** Equal on the cards that Contacts shows as one; "" without others. */
  readonly link: string;
}

/** One file of the Address Book, open for reading alone: each account of the person has its own. */
export class AddressBookFile {
  readonly #sqlite: Sqlite;

  /** Throws SQLite's error when the file cannot be opened or is no database. */
  constructor(path: string) {
    this.#sqlite = openSqlite(path, { readonly: true, busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      this.#sqlite.exec(
        `PRAGMA query_only = 1; PRAGMA trusted_schema = 0; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0`,
      );
      // Only reading shows that it is a database.
      this.#sqlite.prepare('SELECT count(*) FROM sqlite_master').get();
    } catch (error) {
      this.#sqlite.close();
      throw error;
    }
  }

  /** Changes with every commit of another connection. */
  version(): number {
    return Number(this.#sqlite.prepare('PRAGMA data_version').get()?.[0]);
  }

  /** Gives everybody to `add`, a batch at a time. The numbers of entities differ from Mac to Mac, so they are looked up. */
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

  /** Gives each address as it is stored, and the key of its owner, to `add`, a batch at a time. */
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

  /** The key and the columns of a table; nothing from one that is not there. */
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

/** NULL for a column that this version of macOS lacks. */
function columnSql(name: string, known: ReadonlySet<string>): string {
  return known.has(name) ? name : 'NULL';
}

/** Text of any value that a damaged or hostile file may hold. */
function textOf(value: SqlValue | undefined): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || value.length > MAX_TEXT) return '';
  return PLAIN.test(value) ? value : value.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}
