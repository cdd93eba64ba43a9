import { folded } from '../domain/folded.ts';
import type { ChatNames } from '../domain/ports/search.ts';
import { TEXT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { perSchema } from './schema-info.ts';
import { chatsMeant } from './send-lookup.ts';

const nameQueriesOf = perSchema((schema) => ({
  /** A row if there is a handle with this address, whatever its case. Parameter: address. */
  handle: `SELECT 1 FROM handle WHERE id = ${TEXT_PARAM} COLLATE NOCASE LIMIT 1`,
  /** Guid and display name of every chat that has one. */
  displayNames: schema.hasColumn('chat', 'display_name')
    ? "SELECT guid, display_name FROM chat WHERE display_name <> '' ORDER BY ROWID"
    : 'SELECT guid, NULL FROM chat WHERE 0',
}));

/** Looks up in chat.db what the names in a search mean (decision J2). */
export class ChatDbNames implements ChatNames {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  conversations(idOrAddress: string): readonly string[] {
    const guids = this.#connection.read((snapshot) => chatsMeant(snapshot, idOrAddress).map(({ guid }) => guid));
    return idOrAddress.includes(';') ? guids.slice(0, 1) : guids;
  }

  named(name: string): readonly string[] {
    const wanted = folded(name);
    return this.#connection.read(({ database }) =>
      database
        .all(nameQueriesOf(database.schema).displayNames)
        .filter(([, displayName]) => folded(toText(displayName)) === wanted)
        .map(([guid]) => toText(guid))
        .filter((guid) => guid !== ''),
    );
  }

  isAddress(text: string): boolean {
    return this.#connection.read(
      ({ database }) => database.get(nameQueriesOf(database.schema).handle, text) !== undefined,
    );
  }
}
