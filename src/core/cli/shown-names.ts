import { isPosternError, type PosternClient } from '../../client/postern-client.ts';
import type { Conversation } from '../model/conversation.ts';
import type { Include } from '../model/include.ts';
import { EXIT } from './context.ts';
import { Refusal } from './service-connection.ts';

/**
 * Makes a request that includes people's names and the data that `others` lists. If the service refuses the names, as a
 * service of many Macs does, repeats the request without them.
 */
export async function withNames<Answer>(
  ask: (included: { readonly include?: readonly Include[] }) => Promise<Answer>,
  others: readonly Include[] = [],
): Promise<Answer> {
  try {
    return await ask({ include: ['contacts', ...others] });
  } catch (error) {
    if (isPosternError(error) && error.code === 'invalid_request') {
      return ask(others.length === 0 ? {} : { include: others });
    }
    throw error;
  }
}

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

/**
 * Returns the names of all limited keys, including revoked ones. Key: the limited key's id. Value: its name. Returns an
 * empty map if the client's own key may not list keys.
 */
export async function keyNames(client: PosternClient): Promise<ReadonlyMap<string, string>> {
  try {
    const keys = await client.keys.list({ include: 'revoked' });
    return new Map(keys.map(({ id, name, revoked_at: at }) => [id, at === undefined ? name : `${name} (revoked)`]));
  } catch (error) {
    if (isPosternError(error) && error.status === 403) return new Map();
    throw error;
  }
}
