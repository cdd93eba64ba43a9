/** A person or an organization of the Address Book. */
export interface Contact {
  readonly name: string;
  /** Complete numbers as `+15550100`, other numbers as written, e-mail addresses in lower case. */
  readonly addresses: readonly string[];
  readonly nickname: string | null;
  readonly organization: string | null;
}

/** Looks up names by address. All names come from one load of the Address Book. */
export interface NameLookup {
  /**
   * Returns the name of the contact with this address. Returns undefined if there is none, or if contacts with
   * different names have the address.
   */
  nameOf(address: string): string | undefined;
}

/** The state of the Address Book, and why names are missing or incomplete. */
export interface ContactsHealth {
  readonly state: 'off' | 'not_loaded' | 'loaded' | 'failed';
  /**
   * Says which parts of the Address Book could not be read. Null if no part failed, or if `state` is `off` or
   * `not_loaded`.
   */
  readonly message: string | null;
}

/** The contacts of the Address Book. Without an Address Book no address has a name. */
export interface Contacts {
  /**
   * Starts loading the Address Book at the first call. Returns undefined if its names are available. Otherwise returns
   * a promise that resolves once they are, and never rejects.
   */
  ready(): Promise<void> | undefined;
  /** The currently known names. Each load of the Address Book replaces the object. */
  readonly names: NameLookup;
  /** Finds contacts whose name, nickname, organization or address contains each word of `text`, sorted by name. */
  search(text: string, limit: number): Promise<readonly Contact[]>;
  /**
   * Finds contacts with exactly this name or nickname, ignoring case and accents. A single result means that the name
   * is unambiguous.
   */
  named(name: string): Promise<readonly Contact[]>;
  /** Returns one form for all spellings of an address: equal results mean the same address. */
  canonical(address: string): string;
  health(): ContactsHealth;
}
