/** A person or an organization of the Address Book. */
export interface Contact {
  readonly name: string;
  /** Complete numbers as `+15550100`, others as they are written, e-mail addresses in lower case. */
  readonly addresses: readonly string[];
  readonly nickname: string | null;
  readonly organization: string | null;
}

/** Names by address, as they were loaded. */
export interface NameLookup {
  /** undefined for an address that nobody has, or that people of different names have. */
  nameOf(address: string): string | undefined;
}

/** Why there are no names, or not all. */
export interface ContactsHealth {
  readonly state: 'off' | 'not_loaded' | 'loaded' | 'failed';
  /** null when everything that is there was read. */
  readonly message: string | null;
}

/** The people of the Address Book. Without one, nobody is known. */
export interface Contacts {
  /** Loads at its first call. undefined when names can be had at once, else it resolves when they can; never rejects. */
  ready(): Promise<void> | undefined;
  /** What is known now; another object after each load. */
  readonly names: NameLookup;
  /** Those whose name, nickname, organization or address holds each word of `text`, by name. */
  search(text: string, limit: number): Promise<readonly Contact[]>;
  /** Those of exactly this name or nickname, case and accents aside; a name is unambiguous when there is one. */
  named(name: string): Promise<readonly Contact[]>;
  /** One form for all spellings of an address: equal results are the same address. */
  canonical(address: string): string;
  health(): ContactsHealth;
}
