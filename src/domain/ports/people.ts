/** An address on cards with different names. It joins nobody (decision V4). */
export interface AmbiguousAddress {
  readonly address: string;
  /** The first ten by name. */
  readonly names: readonly string[];
}

/** A person with one-to-one conversations, across all addresses. */
export interface Person {
  /** Derived from the smallest address, so it may change when cards change. A limited key has its own ids. */
  readonly id: string;
  /** Null if no card has one. */
  readonly name: string | null;
  /** As in chat.db; those only on cards as in `Contact.addresses`. Never empty. */
  readonly addresses: readonly string[];
  /** Ids of the one-to-one conversations. Never empty. */
  readonly conversations: readonly string[];
  /** The person's addresses that others have too; absent if there are none. */
  readonly ambiguous?: readonly AmbiguousAddress[] | undefined;
}

/** The part of all people that exists for a limited key. */
export interface PeopleView {
  hasAddress(address: string): boolean;
  /** Returns those of the conversations that exist for the key. */
  conversations(ids: readonly string[]): readonly string[];
}

/** The people with one-to-one conversations (decision V4). Throws `chat_db_unavailable`. */
export interface People {
  /** People whose name or addresses contain every word of `text`, sorted by name; those without a name come last. */
  search(text: string, limit: number, view?: PeopleView): Promise<readonly Person[]>;
  /** Returns undefined for an id that nobody has. */
  person(id: string, view?: PeopleView): Promise<Person | undefined>;
}

/** A one-to-one conversation. */
export interface OneToOneChat {
  readonly id: string;
  /** Addresses as stored; more than one if the database is odd. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}
