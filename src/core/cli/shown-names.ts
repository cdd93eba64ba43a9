import type { Conversation } from '../model/conversation.ts';
import { EXIT } from './context.ts';
import { Refusal } from './service-connection.ts';

/** Returns the name of a conversation; "" for an unnamed group, and for a person without a name. */
export function conversationName({ id, display_name: name, participants, names = {} }: Conversation): string {
  const [party = ''] = participants;
  return name ?? (id.includes(';-;') ? (names[party] ?? '') : '');
}

/** Returns the item with this id, or the only one whose id begins with it. Throws a Refusal otherwise. */
export function withId<Item extends { readonly id: string }>(
  items: readonly Item[],
  given: string,
  kind: string,
  list: string,
): Item {
  const found = items.filter(({ id }) => id.startsWith(given));
  const [only] = found;
  if (only !== undefined && (found.length === 1 || only.id === given)) return only;
  throw new Refusal(
    EXIT.refusedInput,
    only === undefined
      ? `There is no ${kind} ${given}.`
      : `${found.length} ${kind}s have an id that begins with ${given}.`,
    `\`${list}\` shows them.`,
  );
}

/** Returns an id as lists show it: short enough for people to compare. Commands accept any unambiguous prefix. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}
