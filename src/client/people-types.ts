export type { Named as Contact } from '../core/model/ports/names-ports.ts';

/**
 * An address that is on several Address Book cards with different names. Such an address does not join its cards into
 * one person.
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
