import { folded } from '../domain/folded.ts';
import type { Contact, NameLookup } from '../domain/ports/contacts.ts';
import type { Person } from './address-book-file.ts';
import { canonicalAddress } from './canonical-address.ts';

/** What is more is left out, so that memory has a bound: some 20 MB. */
export const MAX_CONTACTS = 100_000;
const MAX_ADDRESSES_EACH = 50;
/** Addresses looked up before: a service sees the same few again and again. */
const MAX_REMEMBERED = 10_000;
/** Names that begin with the family name and have no space. */
const FAMILY_FIRST = /^[\p{Script=Han}\p{Script=Hangul}]+$/u;

interface Entry {
  readonly name: string;
  /** Each once, by its canonical form. */
  readonly addresses: string[];
  nickname: string | null;
  organization: string | null;
}

/** The people of all files together, by address. It is filled once and then only read. */
export class ContactBook implements NameLookup {
  readonly #home: string | undefined;
  readonly #entries: Entry[] = [];
  /** By canonical address; null where people of different names have it. */
  readonly #owners = new Map<string, Entry | null>();
  readonly #remembered = new Map<string, string | undefined>();
  #isTruncated = false;

  /** `home` is the calling code of this country, if it is known. */
  constructor(home: string | undefined) {
    this.#home = home;
  }

  get contacts(): readonly Contact[] {
    return this.#entries;
  }

  /** True when somebody was left out. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** Adds a person, or what one file says of somebody known from another. Without an address nobody is added. */
  add(person: Person, stored: readonly string[]): void {
    const name = nameOf(person);
    if (name === '') return;
    const addresses = new Map<string, string | undefined>();
    for (const address of stored.slice(0, MAX_ADDRESSES_EACH)) {
      if (address === '') continue;
      const canonical = canonicalAddress(address, this.#home);
      addresses.set(canonical ?? address, canonical);
    }
    if (addresses.size === 0) return;
    const entry = this.#sameIn(addresses.values(), name) ?? this.#newEntry(name);
    if (entry === undefined) return;
    entry.nickname ??= person.nickname || null;
    entry.organization ??= person.organization || null;
    for (const [address, canonical] of addresses) {
      if (!entry.addresses.includes(address)) entry.addresses.push(address);
      if (canonical === undefined) continue;
      const owner = this.#owners.get(canonical);
      if (owner === undefined) this.#owners.set(canonical, entry);
      else if (owner !== null && owner !== entry && !isSameName(owner.name, name)) this.#owners.set(canonical, null);
    }
  }

  nameOf(address: string): string | undefined {
    if (this.#remembered.has(address)) return this.#remembered.get(address);
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    const canonical = canonicalAddress(address, this.#home);
    const name = canonical === undefined ? undefined : this.#owners.get(canonical)?.name;
    this.#remembered.set(address, name);
    return name;
  }

  canonical(address: string): string {
    return canonicalAddress(address, this.#home) ?? address.trim().toLowerCase();
  }

  /** The person of the same name who has one of these addresses. */
  #sameIn(addresses: Iterable<string | undefined>, name: string): Entry | undefined {
    for (const address of addresses) {
      const owner = address === undefined ? undefined : this.#owners.get(address);
      if (owner && owner.addresses.length < MAX_ADDRESSES_EACH && isSameName(owner.name, name)) return owner;
    }
    return undefined;
  }

  #newEntry(name: string): Entry | undefined {
    if (this.#entries.length >= MAX_CONTACTS) {
      this.#isTruncated = true;
      return undefined;
    }
    const entry: Entry = { name, addresses: [], nickname: null, organization: null };
    this.#entries.push(entry);
    return entry;
  }
}

/** As Contacts shows it: the name, else the nickname, else the organization. */
function nameOf({ first, last, nickname, organization }: Person): string {
  if (FAMILY_FIRST.test(first) && FAMILY_FIRST.test(last)) return last + first;
  return [first, last].filter((part) => part !== '').join(' ') || nickname || organization;
}

function isSameName(a: string, b: string): boolean {
  return a === b || folded(a) === folded(b);
}
