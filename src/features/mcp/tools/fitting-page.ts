import type { Page } from '../../../core/model/ports/reading-ports.ts';
import { MAX_ANSWER } from '../text/lines.ts';

/**
 * Reads a page whose lines fit into one answer. If `limit` items do not fit, reads fewer. The returned page omits items
 * that `keep` rejects, but its cursor still continues after them.
 */
export async function fittingPage<Item>(
  limit: number,
  read: (limit: number) => Promise<Page<Item>>,
  render: (items: readonly Item[]) => Promise<string>,
  keep: (items: readonly Item[]) => readonly Item[],
): Promise<Page<Item> & { readonly lines: string; readonly leftOut: number }> {
  for (let wanted = limit; ; ) {
    const page = await read(wanted);
    const items = keep(page.items);
    const lines = await render(items);
    const count = page.items.length;
    if (lines.length <= MAX_ANSWER || count <= 1) return { ...page, items, lines, leftOut: count - items.length };
    wanted = Math.max(1, Math.floor((count * MAX_ANSWER * 0.9) / lines.length));
  }
}
