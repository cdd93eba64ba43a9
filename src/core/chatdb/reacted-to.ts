import { shortHash } from '../model/text.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { toText } from './columns.ts';
import { perSchema } from './schema-info.ts';

/**
 * Size of the filter in bits (1 MiB). With a million reactions, `mayHave` is wrongly true for a fifth of the messages
 * that have none.
 */
const BITS = 2 ** 23;
const READ_AT_ONCE = 1000;
/** The prefixes that `reactionTargets` puts before a guid. */
const PART = /^(?:bp:|p:-?\d{1,9}\/)/;

// Selects the guids also as bytes, so that the next batch begins exactly behind the last guid of this batch. As texts,
// two different guids with invalid characters could become equal. Only SQLite knows the encoding of the bytes.
const targetsSql = perSchema(
  (schema) => `SELECT DISTINCT associated_message_guid, CAST(associated_message_guid AS BLOB)
  FROM ${schema.messagesByIndex}
  WHERE associated_message_guid > CAST(? AS TEXT) AND typeof(associated_message_guid) = 'text'
  ORDER BY associated_message_guid LIMIT ${READ_AT_ONCE}`,
);

/**
 * A filter that knows which messages may have reactions, as of one commit of chat.db. An export asks this filter before
 * it looks up the reactions to a message, because most messages have none. Looking them up for every message took a
 * fifth of the export's time.
 */
export class ReactedTo {
  readonly #bits = new Uint8Array(BITS / 8);

  /** Reads all values of `associated_message_guid`, in batches. The column must have an index. */
  constructor(database: ChatDbHandle) {
    for (let after: Uint8Array | undefined = new Uint8Array(); after !== undefined; ) {
      const targets = database.all(targetsSql(database.schema), after);
      for (const [target] of targets) {
        const guid = toText(target);
        this.#add(guid);
        this.#add(guid.replace(PART, ''));
      }
      after = targets.length < READ_AT_ONCE ? undefined : (targets.at(-1)?.[1] as Uint8Array);
    }
  }

  /** Returns false only if no reaction refers to the message with this guid. May return true without a reaction. */
  mayHave(guid: string): boolean {
    const bit = shortHash(guid) % BITS;
    return ((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  }

  #add(guid: string): void {
    const bit = shortHash(guid) % BITS;
    this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }
}
