import { rightsAddress } from '../domain/address.ts';
import { folded } from '../domain/folded.ts';
import type { Key } from '../domain/key.ts';
import type { Contact, Contacts, NameLookup } from '../domain/ports/contacts.ts';

/** Hits of the Address Book that are checked against the key's lists. */
const MAX_FOUND = 1000;

/** The people with an address in a key's read or send list (decision K1), with only those addresses. */
export class LimitedContacts implements Contacts {
  readonly #contacts: Contacts;
  readonly #key: () => Key;
  #names: { readonly of: NameLookup; readonly key: Key; readonly lookup: NameLookup } | undefined;

  constructor(contacts: Contacts, key: () => Key) {
    this.#contacts = contacts;
    this.#key = key;
  }

  ready(): Promise<void> | undefined {
    return this.#contacts.ready();
  }

  get names(): NameLookup {
    const [of, key] = [this.#contacts.names, this.#key()];
    if (this.#names?.of !== of || this.#names.key !== key) {
      const lookup = { nameOf: (address: string) => (isListedAddress(key, address) ? of.nameOf(address) : undefined) };
      this.#names = { of, key, lookup };
    }
    return this.#names.lookup;
  }

  async search(text: string, limit: number): Promise<readonly Contact[]> {
    const words = folded(text).split(/\s+/u).filter(Boolean);
    // A match on a hidden address would reveal that it exists.
    return this.#narrowed(await this.#contacts.search(text, MAX_FOUND))
      .filter((contact) => words.every((word) => folded(visibleText(contact)).includes(word)))
      .slice(0, limit);
  }

  async named(name: string): Promise<readonly Contact[]> {
    return this.#narrowed(await this.#contacts.named(name));
  }

  canonical(address: string): string {
    return this.#contacts.canonical(address);
  }

  health(): ReturnType<Contacts['health']> {
    return this.#contacts.health();
  }

  #narrowed(contacts: readonly Contact[]): readonly Contact[] {
    const key = this.#key();
    return contacts
      .map((contact) => ({
        ...contact,
        addresses: contact.addresses.filter((address) => isListedAddress(key, address)),
      }))
      .filter(({ addresses }) => addresses.length > 0);
  }
}

export function isListedAddress({ read, send }: Key, address: string): boolean {
  if (read === '*' || send === '*') return true;
  const canonical = rightsAddress(address);
  return [...read, ...send].some((entry) => 'address' in entry && entry.address === canonical);
}

function visibleText({ name, nickname, organization, addresses }: Contact): string {
  return [name, nickname ?? '', organization ?? '', ...addresses].join(' ');
}
