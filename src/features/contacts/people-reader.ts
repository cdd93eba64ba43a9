import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AmbiguousAddress, Person } from '../../client/people-types.ts';
import { chatIdentity } from '../../core/model/address.ts';
import { folded, searchedText, searchWords } from '../../core/model/folded.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { NamedChat } from '../../core/model/ports/reading-ports.ts';
import { compareTexts } from '../../core/model/text.ts';
import { type AddressOwner, type Card, groupCards } from './card-groups.ts';
import type { People, PeopleView } from './ports.ts';

/** Number of conversations or people processed before other work can run. Processing them takes a few milliseconds. */
const SLICE = 500;
const ID_LENGTH = 16;

/** The source of the cards that determine which addresses belong to one person. */
export interface CardSource {
  ready(): Promise<void> | undefined;
  /**
   * The names from the last load. Each load replaces this object, so a new object means that the cards must be read
   * again.
   */
  readonly names: NameLookup;
  canonical(address: string): string;
  cards(): Promise<readonly Card[]>;
}

/** The source of the conversations. */
export interface ChatSource {
  /** Returns a value that changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly NamedChat[]>;
}

interface Draft {
  readonly id: string;
  /**
   * The first of the person's addresses in the order of canonical forms. The person's id is the hash of this address.
   */
  readonly first: string;
  readonly order: string;
  readonly name: string | null;
  /**
   * The addresses to display, sorted by key. Key: the canonical form of an address. Value: the address as displayed.
   */
  readonly addresses: ReadonlyMap<string, string>;
  readonly conversations: readonly string[];
  readonly ambiguous: readonly AmbiguousAddress[];
}

interface Known {
  readonly names: NameLookup;
  readonly version: unknown;
  readonly drafts: Promise<readonly Draft[]>;
}

/**
 * Lists people, each with all of that person's one-to-one conversations (decision V4). Reads nothing before the first
 * request.
 */
export class PeopleReader implements People {
  readonly #cards: CardSource;
  readonly #chats: ChatSource;
  #owners: { readonly names: NameLookup; readonly of: Promise<ReadonlyMap<string, AddressOwner>> } | undefined;
  #known: Known | undefined;

  constructor(cards: CardSource, chats: ChatSource) {
    this.#cards = cards;
    this.#chats = chats;
  }

  async search(text: string, limit: number, view?: PeopleView): Promise<readonly Person[]> {
    const words = searchWords(text);
    const found: Person[] = [];
    for await (const person of this.#people(view)) {
      const content = searchedText([person.name], person.addresses);
      if (words.every((word) => content.includes(word))) found.push(person);
      if (found.length >= limit) break;
    }
    return found;
  }

  async person(id: string, view?: PeopleView): Promise<Person | undefined> {
    if (view === undefined) {
      const draft = (await this.#drafts()).find((one) => one.id === id);
      return draft && personOf(draft, undefined);
    }
    for await (const person of this.#people(view)) if (person.id === id) return person;
    return undefined;
  }

  /**
   * Yields, sorted by name, every person of whom the view shows a conversation and an address. Without a view, yields
   * all.
   */
  async *#people(view: PeopleView | undefined): AsyncGenerator<Person> {
    for (const [index, draft] of (await this.#drafts()).entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      const person = personOf(draft, view);
      if (person !== undefined) yield person;
    }
  }

  async #drafts(): Promise<readonly Draft[]> {
    await this.#cards.ready();
    const { names } = this.#cards;
    const version = this.#chats.version();
    if (this.#known?.names !== names || this.#known.version !== version) {
      const drafts = this.#draw(names);
      this.#known = { names, version, drafts };
      drafts.catch(() => {
        if (this.#known?.drafts === drafts) this.#known = undefined;
      });
    }
    return this.#known.drafts;
  }

  async #draw(names: NameLookup): Promise<readonly Draft[]> {
    if (this.#owners?.names !== names) {
      this.#owners = { names, of: this.#cards.cards().then((cards) => inTurns(groupCards(cards))) };
    }
    const [owners, chats] = await Promise.all([this.#owners.of, this.#chats.list()]);
    const drafts = new Map<unknown, NewDraft>();
    for (const [index, chat] of chats.entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      if (!chat.isGroup && chat.id !== '') this.#add(drafts, owners, chat);
    }
    return [...drafts.values()].map(finished).sort((a, b) => compareTexts(a.order, b.order));
  }

  /**
   * Adds a conversation to the person who has the addresses of all its members. If the members are different people,
   * adds it to nobody.
   */
  #add(drafts: Map<unknown, NewDraft>, owners: ReadonlyMap<string, AddressOwner>, chat: NamedChat): void {
    const found = membersOf(chat).map((stored) => {
      const address = this.#cards.canonical(stored);
      const owner = owners.get(address);
      return { stored, address, owner, person: owner !== undefined && 'group' in owner ? owner.group : address };
    });
    const [first] = found;
    if (first === undefined || found.some(({ person }) => person !== first.person)) return;
    const draft = drafts.get(first.person) ?? newDraft(first.address, first.owner);
    drafts.set(first.person, draft);
    draft.conversations.push(chat.id);
    for (const { address, stored } of found) {
      const known = draft.stored.get(address);
      if (known === undefined || stored < known) draft.stored.set(address, stored);
    }
  }
}

/**
 * Returns the other person's address as stored; several addresses only if chat.db is inconsistent. If chat.db has none,
 * returns the one in the id.
 */
function membersOf({ id, participants }: NamedChat): readonly string[] {
  if (participants.length > 0) return participants;
  const identity = chatIdentity(id);
  return identity === undefined ? [] : [identity.identifier];
}

interface NewDraft {
  readonly name: string | null;
  readonly addresses: readonly string[];
  readonly ambiguous: readonly AmbiguousAddress[];
  /** The addresses of the person's conversations. Key: the canonical form. Value: the address as chat.db stores it. */
  readonly stored: Map<string, string>;
  readonly conversations: string[];
}

/** Runs a generator's work in steps, with other work in between. */
async function inTurns<Result>(work: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
}

function newDraft(address: string, owner: AddressOwner | undefined): NewDraft {
  const empty = { stored: new Map<string, string>(), conversations: [] };
  if (owner === undefined) return { name: null, addresses: [address], ambiguous: [], ...empty };
  if ('ambiguous' in owner) return { name: null, addresses: [address], ambiguous: [owner.ambiguous], ...empty };
  return { ...owner.group, ...empty };
}

function finished({ name, addresses, ambiguous, stored, conversations }: NewDraft): Draft {
  const shown = new Map(addresses.map((address) => [address, stored.get(address) ?? address]));
  const [first = ''] = addresses;
  // People with a name come before people without one.
  const order = `${name === null ? '1' : '0'} ${folded(name ?? '')} ${first}`;
  return { id: idOf(first), first, order, name, addresses: shown, ambiguous, conversations };
}

function idOf(address: string): string {
  return createHash('sha256').update(address).digest('hex').slice(0, ID_LENGTH);
}

/**
 * Returns the part of a person that the view shows; undefined if it shows no conversation or no address of the person.
 */
function personOf(draft: Draft, view: PeopleView | undefined): Person | undefined {
  const { id, first, name, addresses: all, conversations, ambiguous } = draft;
  const shown = view?.conversations(conversations) ?? conversations;
  if (shown.length === 0) return undefined;
  const isVisible = (address: string): boolean => view === undefined || view.hasAddress(address);
  const addresses = [...all].filter(([, address]) => isVisible(address));
  const [smallest] = addresses[0] ?? [];
  if (smallest === undefined) return undefined;
  const others = ambiguous.filter(({ address }) => isVisible(address));
  return {
    id: smallest === first ? id : idOf(smallest),
    name,
    addresses: addresses.map(([, address]) => address),
    conversations: shown,
    ...(others.length > 0 && { ambiguous: others }),
  };
}
