import type { Contact, Person } from '../../client/people-types.ts';
import type { NameSource } from '../../core/model/ports/names-ports.ts';

/** The state of the Address Book, and why names are missing or incomplete. */
export interface ContactsHealth {
  readonly state: 'off' | 'not_loaded' | 'loaded' | 'failed';
  /**
   * Says which parts of the Address Book could not be read. Null if no part failed, or if `state` is `off` or
   * `not_loaded`.
   */
  readonly message: string | null;
}

/** The contacts of a caller. */
export interface Contacts {
  /** False if the configuration switches names off. */
  readonly isOn: boolean;
  /**
   * Finds contacts whose name, nickname, organization or address contains each word of `text`, sorted by name. Rejects
   * if names are switched off. With `isListed`, contacts have only the addresses that it allows, and at least one.
   */
  search(text: string, limit: number, isListed?: (address: string) => boolean): Promise<readonly Contact[]>;
}

/** The contacts of the Address Book. */
export interface NamesOfCards extends Contacts, NameSource {
  /** Returns one form for all spellings of an address: equal results mean the same address. */
  canonical(address: string): string;
  health(): ContactsHealth;
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
