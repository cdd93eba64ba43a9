import type { Contact } from '../../client/people-types.ts';
import { folded } from '../../core/model/folded.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { StoredCard } from './address-book-file.ts';
import { dialableAddress } from './dialable-address.ts';

/** Maximum number of contacts, which bounds memory to about 20 MB. */
export const MAX_CONTACTS = 100_000;
export const MAX_ADDRESSES_EACH = 50;
/** Maximum number of cached lookups. A service sees the same few addresses again and again. */
const MAX_REMEMBERED = 10_000;
/** Scripts in which the family name comes first, without a space. */
const FAMILY_FIRST = /^[\p{Script=Han}\p{Script=Hangul}]+$/u;

interface Entry {
  readonly name: string;
  /** Addresses in canonical form, or as stored if they have no such form. Without duplicates. */
  readonly addresses: string[];
  nickname: string | null;
  organization: string | null;
}

/** The contacts of all Address Book files together, found by address. Filled once, then only read. */
export class ContactBook implements NameLookup {
  readonly #home: string | undefined;
  readonly #entries: Entry[] = [];
  /** Key: a canonical address. Value: its contact; null if contacts with different names have the address. */
  readonly #owners = new Map<string, Entry | null>();
  /** Groups of linked cards. Key: a contact. Value: the group of the card with which it was added. */
  readonly #links = new Map<Entry, string>();
  readonly #remembered = new Map<string, string | undefined>();
  #isTruncated = false;

  /** `home` is the calling code of this Mac's country, if known. */
  constructor(home: string | undefined) {
    this.#home = home;
  }

  get contacts(): readonly Contact[] {
    return this.#entries;
  }

  /** True if contacts were left out because there are more than `MAX_CONTACTS`. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /**
   * Adds a card as a contact. If a contact with the same name has one of the card's addresses, adds the card's data to
   * that contact instead. Leaves out cards without a name or an address. `link` identifies the card's group of linked
   * cards; "" if the card is not linked.
   */
  add(person: StoredCard, stored: readonly string[], link: string): void {
    const name = cardName(person);
    if (name === '') return;
    const addresses = stored.length > MAX_ADDRESSES_EACH ? stored.slice(0, MAX_ADDRESSES_EACH) : stored;
    const canonical = addresses.map((address) => dialableAddress(address, this.#home));
    const shown = canonical.map((key, at) => key ?? addresses[at] ?? '').filter((address) => address !== '');
    if (shown.length === 0) return;
    const known = this.#sameIn(canonical, name);
    const entry = known ?? this.#newEntry(name, shown);
    if (entry === undefined) return;
    if (known !== undefined) {
      for (const address of shown) if (!known.addresses.includes(address)) known.addresses.push(address);
    }
    if (link !== '' && !this.#links.has(entry)) this.#links.set(entry, link);
    for (const key of canonical) if (key !== undefined) this.#own(key, entry);
    entry.nickname ??= person.nickname || null;
    entry.organization ??= person.organization || null;
  }

  nameOf(address: string): string | undefined {
    if (this.#remembered.has(address)) return this.#remembered.get(address);
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    const canonical = dialableAddress(address, this.#home);
    const name = canonical === undefined ? undefined : this.#owners.get(canonical)?.name;
    this.#remembered.set(address, name);
    return name;
  }

  canonical(address: string): string {
    return dialableAddress(address, this.#home) ?? address.trim().toLowerCase();
  }

  /** Returns the contact that has this name and one of these addresses. */
  #sameIn(canonical: readonly (string | undefined)[], name: string): Entry | undefined {
    for (const key of canonical) {
      const owner = key === undefined ? undefined : this.#owners.get(key);
      if (owner && isSameName(owner.name, name)) return owner;
    }
    return undefined;
  }

  /**
   * Assigns an address to a contact. If contacts with different names have the address, it belongs to none of them,
   * unless their cards are linked. Then it keeps the contact that had it first.
   */
  #own(canonical: string, entry: Entry): void {
    const owner = this.#owners.get(canonical);
    if (owner === undefined) this.#owners.set(canonical, entry);
    else if (owner !== null && !this.#isSamePerson(owner, entry)) this.#owners.set(canonical, null);
  }

  #isSamePerson(a: Entry, b: Entry): boolean {
    const link = this.#links.get(a);
    return a === b || isSameName(a.name, b.name) || (link !== undefined && link === this.#links.get(b));
  }

  #newEntry(name: string, addresses: readonly string[]): Entry | undefined {
    if (this.#entries.length >= MAX_CONTACTS) {
      this.#isTruncated = true;
      return undefined;
    }
    // `unique` returns an array without spare capacity. That saves memory, because there are tens of thousands of
    // entries.
    const entry: Entry = { name, addresses: unique(addresses), nickname: null, organization: null };
    this.#entries.push(entry);
    return entry;
  }
}

/**
 * Returns the first and last name in the order that is usual for their script, else the nickname, else the
 * organization.
 */
export function cardName({ first, last, nickname, organization }: StoredCard): string {
  if (first === '' || last === '') return first || last || nickname || organization;
  return FAMILY_FIRST.test(first) && FAMILY_FIRST.test(last) ? last + first : `${first} ${last}`;
}

function isSameName(a: string, b: string): boolean {
  return a === b || folded(a) === folded(b);
}

function unique(texts: readonly string[]): string[] {
  return texts.length === 1 ? [...texts] : [...new Set(texts)];
}
