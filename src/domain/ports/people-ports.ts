/** An address on cards with different names. These cards are not joined into one person (decision V4). */
export interface AmbiguousAddress {
  readonly address: string;
  /** The names in alphabetical order, at most the first ten. */
  readonly names: readonly string[];
}

/** A person with one-to-one conversations, across all addresses. */
export interface Person {
  /**
   * Derived from the smallest address, so it may change when cards change. For a limited key, the smallest address that
   * the key may see.
   */
  readonly id: string;
  /** Null if none of the person's cards has a name. */
  readonly name: string | null;
  /** Addresses as in chat.db, then those found only on cards, as in `Contact.addresses`. Never empty. */
  readonly addresses: readonly string[];
  /** Ids of the one-to-one conversations. Never empty. */
  readonly conversations: readonly string[];
  /** Addresses that this person shares with others; absent if there are none. */
  readonly ambiguous?: readonly AmbiguousAddress[] | undefined;
}

/** Limits people to the addresses and conversations that exist for a limited key. */
export interface PeopleView {
  hasAddress(address: string): boolean;
  /** Returns the given conversations that exist for the key. */
  conversations(ids: readonly string[]): readonly string[];
}

/** The people with one-to-one conversations (decision V4). Throws `chat_db_unavailable`. */
export interface People {
  /** People whose name or addresses contain every word of `text`, sorted by name; those without a name come last. */
  search(text: string, limit: number, view?: PeopleView): Promise<readonly Person[]>;
  /** Returns undefined if no person has this id. */
  person(id: string, view?: PeopleView): Promise<Person | undefined>;
}

/** A one-to-one conversation. */
export interface OneToOneChat {
  readonly id: string;
  /** Addresses as stored. More than one only in an inconsistent database. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}
