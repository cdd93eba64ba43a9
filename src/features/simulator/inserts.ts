import type { SqlValue, Statement } from '../../core/runtime/sqlite.ts';
import type { ChatDatabase } from './chat-database.ts';

const ROWS_A_STATEMENT = 20;

/** Inserts rows into one table in bulk. Skips columns that the schema lacks. */
export class Inserts {
  readonly #isKept: readonly boolean[];
  readonly #prepare: (rows: number) => Statement;
  readonly #full: Statement;
  #waiting: SqlValue[] = [];
  #rows = 0;

  constructor(database: ChatDatabase, table: string, columns: readonly string[]) {
    this.#isKept = columns.map((name) => name === 'ROWID' || database.hasColumn(table, name));
    const names = columns.filter((_, at) => this.#isKept[at]);
    const row = `(${names.map(() => '?').join(', ')})`;
    this.#prepare = (rows) =>
      database.sqlite.prepare(
        `INSERT INTO ${table} (${names.join(', ')}) VALUES ${Array<string>(rows).fill(row).join(', ')}`,
      );
    this.#full = this.#prepare(ROWS_A_STATEMENT);
  }

  add(row: readonly SqlValue[]): void {
    for (const [at, value] of row.entries()) if (this.#isKept[at]) this.#waiting.push(value);
    this.#rows += 1;
    if (this.#rows === ROWS_A_STATEMENT) this.#run(this.#full);
  }

  flush(): void {
    if (this.#rows > 0) this.#run(this.#prepare(this.#rows));
  }

  #run(statement: Statement): void {
    statement.run(...this.#waiting);
    this.#waiting = [];
    this.#rows = 0;
  }
}
