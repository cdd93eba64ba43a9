/**
 * An address that is on several Address Book cards with different names. Such an address does not join its cards into
 * one person (decision V4).
 */
export interface AmbiguousAddress {
  readonly address: string;
  /** The names on the cards with this address, in alphabetical order; at most the first ten. */
  readonly names: readonly string[];
}

/** A person, with all addresses and one-to-one conversations that belong to the person. */
export interface Person {
  /**
   * A hash of the first of the person's addresses in sort order, so it may change when a card changes. For a limited
   * key, only the addresses that the key may see are sorted.
   */
  readonly id: string;
  /** Null if none of the person's cards has a name. */
  readonly name: string | null;
  /**
   * The person's addresses: as spelled in chat.db, or in the form of `Contact.addresses` if only a card contains the
   * address. Never empty.
   */
  readonly addresses: readonly string[];
  /** Ids of the person's one-to-one conversations. Never empty. */
  readonly conversations: readonly string[];
  /** The person's addresses that are also on cards with other names; absent if there are none. */
  readonly ambiguous?: readonly AmbiguousAddress[] | undefined;
}

/** Limits people to the addresses and conversations that exist for a limited key. */
export interface PeopleView {
  hasAddress(address: string): boolean;
  /** Returns the ids of those conversations in `ids` that the key may read. */
  conversations(ids: readonly string[]): readonly string[];
}

/** The people with one-to-one conversations (decision V4). Throws `chat_db_unavailable`. */
export interface People {
  /**
   * Returns people whose name or addresses contain every word of `text`, sorted by name. People without a name come
   * last.
   */
  search(text: string, limit: number, view?: PeopleView): Promise<readonly Person[]>;
  /** Returns the person with this id; undefined if there is none. */
  person(id: string, view?: PeopleView): Promise<Person | undefined>;
}

/** A one-to-one conversation. */
export interface OneToOneChat {
  readonly id: string;
  /** The other person's address as stored. Contains several addresses only if chat.db is inconsistent. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Returns a value that changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}
