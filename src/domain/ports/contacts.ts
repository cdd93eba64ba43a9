/** A person or an organization of the Address Book. */
export interface Contact {
  readonly name: string;
  /** Complete numbers as `+15550100`, others as written, e-mail addresses in lower case. */
  readonly addresses: readonly string[];
  readonly nickname: string | null;
  readonly organization: string | null;
}

/** Names by address, as loaded. */
export interface NameLookup {
  /** Undefined if nobody has the address, or people with different names have it. */
  nameOf(address: string): string | undefined;
}

/** The reason why names are missing or incomplete. */
export interface ContactsHealth {
  readonly state: 'off' | 'not_loaded' | 'loaded' | 'failed';
  /** Null if everything was read. */
  readonly message: string | null;
}

/** The people in the Address Book. Without one, nobody is known. */
export interface Contacts {
  /**
   * Starts loading at the first call. Returns undefined if names are available, else a promise that resolves once
   * they are; never rejects.
   */
  ready(): Promise<void> | undefined;
  /** The currently known names. A new object after each load. */
  readonly names: NameLookup;
  /** People whose name, nickname, organization or address contains each word of `text`, sorted by name. */
  search(text: string, limit: number): Promise<readonly Contact[]>;
  /**
   * People with exactly this name or nickname, ignoring case and accents. One result means that the name is
   * unambiguous.
   */
  named(name: string): Promise<readonly Contact[]>;
  /** One form for all spellings of an address: equal results are the same address. */
  canonical(address: string): string;
  health(): ContactsHealth;
}
