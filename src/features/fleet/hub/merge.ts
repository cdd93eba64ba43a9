import { isAppError } from '../../../core/model/errors.ts';
import type { Log } from '../../../core/model/ports/host-ports.ts';

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
  const queues = lists.map((list) => ({ list, items: [] as Item[], next: undefined as string | undefined }));
  const load = async (queue: (typeof queues)[number]): Promise<void> => {
    try {
      const { items, next } = await queue.list.load(queue.next);
      // An empty page ends a list.
      Object.assign(queue, { items: [...items], next: items.length === 0 ? undefined : next });
    } catch (error) {
      // `broker_away` concerns this hub, so the whole list fails. A Mac's refusal costs only its own items.
      if (!isAppError(error) || error.code === 'broker_away') throw error;
      const { mac } = queue.list;
      log.debug('a list lacks the items of a Mac', { mac, reason: error.message });
      missing.push(mac);
      queue.next = undefined;
    }
  };
  await Promise.all(queues.map(load));
  const items: { mac: string; item: Item }[] = [];
  while (items.length < count) {
    const loaded = queues.filter((queue) => queue.items.length > 0);
    if (loaded.length === 0) break;
    // Takes the item whose list comes first if several are equal.
    const first = loaded.reduce((one, other) =>
      compare(other.items[0] as Item, one.items[0] as Item) < 0 ? other : one,
    );
    items.push({ mac: first.list.mac, item: first.items.shift() as Item });
    // A page that is complete needs no further request: `next` proves that the Mac has more.
    if (first.items.length === 0 && first.next !== undefined && items.length < count) await load(first);
  }
  return { items, hasMore: queues.some((queue) => queue.items.length > 0 || queue.next !== undefined), missing };
}
