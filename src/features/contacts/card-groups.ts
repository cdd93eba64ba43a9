import type { AmbiguousAddress } from '../../client/people-types.ts';
import { folded } from '../../core/model/folded.ts';

/** A card of the Address Book, with the data that identify its owner. */
export interface Card {
  readonly name: string;
  /** The card's addresses in canonical form, without duplicates. */
  readonly addresses: readonly string[];
  /** Identifies a group of linked cards, which Contacts shows as one card; "" if the card is not linked. */
  readonly link: string;
}

/** All cards of one person. */
export interface CardGroup {
  readonly name: string;
  /** Addresses that are on this person's cards only, sorted. */
  readonly addresses: readonly string[];
  /** Addresses that are also on cards of people with other names, sorted. */
  readonly ambiguous: readonly AmbiguousAddress[];
}

/** The owner of an address, or the names of the people who share it. */
export type AddressOwner = { readonly group: CardGroup } | { readonly ambiguous: AmbiguousAddress };

/** Maximum number of names listed for one ambiguous address. */
const MAX_NAMES = 10;
/** Number of cards or addresses processed before other work can run. */
const STEP = 1000;

/**
 * Joins the cards of each person (decision V4): linked cards, and cards with equal names that share an address. An
 * address does not join two unlinked cards with different names. Such an address belongs to nobody, unless all cards
 * that have it are joined for another reason. The order of the cards does not matter. Takes linear time, and yields so
 * that other work can run.
 */
export function* groupCards(cards: readonly Card[]): Generator<void, ReadonlyMap<string, AddressOwner>> {
  const sets = new DisjointSets(cards.length);
  const linked = new Map<string, number>();
  const holders = new Map<string, number[]>();
  for (const [index, { link, addresses }] of cards.entries()) {
    if (isStep(index)) yield;
    if (link !== '') sets.join(index, firstOf(linked, link, index));
    for (const address of addresses) {
      const known = holders.get(address);
      if (known === undefined) holders.set(address, [index]);
      else known.push(index);
    }
  }
  let looked = 0;
  for (const indexes of holders.values()) {
    if (isStep(looked++)) yield;
    if (indexes.length > 1 && haveOneName(indexes, cards)) sets.joinAll(indexes);
  }
  return yield* ownersOf(cards, sets, holders);
}

function* ownersOf(
  cards: readonly Card[],
  sets: DisjointSets,
  holders: ReadonlyMap<string, readonly number[]>,
): Generator<void, ReadonlyMap<string, AddressOwner>> {
  const groups: NewGroup[] = [];
  for (const [index, { name }] of cards.entries()) {
    if (isStep(index)) yield;
    const root = sets.rootOf(index);
    const group = groups[root] ?? { name, addresses: [], ambiguous: [] };
    groups[root] = group;
    if (isFuller(name, group.name)) group.name = name;
  }
  const owners = new Map<string, AddressOwner>();
  let looked = 0;
  for (const [address, indexes] of holders) {
    if (isStep(looked++)) yield;
    const [first = 0] = indexes;
    const root = sets.rootOf(first);
    const group = groups[root];
    if (group !== undefined && indexes.every((card) => sets.rootOf(card) === root)) {
      group.addresses.push(address);
      owners.set(address, { group });
    } else {
      const ambiguous = { address, names: firstNames(indexes, cards) };
      for (const one of new Set(indexes.map((card) => groups[sets.rootOf(card)]))) one?.ambiguous.push(ambiguous);
      owners.set(address, { ambiguous });
    }
  }
  for (const [index, { addresses, ambiguous }] of groups.filter((group) => group !== undefined).entries()) {
    if (isStep(index)) yield;
    if (addresses.length > 1) addresses.sort();
    if (ambiguous.length > 1) ambiguous.sort((a, b) => (a.address < b.address ? -1 : 1));
  }
  return owners;
}

function isStep(index: number): boolean {
  return index % STEP === STEP - 1;
}

interface NewGroup {
  name: string;
  readonly addresses: string[];
  readonly ambiguous: AmbiguousAddress[];
}

function haveOneName([first = 0, ...others]: readonly number[], cards: readonly Card[]): boolean {
  const name = cards[first]?.name ?? '';
  return others.every((other) => {
    const another = cards[other]?.name ?? '';
    return another === name || folded(another) === folded(name);
  });
}

/**
 * Returns the first `MAX_NAMES` different names of the cards, sorted. Never collects more, because thousands of cards
 * with different names may share one address.
 */
function firstNames(indexes: readonly number[], cards: readonly Card[]): readonly string[] {
  const first: string[] = [];
  for (const index of indexes) {
    const name = cards[index]?.name ?? '';
    const last = first[MAX_NAMES - 1];
    if ((last !== undefined && name >= last) || first.includes(name)) continue;
    first.push(name);
    first.sort();
    if (first.length > MAX_NAMES) first.pop();
  }
  return first;
}

/**
 * Reports whether a name is fuller than another: longer, or equally long with lower case or accents where the other has
 * capitals or plain letters.
 */
function isFuller(name: string, than: string): boolean {
  return name.length === than.length ? name > than : name.length > than.length;
}

function firstOf(known: Map<string, number>, key: string, index: number): number {
  const first = known.get(key) ?? index;
  known.set(key, first);
  return first;
}

/** Disjoint sets of the numbers from 0 to `size` - 1 (union-find). */
class DisjointSets {
  readonly #parents: Int32Array;

  constructor(size: number) {
    this.#parents = Int32Array.from({ length: size }, (_, index) => index);
  }

  rootOf(index: number): number {
    const parents = this.#parents;
    let root = index;
    while (parents[root] !== root) {
      // Halves the path to the root, so that later calls do not walk a long chain again.
      parents[root] = parents[parents[root] ?? root] ?? root;
      root = parents[root] ?? root;
    }
    return root;
  }

  join(a: number, b: number): void {
    this.#parents[this.rootOf(a)] = this.rootOf(b);
  }

  joinAll([first = 0, ...others]: readonly number[]): void {
    for (const other of others) this.join(other, first);
  }
}
