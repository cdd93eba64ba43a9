import { additionOf, NO_PRINT, type Print, REACTION_PRINT } from '../model/fingerprint.ts';
import type { Offset } from '../model/offset.ts';
import type {
  DifferingPrints,
  KnownPrints,
  PrintReader,
  PrintsRead,
  RowOrigin,
  RowRange,
} from '../model/ports/changes-ports.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { INT_PARAM, TEXT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { attachmentsSql, deletedSql, rowSql, watchedSql } from './fingerprint-sql.ts';
import { identityAt } from './log-identity.ts';
import type { Damage } from './read-around.ts';
import { anyChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Reads prints: numbers that show whether and how a row has changed. SQLite computes them, because returning one number
 * per row costs a third of returning the row's columns.
 */
export class Fingerprints implements PrintReader {
  readonly #connection: Connection;
  #unreadable: { readonly damage: Damage | undefined; readonly rowIds: ReadonlySet<number> } = {
    damage: undefined,
    rowIds: new Set(),
  };
  /** The previous result of each query in `PrintQueries.watched`. Key: the query's SQL. */
  readonly #watched = new Map<string, { readonly text: string; readonly rowIds: readonly number[] }>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  isUnreadable(rowId: number): boolean {
    const { damage } = this.#connection;
    if (damage !== this.#unreadable.damage) {
      this.#unreadable = { damage, rowIds: new Set(damage?.tables.find(({ table }) => table === 'message')?.skipped) };
    }
    return this.#unreadable.rowIds.has(rowId);
  }

  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number } {
    return this.#read(at, (snapshot) => {
      const from = firstOf(snapshot, upTo, count);
      return { prints: printsBetween(snapshot, from, upTo), from };
    });
  }

  differing(at: Offset, upTo: number, count: number, known: KnownPrints): DifferingPrints {
    return this.#read(at, (snapshot) => {
      const from = firstOf(snapshot, upTo, count);
      const ranges =
        upTo - from > MAX_GAPS * count ? [[from, upTo] as const] : rangesThatDiffer(snapshot, from, upTo, known);
      const prints = new Map<number, Print>();
      for (const [first, last] of ranges) {
        for (const [rowId, print] of printsBetween(snapshot, first, last)) prints.set(rowId, print);
      }
      return { prints, from, ranges };
    });
  }

  rows(at: Offset, rowIds: readonly number[]): PrintsRead {
    return this.#read(at, (snapshot) => {
      return {
        prints: printsOf(snapshot.database, printQueriesFor(snapshot.database.schema).list, [JSON.stringify(rowIds)]),
      };
    });
  }

  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined } {
    return this.#read(at, (snapshot) => {
      const next = snapshot.database.get(printQueriesFor(snapshot.database.schema).next, to)?.[0] ?? null;
      return { prints: printsBetween(snapshot, from, to), next: next === null ? undefined : Number(next) };
    });
  }

  watched(): readonly (readonly number[])[] {
    return this.#connection.read((snapshot) =>
      printQueriesFor(snapshot.database.schema).watched.map((sql) => {
        const text = toText(snapshot.database.get(sql)?.[0]);
        const before = this.#watched.get(sql);
        if (before?.text === text) return before.rowIds;
        this.#watched.set(sql, { text, rowIds: text === '' ? [] : text.split(',').map(Number) });
        return this.#watched.get(sql)?.rowIds ?? [];
      }),
    );
  }

  deletions(): number {
    return this.#connection.read(({ database }) => {
      const { deletions } = printQueriesFor(database.schema);
      return deletions === undefined ? 0 : Number(database.get(deletions)?.[0] ?? 0);
    });
  }

  origins(from: number, to: number): readonly RowOrigin[] {
    return this.#connection.read((snapshot) =>
      snapshot.database.all(printQueriesFor(snapshot.database.schema).origins, from, to).map(([rowId, guid, chat]) => ({
        rowId: Number(rowId),
        guid: toText(guid),
        conversationId: chat === null ? '' : (snapshot.chat(chat as number)?.guid ?? ''),
      })),
    );
  }

  #read<Result extends object>(at: Offset, use: (snapshot: Snapshot) => Result): Result & Pick<PrintsRead, 'identity'> {
    return this.#connection.read((snapshot) => ({
      ...use(snapshot),
      identity: identityAt(snapshot, this.#connection.fileId, at),
    }));
  }
}

/** Returns the lowest of the `count` highest row ids that do not exceed `upTo`; 1 if there are fewer. */
function firstOf(snapshot: Snapshot, upTo: number, count: number): number {
  return Number(snapshot.database.get(printQueriesFor(snapshot.database.schema).newest, upTo, count - 1)?.[0] ?? 1);
}

/** Row ids whose prints are compared at once, by their sum. Comparing each print would cost as much as reading it. */
const SUMMED_ROWS = 64;
/**
 * Sums are compared only in a range with at most this many row ids per requested row. In a wider range, most row ids
 * are unused, so the prints are read instead.
 */
const MAX_GAPS = 4;

/**
 * The SQL for prints. The parameters of `range` are the first and the last row id; that of `list` is a JSON array of
 * row ids.
 */
interface PrintQueries {
  readonly newest: string;
  readonly range: RowQueries;
  readonly list: RowQueries;
  /**
   * The weighted sum of the prints of a range. A print's weight is 1 plus the distance of its row id from the first row
   * id. Excludes the amounts that attachments and deletions add to a print.
   */
  readonly sum: string;
  readonly next: string;
  /** One query per watched set. Each returns the row ids of its set as one text, separated by commas. */
  readonly watched: readonly string[];
  readonly deletions: string | undefined;
  readonly origins: string;
}

interface RowQueries {
  /** Selects each row's id and print. The print excludes attachments and a deletion. The print of a reaction is -1. */
  readonly rows: string;
  /**
   * Selects the row id of each message with attachments, a checksum of their state, and a checksum of their
   * transcripts.
   */
  readonly attachments: string | undefined;
  /** Row ids of deleted messages: they are in no chat any more, but the user can still restore them. */
  readonly deleted: string | undefined;
}

/** Returns the prints of the rows from `from` up to and including `to`. Call it inside `Connection.read`. */
export function printsBetween(snapshot: Snapshot, from: number, to: number): ReadonlyMap<number, Print> {
  return printsOf(snapshot.database, printQueriesFor(snapshot.database.schema).range, [from, to]);
}

/** Returns the SQL from which `printsWith` computes the print of row `m`. */
export function printSql(schema: SchemaInfo): string {
  return `CASE WHEN ${isMessage(schema)} THEN ${rowSql(schema)} ELSE -1 END`;
}

/** Computes prints of rows from what `printSql` selected. Call it inside `Connection.read`. */
export function printsWith(
  { database }: Snapshot,
  rows: readonly (readonly [rowId: number, selected: SqlValue])[],
): ReadonlyMap<number, Print> {
  const rowIds = JSON.stringify(rows.map(([rowId]) => rowId));
  const additions = additionsOf(database, printQueriesFor(database.schema).list, [rowIds]);
  return new Map(rows.map(([rowId, selected]) => [rowId, toPrint(selected, additions.get(rowId))]));
}

function toPrint(selected: SqlValue, addition = 0): Print {
  return selected === -1 ? REACTION_PRINT : Number(selected ?? 0) + addition || 1;
}

function printsOf(
  database: ChatDbHandle,
  queries: RowQueries,
  parameters: readonly (number | string)[],
): ReadonlyMap<number, Print> {
  const additions = additionsOf(database, queries, parameters);
  const prints = new Map<number, Print>();
  for (const [rowId, value] of database.all(queries.rows, ...parameters)) {
    const id = Number(rowId);
    prints.set(id, toPrint(value ?? null, additions.get(id)));
  }
  return prints;
}

/** Returns by how much attachments and deletions raise the print of each of these rows. */
function additionsOf(
  database: ChatDbHandle,
  { attachments, deleted }: RowQueries,
  parameters: readonly (number | string)[],
): ReadonlyMap<number, number> {
  const numbers = (sql: string | undefined): Row[] => (sql === undefined ? [] : database.all(sql, ...parameters));
  const additions = new Map(
    numbers(attachments).map(([id, state, transcripts]) => [
      Number(id),
      additionOf({ attachments: Number(state), transcripts: Number(transcripts), isDeleted: false }),
    ]),
  );
  for (const [rowId] of numbers(deleted)) {
    const id = Number(rowId);
    additions.set(id, (additions.get(id) ?? 0) + additionOf({ attachments: 0, isDeleted: true }));
  }
  return additions;
}

/**
 * Returns the parts of a range in which a print differs from the known one. Compares sums of prints, weighted so that
 * two changes do not cancel out. May also return a part without a difference, which costs only a needless read.
 */
function rangesThatDiffer(snapshot: Snapshot, from: number, upTo: number, known: KnownPrints): RowRange[] {
  const { range, sum } = printQueriesFor(snapshot.database.schema);
  const additions = additionsOf(snapshot.database, range, [from, upTo]);
  const ranges: RowRange[] = [];
  for (let first = from; first <= upTo; first += SUMMED_ROWS) {
    const last = Math.min(first + SUMMED_ROWS - 1, upTo);
    let expected = 0;
    for (let rowId = first; rowId <= last; rowId += 1) {
      expected += withoutAddition(known.of(rowId), additions.get(rowId)) * (rowId - first + 1);
    }
    if (Number(snapshot.database.get(sum, first, first, last)?.[0]) !== expected) ranges.push([first, last]);
  }
  return ranges;
}

/**
 * Subtracts `addition` from a print: the part of it that stands for attachments and a deletion. The query `sum` leaves
 * this part out, too.
 */
function withoutAddition(print: Print, addition = 0): number {
  return addition === 0 || print === NO_PRINT || print === REACTION_PRINT ? print : Math.max(print - addition, 1);
}

const printQueriesFor = perSchema((schema): PrintQueries => {
  const content = rowSql(schema);
  const print = printSql(schema);
  const summed = `CASE WHEN ${isMessage(schema)} THEN max(${content}, 1) ELSE ${REACTION_PRINT} END`;
  const between = (rowId: string): string => `${rowId} >= ${INT_PARAM} AND ${rowId} <= ${INT_PARAM}`;
  const among = (rowId: string): string => `${rowId} IN (SELECT value FROM json_each(${TEXT_PARAM}))`;
  const of = (isIn: (rowId: string) => string): RowQueries => ({
    rows: `SELECT m.ROWID, ${print} FROM message m WHERE ${isIn('m.ROWID')}`,
    attachments: attachmentsSql(schema, isIn('j.message_id')),
    deleted: deletedSql(schema, isIn('r.message_id')),
  });
  return {
    newest: `SELECT ROWID FROM message WHERE ROWID <= ${INT_PARAM} ORDER BY ROWID DESC LIMIT 1 OFFSET ${INT_PARAM}`,
    sum: `SELECT ifnull(sum((${summed}) * (m.ROWID - (${INT_PARAM}) + 1)), 0)
      FROM message m WHERE ${between('m.ROWID')}`,
    range: of(between),
    list: of(among),
    next: `SELECT ROWID FROM message WHERE ROWID > ${INT_PARAM} AND ROWID <= ${Number.MAX_SAFE_INTEGER} ORDER BY ROWID LIMIT 1`,
    watched: watchedSql(schema),
    deletions: schema.hasTable('sqlite_sequence')
      ? "SELECT seq FROM sqlite_sequence WHERE name = 'deleted_messages'"
      : undefined,
    origins: `SELECT m.ROWID, m.guid, ${anyChat(schema)} FROM message m WHERE ${between('m.ROWID')}`,
  };
});
