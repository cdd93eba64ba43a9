import type { Offset } from '../domain/offset.ts';
import type { PrintReader, PrintsRead, RowOrigin } from '../domain/ports/changes.ts';
import { toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { identityAt } from './message-log.ts';
import { printQueriesOf, printsBetween, printsOf } from './prints.ts';
import type { Snapshot } from './snapshot.ts';

/** Prints of rows, made by SQLite: one number a row costs a third of its columns as values. */
export class Fingerprints implements PrintReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number } {
    return this.#read(at, (snapshot) => {
      const { database } = snapshot;
      const from = Number(database.get(printQueriesOf(snapshot).newest, upTo, count - 1)?.[0] ?? 1);
      return { prints: printsBetween(snapshot, from, upTo), from };
    });
  }

  rows(at: Offset, rowIds: readonly number[]): PrintsRead {
    return this.#read(at, (snapshot) => {
      return { prints: printsOf(snapshot.database, printQueriesOf(snapshot).list, [JSON.stringify(rowIds)]) };
    });
  }

  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined } {
    return this.#read(at, (snapshot) => {
      const next = snapshot.database.get(printQueriesOf(snapshot).next, to)?.[0] ?? null;
      return { prints: printsBetween(snapshot, from, to), next: next === null ? undefined : Number(next) };
    });
  }

  watched(): readonly (readonly number[])[] {
    return this.#connection.read((snapshot) =>
      printQueriesOf(snapshot).watched.map((sql) => snapshot.database.all(sql).map(([rowId]) => Number(rowId))),
    );
  }

  deletions(): number {
    return this.#connection.read((snapshot) => {
      const { deletions } = printQueriesOf(snapshot);
      return deletions === undefined ? 0 : Number(snapshot.database.get(deletions)?.[0] ?? 0);
    });
  }

  origins(from: number, to: number): readonly RowOrigin[] {
    return this.#connection.read((snapshot) =>
      snapshot.database.all(printQueriesOf(snapshot).origins, from, to).map(([rowId, guid, chat]) => ({
        rowId: Number(rowId),
        guid: toText(guid),
        conversationId: toText(chat),
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
