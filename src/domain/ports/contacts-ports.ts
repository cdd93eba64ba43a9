/** A person or an organization of the Address Book. */
export interface Contact {
  readonly name: string;
  /** Complete numbers as `+15550100`, other numbers as written, e-mail addresses in lower case. */
  readonly addresses: readonly string[];
  readonly nickname: string | null;
  readonly organization: string | null;
}

/** Names by address, as loaded. */
export interface NameLookup {
  /** Returns undefined if no contact has the address, or if contacts with different names have it. */
  nameOf(address: string): string | undefined;
}

/** Why names are missing or incomplete. */
export interface ContactsHealth {
  readonly state: 'off' | 'not_loaded' | 'loaded' | 'failed';
  /** Null if everything was read. */
  readonly message: string | null;
}

/** The contacts of the Address Book. Without an Address Book no address has a name. */
export interface Contacts {
  /**
   * Starts loading at the first call. Returns undefined if names are available, else a promise that resolves once they
   * are and never rejects.
   */
  ready(): Promise<void> | undefined;
  /** The currently known names. A new object after each load. */
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
