import type { Caller } from './caller.ts';
import type { Conversation } from './conversation.ts';
import type { Message } from './message.ts';
import { skippedAs } from './narrowing.ts';

/** Returns the items without junk (decisions V5, AB4), in their order. `messageOf` returns an item's message. */
export function withoutJunk<Item>(
  items: readonly Item[],
  messageOf: (item: Item) => Message,
  caller: Pick<Caller, 'reader' | 'key'>,
): readonly Item[] {
  return unmarked('messages', items, (item) => messageOf(item).id, caller);
}

/** Returns the conversations without those that Messages hides (decision AB4), in their order. */
export function withoutHiddenChats(
  conversations: readonly Conversation[],
  caller: Pick<Caller, 'reader' | 'key'>,
): readonly Conversation[] {
  return unmarked('conversations', conversations, ({ id }) => id, caller);
}

function unmarked<Item>(
  what: 'messages' | 'conversations',
  items: readonly Item[],
  idOf: (item: Item) => string,
  { reader, key }: Pick<Caller, 'reader' | 'key'>,
): readonly Item[] {
  const marks = reader.marks(what, items.map(idOf));
  return marks.size === 0
    ? items
    : items.filter((item) => skippedAs({ junk: false }, marks.get(idOf(item)), key) === undefined);
}
