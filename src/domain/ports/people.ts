/** An address on cards of different names. It joins nobody (decision V4). */
export interface AmbiguousAddress {
  readonly address: string;
  /** The first ten by name. */
  readonly names: readonly string[];
}

/** Somebody with one-to-one conversations, over all addresses. */
export interface Person {
  /** Made of the smallest address, so it may change when cards change. A limited key has its own ids. */
  readonly id: string;
  /** null when no card tells. */
  readonly name: string | null;
  /** As chat.db has them, those of the cards alone as `Contact.addresses`. Never empty. */
  readonly addresses: readonly string[];
  /** Ids of the one-to-one conversations. Never empty. */
  readonly conversations: readonly string[];
  /** The addresses of the person that others have too; absent when there are none. */
  readonly ambiguous?: readonly AmbiguousAddress[] | undefined;
}

/** The part of all people that exists for a limited key. */
export interface PeopleView {
  hasAddress(address: string): boolean;
  /** Returns those of the conversations that exist. */
  conversations(ids: readonly string[]): readonly string[];
}

/** Those with whom there are one-to-one conversations (decision V4). Throws `chat_db_unavailable`. */
export interface People {
  /** People whose name or addresses contain every word of `text`, by name; those without one come last. */
  search(text: string, limit: number, view?: PeopleView): Promise<readonly Person[]>;
  /** Returns undefined for an id that nobody has. */
  person(id: string, view?: PeopleView): Promise<Person | undefined>;
}

/** A conversation that is no group. */
export interface OneToOneChat {
  readonly id: string;
  /** Addresses as stored; more than one where the database is odd. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Another value after each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}
