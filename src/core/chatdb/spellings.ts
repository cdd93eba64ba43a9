import { addressOf, chatGuidVariants, normalAddress, normalId } from '../model/address.ts';
import { type ChatDbHandle, perSchema } from './chatdb-handle.ts';
import { INT_PARAM, toText } from './columns.ts';

/**
 * SQL for the handles and one-to-one chats above a row id whose address may not be stored in its normal form, and for
 * the highest row id.
 */
const unusualOf = perSchema(() => {
  const isUnusual = (address: string): string =>
    `(${address} GLOB '*[^+0-9]*' AND NOT (instr(${address}, '@') > 0 AND ${address} NOT GLOB '*[^a-z0-9@._+-]*'))`;
  return {
    handles: `SELECT ROWID, id FROM handle WHERE ROWID > ${INT_PARAM} AND ${isUnusual('id')}`,
    newestHandle: 'SELECT max(ROWID) FROM handle',
    chats: `SELECT ROWID, guid FROM chat WHERE ROWID > ${INT_PARAM} AND instr(guid, ';-;') > 0
      AND ${isUnusual("substr(guid, instr(guid, ';-;') + 3)")}`,
    newestChat: 'SELECT max(ROWID) FROM chat',
  };
});

interface Stored {
  readonly rowId: number;
  readonly text: string;
}

/** The rows of one table with an unusual address. Key: the normal form. */
class Unusual {
  readonly #rows = new Map<string, Stored[]>();
  readonly #keyOf: (text: string) => string;
  #upTo = 0;

  constructor(keyOf: (text: string) => string) {
    this.#keyOf = keyOf;
  }

  /** Adds the rows that came since the last call. An id of these tables is never used again. */
  update(database: ChatDbHandle, { rows, newest }: { readonly rows: string; readonly newest: string }): void {
    const upTo = Number(database.get(newest)?.[0] ?? 0);
    if (upTo === this.#upTo) return;
    if (upTo < this.#upTo) {
      this.#rows.clear();
      this.#upTo = 0;
    }
    for (const [rowId, stored] of database.all(rows, this.#upTo)) {
      const text = toText(stored);
      const key = this.#keyOf(text);
      const others = this.#rows.get(key);
      if (others === undefined) this.#rows.set(key, [{ rowId: Number(rowId), text }]);
      else others.push({ rowId: Number(rowId), text });
    }
    this.#upTo = upTo;
  }

  of(key: string): readonly Stored[] {
    return this.#rows.get(key) ?? [];
  }
}

/** What is known of a database's unusual addresses. Looking at every chat after each commit would cost 2 ms. */
const knownOf = new WeakMap<ChatDbHandle, { readonly handles: Unusual; readonly chats: Unusual }>();

function known(database: ChatDbHandle) {
  let found = knownOf.get(database);
  if (found === undefined) {
    found = { handles: new Unusual(normalAddress), chats: new Unusual(addressOf) };
    knownOf.set(database, found);
  }
  return found;
}

/**
 * Finds stored addresses by their normal form: an index finds the normal form itself, and this class remembers the few
 * that are stored otherwise. Looks for new ones once in each state of the database.
 */
export class Spellings {
  readonly #database: ChatDbHandle;
  #handles: Unusual | undefined;
  #chats: Unusual | undefined;

  constructor(database: ChatDbHandle) {
    this.#database = database;
  }

  /** Returns the texts under which a handle may store the address. */
  ofAddress(address: string): readonly string[] {
    const { handles, newestHandle } = unusualOf(this.#database.schema);
    if (this.#handles === undefined) {
      this.#handles = known(this.#database).handles;
      this.#handles.update(this.#database, { rows: handles, newest: newestHandle });
    }
    const normal = normalAddress(address);
    return [...new Set([address, normal, ...this.#handles.of(normal).map(({ text }) => text)])];
  }

  /** Returns the row ids of one-to-one chats that an id refers to and whose guid no variant of the id equals. */
  chatsWithId(id: string): readonly number[] {
    const { chats, newestChat } = unusualOf(this.#database.schema);
    if (this.#chats === undefined) {
      this.#chats = known(this.#database).chats;
      this.#chats.update(this.#database, { rows: chats, newest: newestChat });
    }
    const found = this.#chats.of(addressOf(id));
    if (found.length === 0) return [];
    const meant = new Set(chatGuidVariants(normalId(id)));
    return found.filter(({ text }) => meant.has(normalId(text))).map(({ rowId }) => rowId);
  }
}
