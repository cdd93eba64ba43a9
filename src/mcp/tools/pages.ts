import type { Page } from '../../domain/ports/reading.ts';
import { MAX_ANSWER } from '../text/lines.ts';

/** Reads fewer items until their lines fit into an answer; the cursor is the one behind those that are shown. */
export async function fittingPage<Item>(
  limit: number,
  read: (limit: number) => Promise<Page<Item>>,
  render: (items: readonly Item[]) => Promise<string>,
): Promise<Page<Item> & { readonly lines: string }> {
  for (let wanted = limit; ; ) {
    const page = await read(wanted);
    const lines = await render(page.items);
    const count = page.items.length;
    if (lines.length <= MAX_ANSWER || count <= 1) return { ...page, lines };
    wanted = Math.max(1, Math.floor((count * MAX_ANSWER * 0.9) / lines.length));
  }
}
