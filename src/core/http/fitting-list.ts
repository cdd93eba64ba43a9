import type { Message } from '../model/message.ts';
import type { Page } from '../model/ports/reading-ports.ts';
import type { Answer } from './answer.ts';

/** Maximum size of a JSON list with messages, in bytes. A single item may be larger. */
const MAX_LIST_BYTES = 16_000_000;

/** A message or a reaction in the JSON of a list. */
interface Detailed {
  details?: unknown;
  details_left_out?: true | undefined;
}

/**
 * Returns the JSON texts of a list's items that fit into one answer. If the list is too large, removes `details`,
 * beginning with the last item, and then the last items themselves. `detailedIn` finds the message in a parsed item.
 */
export function fittingTexts<Item>(
  texts: readonly string[],
  detailedIn: (item: Item) => Detailed | undefined,
): readonly string[] {
  const fitting = [...texts];
  const sizes = texts.map((text) => Buffer.byteLength(text) + 1);
  let bytes = sizes.reduce((sum, size) => sum + size, 1);
  for (let at = texts.length - 1; at >= 0 && bytes > MAX_LIST_BYTES; at -= 1) {
    const brief = withoutDetails(texts[at] ?? '', detailedIn);
    fitting[at] = brief;
    bytes -= (sizes[at] ?? 0) - Buffer.byteLength(brief) - 1;
  }
  while (fitting.length > 1 && bytes > MAX_LIST_BYTES) bytes -= Buffer.byteLength(fitting.pop() ?? '') + 1;
  return fitting;
}

function withoutDetails<Item>(text: string, detailedIn: (item: Item) => Detailed | undefined): string {
  const item = JSON.parse(text) as Item;
  const detailed = detailedIn(item);
  if (detailed?.details === undefined) return text;
  detailed.details = undefined;
  detailed.details_left_out = true;
  return JSON.stringify(item);
}

/** Returns the body of a list, from the JSON of its items. */
export function listOfTexts(texts: readonly string[]): NonNullable<Answer['content']> {
  return { type: 'application/json', text: `[${texts.join()}]` };
}

/** A page, and the body of its answer. */
export interface FittingList<Item> {
  readonly page: Page<Item>;
  readonly content: NonNullable<Answer['content']>;
}

/**
 * Reads a page whose JSON fits into one answer. If `limit` items do not fit, reads fewer, so that `next` follows them.
 */
export async function fittingList<Item>(
  limit: number,
  read: (limit: number) => Promise<Page<Item>>,
  detailedIn: (item: Item) => Detailed | undefined,
): Promise<FittingList<Item>> {
  for (let wanted = limit; ; ) {
    const page = await read(wanted);
    const texts = fittingTexts(
      page.items.map((item) => JSON.stringify(item)),
      detailedIn,
    );
    if (texts.length === page.items.length) return { page, content: listOfTexts(texts) };
    wanted = texts.length;
  }
}

/** Reads a page of messages as `fittingList` does. */
export function fittingMessages(
  limit: number,
  read: (limit: number) => Promise<Page<Message>>,
): Promise<FittingList<Message>> {
  return fittingList(limit, read, (message) => message as Detailed);
}
