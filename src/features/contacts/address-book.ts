import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Contact } from '../../client/people-types.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { AddressBookFile, StoredCard } from './address-book-file.ts';
import { AddressBookSources, type ContactSource, failureOf, isPermission } from './address-book-sources.ts';
import type { Card } from './card-groups.ts';
import { ContactBook, cardName, MAX_ADDRESSES_EACH, MAX_CONTACTS } from './contact-book.ts';
import { contactsNamed, searchContacts } from './contact-search.ts';
import { dialableAddress } from './dialable-address.ts';
import type { ContactsHealth, NamesOfCards } from './ports.ts';

export interface AddressBookParts {
  /** Path of the folder `AddressBook`, in which Contacts keeps its files. */
  readonly folder: string;
  /** False as long as macOS might prompt the user if the files were opened. */
  readonly isAllowed: () => boolean;
  /** The calling code of this Mac's country, if known. */
  readonly callingCode: () => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Minimum time between two checks of the files. Only a request for names starts a check. */
const CHECK_MS = 60_000;
/** Longest time that loading takes before it lets other work run. */
const SLICE_MS = 7;
/** Number of people that are added before loading checks whether to let other work run. */
const STEP = 100;
/** A UUID, with or without the suffix that Contacts adds. Links of cards are UUIDs or numbers. */
const IDENTIFIER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;

type AddCard = (card: StoredCard, addresses: readonly string[], file: string) => void;

/**
 * Loads the Address Book files of all accounts when names are first requested, and again when the files change
 * (decision K1).
 */
export class AddressBook implements NamesOfCards {
  readonly isOn = true;
  readonly #parts: AddressBookParts;
  readonly #sources: AddressBookSources;
  #book = new ContactBook(undefined);
  #home: string | undefined;
  #health: ContactsHealth = { state: 'not_loaded', message: null };
  #checkedAtMs: number | undefined;
  #loading: Promise<void> | undefined;
  #sliceEndsAtMs = 0;
  #isClosed = false;

  constructor(parts: AddressBookParts) {
    this.#parts = parts;
    this.#sources = new AddressBookSources(parts.folder);
  }

  ready(): Promise<void> | undefined {
    this.#checkIfDue();
    return this.#health.state === 'not_loaded' ? this.#loading : undefined;
  }

  get names(): NameLookup {
    this.#checkIfDue();
    return this.#book;
  }

  async search(text: string, limit: number, isListed?: (address: string) => boolean): Promise<readonly Contact[]> {
    await this.ready();
    return searchContacts(this.#book.contacts, text, limit, isListed);
  }

  async named(name: string): Promise<readonly Contact[]> {
    await this.ready();
    return contactsNamed(this.#book.contacts, name);
  }

  canonical(address: string): string {
    return this.#book.canonical(address);
  }

  /**
   * Reads every card with a name and an address from the files. The cards are not kept in memory, because only
   * `PeopleReader` needs them, once after each load.
   */
  async cards(): Promise<readonly Card[]> {
    await this.ready();
    while (this.#loading !== undefined) await this.#loading;
    const cards: Card[] = [];
    // No check of the files starts while `#loading` is set. A check could close a file that is being read.
    this.#loading = this.#readAll((...card) => this.#addCard(cards, ...card))
      .then(noop, noop)
      .finally(() => {
        this.#loading = undefined;
      });
    await this.#loading;
    return cards;
  }

  health(): ContactsHealth {
    return this.#health;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loading;
    this.#sources.close();
  }

  #checkIfDue(): void {
    const { clock, isAllowed } = this.#parts;
    const nowMs = clock.monotonic();
    if (this.#isClosed || this.#loading !== undefined) return;
    if (this.#checkedAtMs !== undefined && nowMs - this.#checkedAtMs < CHECK_MS) return;
    if (!isAllowed()) return;
    this.#checkedAtMs = nowMs;
    this.#loading = this.#check().finally(() => {
      this.#loading = undefined;
    });
  }

  async #check(): Promise<void> {
    try {
      await nextTurn();
      const home = this.#parts.callingCode();
      const isChanged = this.#sources.check();
      if (!isChanged && home === this.#home && this.#health.state === 'loaded') return;
      await this.#load(home);
    } catch (error) {
      this.#note({ state: 'failed', message: messageOf([{ name: 'The folder', failure: failureOf(error) }]) });
    }
  }

  async #load(home: string | undefined): Promise<void> {
    const { clock, log } = this.#parts;
    const startMs = clock.monotonic();
    const book = new ContactBook(home);
    await this.#readAll((card, addresses, file) => book.add(card, addresses, linkOf(card, file)));
    if (this.#isClosed) return;
    this.#book = book;
    this.#home = home;
    this.#note(healthOf(this.#sources.all, book));
    const ms = Math.round(clock.monotonic() - startMs);
    log.debug('loaded the Address Book', { contacts: book.contacts.length, ms });
  }

  async #readAll(add: AddCard): Promise<void> {
    for (const source of this.#sources.all) {
      if (source.file === undefined) continue;
      try {
        await this.#read(source.file, (card, addresses) => add(card, addresses, source.name));
      } catch (error) {
        source.fail(error);
      }
      if (this.#isClosed) return;
    }
  }

  #addCard(cards: Card[], card: StoredCard, stored: readonly string[], file: string): void {
    const name = cardName(card);
    if (name === '' || cards.length >= MAX_CONTACTS) return;
    const addresses = stored.slice(0, MAX_ADDRESSES_EACH).map((address) => dialableAddress(address, this.#home));
    const known = new Set(addresses.filter((address) => address !== undefined));
    if (known.size > 0) cards.push({ name, addresses: [...known], link: linkOf(card, file) });
  }

  /** Adds every card of a file, or none if the file cannot be read to the end. */
  async #read(file: AddressBookFile, add: (card: StoredCard, addresses: readonly string[]) => void): Promise<void> {
    const addresses = new Map<number, string[]>();
    const addAddress = (owner: number, address: string): void => {
      const known = addresses.get(owner);
      if (known !== undefined) known.push(address);
      // Keeps one card more than the maximum, so that the contact book notices that cards are left out.
      else if (addresses.size <= MAX_CONTACTS) addresses.set(owner, [address]);
    };
    for (const _ of file.addresses(addAddress)) await this.#pause();
    const people: StoredCard[] = [];
    const addPerson = (person: StoredCard): void => {
      if (addresses.has(person.key)) people.push(person);
    };
    for (const _ of file.people(addPerson)) await this.#pause();
    for (const [index, person] of people.entries()) {
      add(person, addresses.get(person.key) ?? []);
      if (index % STEP === STEP - 1) await this.#pause();
    }
  }

  /**
   * Lets other work run if the current slice has lasted `SLICE_MS`. Throws if the address book was closed meanwhile.
   */
  async #pause(): Promise<void> {
    const { clock } = this.#parts;
    if (clock.monotonic() < this.#sliceEndsAtMs) return;
    await nextTurn();
    this.#sliceEndsAtMs = clock.monotonic() + SLICE_MS;
    if (this.#isClosed) throw new Error('closed');
  }

  /** Sets the health. Logs it if its message has changed. */
  #note(health: ContactsHealth): void {
    const { log } = this.#parts;
    const isNew = health.message !== this.#health.message;
    this.#health = health;
    if (!isNew) return;
    if (health.message === null) log.info('the Address Book can be read again');
    else log.warn('names of people are missing', { reason: health.message });
  }
}

function noop(): void {}

function healthOf(sources: readonly ContactSource[], book: ContactBook): ContactsHealth {
  const failed = sources.filter(({ failure }) => failure !== undefined);
  if (failed.length > 0) {
    return { state: failed.length === sources.length ? 'failed' : 'loaded', message: messageOf(failed) };
  }
  const message = `Postern reads the names of ${MAX_CONTACTS} people at most, and the Address Book has more.`;
  return { state: 'loaded', message: book.isTruncated ? message : null };
}

function messageOf(failed: readonly Pick<ContactSource, 'name' | 'failure'>[]): string {
  if (failed.every(({ failure }) => isPermission(failure))) {
    return 'Postern has no permission to read the Address Book, so the names of the people in it are missing.';
  }
  const [first] = failed;
  const which = failed.length === 1 ? first?.name : `${failed.length} files`;
  return `${which} of the Address Book cannot be read (${first?.failure}), so the names of the people in it are missing.`;
}

/**
 * Identifies a card's group of linked cards; "" if the card is not linked. Two accounts can use the same number as a
 * link for different people. So a number links cards only in one file, and a UUID links them across all files.
 */
function linkOf({ link }: StoredCard, file: string): string {
  return link === '' || IDENTIFIER.test(link) ? link : `${file} ${link}`;
}
