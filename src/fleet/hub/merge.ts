import { isAppError } from '../../domain/errors.ts';
import type { Log } from '../../domain/ports/host-ports.ts';

/** The items of one Mac, page by page, in the order in which that Mac lists them. */
export interface MacList<Item> {
  readonly mac: string;
  /** Returns one page. `place` is the `next` of the previous page; without it, returns the first page. */
  readonly load: (
    place: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next?: string | undefined }>;
}

export interface Merged<Item> {
  readonly items: readonly { readonly mac: string; readonly item: Item }[];
  readonly hasMore: boolean;
  /** The Macs that refused or did not answer. The items of these Macs are missing. */
  readonly missing: readonly string[];
}

interface Source<Item> {
  readonly list: MacList<Item>;
  items: readonly Item[];
  at: number;
  next: string | undefined;
}

/**
 * Merges the lists of several Macs and returns the first `count` items. `compare` orders items of different Macs; equal
 * items follow the order of `lists`. The items of one Mac keep their order.
 */
export async function merged<Item>(
  lists: readonly MacList<Item>[],
  count: number,
  compare: (a: Item, b: Item) => number,
  log: Log,
): Promise<Merged<Item>> {
  const missing: string[] = [];
  const load = async (list: MacList<Item>, place?: string): Promise<Source<Item> | undefined> => {
    try {
      const { items, next } = await list.load(place);
      return { list, items, at: 0, next };
    } catch (error) {
      // `broker_away` concerns this hub, so the whole list fails. A Mac's refusal costs only its own items.
      if (!isAppError(error) || error.code === 'broker_away') throw error;
      log.debug('a list lacks the items of a Mac', { mac: list.mac, reason: error.message });
      missing.push(list.mac);
      return undefined;
    }
  };
  const loaded = await Promise.all(lists.map((list) => load(list)));
  let sources = loaded.filter((source) => source !== undefined && source.items.length > 0) as Source<Item>[];
  const items: { mac: string; item: Item }[] = [];
  while (items.length < count) {
    const first = firstOf(sources, compare);
    if (first === undefined) break;
    items.push({ mac: first.list.mac, item: first.items[first.at] as Item });
    first.at += 1;
    if (first.at < first.items.length) continue;
    // There are `count` items, and `next` proves that the Mac has more.
    if (items.length === count && first.next !== undefined) return { items, hasMore: true, missing };
    const further = first.next === undefined ? undefined : await load(first.list, first.next);
    sources = sources.flatMap((source) => (source !== first ? [source] : further?.items.length ? [further] : []));
  }
  return { items, hasMore: sources.length > 0, missing };
}

function firstOf<Item>(
  sources: readonly Source<Item>[],
  compare: (a: Item, b: Item) => number,
): Source<Item> | undefined {
  let first: Source<Item> | undefined;
  for (const source of sources) {
    if (first === undefined || compare(source.items[source.at] as Item, first.items[first.at] as Item) < 0) {
      first = source;
    }
  }
  return first;
}
