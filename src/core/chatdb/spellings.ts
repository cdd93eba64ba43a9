import { addressOf, chatGuidVariants, normalAddress, normalId } from '../model/address.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { toText } from './columns.ts';
import { perSchema } from './schema-info.ts';

/**
 * SQL for the handles and one-to-one chats whose address may not be stored in its normal form. There are few, and
 * SQLite finds them in an index that has the addresses.
 */
const unusualOf = perSchema(() => {
  const isUnusual = (address: string): string =>
    `(${address} GLOB '*[^+0-9]*' AND NOT (instr(${address}, '@') > 0 AND ${address} NOT GLOB '*[^a-z0-9@._+-]*'))`;
  return {
    handles: `SELECT id FROM handle WHERE ${isUnusual('id')}`,
    // One comparison leaves out the numbers, and with them most chats, before the address is cut out.
    chats: `SELECT ROWID, guid FROM chat WHERE guid GLOB '*;-;*[^+0-9]*'
      AND ${isUnusual("substr(guid, instr(guid, ';-;') + 3)")}`,
  };
});

/**
 * Finds stored addresses by their normal form: an index finds the normal form itself, and this class remembers the few
 * that are stored otherwise, for one state of the database.
 */
export class Spellings {
  readonly #database: ChatDbHandle;
  #handles: ReadonlyMap<string, readonly string[]> | undefined;
  #chats: ReadonlyMap<string, readonly { readonly rowId: number; readonly guid: string }[]> | undefined;

  constructor(database: ChatDbHandle) {
    this.#database = database;
  }

  /** Returns the texts under which a handle may store the address. */
  ofAddress(address: string): readonly string[] {
    this.#handles ??= grouped(
      this.#database.all(unusualOf(this.#database.schema).handles).map(([id]) => toText(id)),
      normalAddress,
    );
    const normal = normalAddress(address);
    return [...new Set([address, normal, ...(this.#handles.get(normal) ?? [])])];
  }

  /** Returns the row ids of one-to-one chats that an id refers to and whose guid no variant of the id equals. */
  chatsWithId(id: string): readonly number[] {
    this.#chats ??= grouped(
      this.#database
        .all(unusualOf(this.#database.schema).chats)
        .map(([rowId, guid]) => ({ rowId: rowId as number, guid: toText(guid) })),
      ({ guid }) => addressOf(guid),
    );
    const found = this.#chats.get(addressOf(id)) ?? [];
    if (found.length === 0) return [];
    const meant = new Set(chatGuidVariants(normalId(id)));
    return found.filter(({ guid }) => meant.has(normalId(guid))).map(({ rowId }) => rowId);
  }
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
