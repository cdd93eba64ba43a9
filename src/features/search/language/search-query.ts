import { isUnanswerable } from '../../../core/model/address.ts';
import { NS_PER_MS } from '../../../core/model/durations.ts';
import type { Mistake } from '../../../core/model/errors.ts';
import type { Named } from '../../../core/model/ports/names-ports.ts';
import type { SearchNames } from '../ports.ts';
import type { SearchQuery, SearchSender } from '../types.ts';
import type { TypedName, TypedSearch } from './search-text.ts';

/** Maximum number of candidates listed for an ambiguous name. */
const MAX_CANDIDATES = 5;
/** Builds the index query from a typed search. Looks up names, and collects every mistake. */
export async function searchQueryOf(
  typed: TypedSearch,
  conversationId: string | undefined,
  names: SearchNames,
): Promise<{ readonly query: SearchQuery; readonly mistakes: readonly Mistake[] }> {
  const mistakes: Mistake[] = [];
  const senders: SearchSender[] = [];
  const wanted: (readonly string[])[] = [];
  const misses = (given: TypedName, key: string, reason: string): void => {
    mistakes.push({ pointer: '?q', message: `At character ${given.at}: ${key}:${given.text} ${reason}` });
  };
  for (const given of typed.from) {
    const sender = await senderOf(given.text, names);
    if (typeof sender === 'string') misses(given, 'from', sender);
    else senders.push(sender);
  }
  for (const given of typed.in) {
    const ids = await conversationsOf(given.text, names);
    if (typeof ids === 'string') misses(given, 'in', ids);
    else wanted.push(ids);
  }
  return {
    query: {
      terms: typed.terms,
      excluded: typed.excluded,
      senders,
      conversations: [
        ...(wanted.length > 0 ? [wanted.flat()] : []),
        ...(conversationId === undefined ? [] : [names.chats.conversations(conversationId)]),
      ],
      hasAttachment: typed.hasAttachment,
      fromMs: millisecondsOf(typed.afterNs),
      beforeMs: millisecondsOf(typed.beforeNs),
    },
    mistakes: [...typed.mistakes, ...mistakes],
  };
}

/** Returns the sender that `from:` names. If there is none, returns the rest of a sentence that says why. */
async function senderOf(text: string, { naming, chats }: SearchNames): Promise<SearchSender | string> {
  if (text.toLowerCase() === 'me') return { isMe: true };
  // A number or an e-mail address counts as one, even if nobody has written from it.
  if (!isUnanswerable(text)) return { isMe: false, addresses: [text] };
  const people = await naming.named(text);
  const [person, second] = people;
  if (second !== undefined) return ambiguous(people.map(candidate), 'people');
  if (person !== undefined) return { isMe: false, addresses: person.addresses };
  if (chats.isAddress(text)) return { isMe: false, addresses: [text] };
  return 'is not the name of anyone known. Use a whole name, an address such as from:+15550100, or from:me.';
}

/**
 * Returns the ids of the conversations that `in:` names. If there are none, returns the rest of a sentence that says
 * why.
 */
async function conversationsOf(text: string, { naming, chats }: SearchNames): Promise<readonly string[] | string> {
  const byId = chats.conversations(text);
  if (byId.length > 0) return byId;
  const groups = chats.named(text).map((ids) => ({ ids, shown: ids[0] ?? '' }));
  const people = (await naming.named(text))
    .map((person) => ({ ids: person.addresses.flatMap((one) => chats.conversations(one)), shown: candidate(person) }))
    .filter(({ ids }) => ids.length > 0);
  const [first, second] = [...groups, ...people];
  if (second !== undefined) {
    return ambiguous(
      [...groups, ...people].map(({ shown }) => shown),
      'conversations',
    );
  }
  return first?.ids ?? 'matches no known conversation. Use its full id or name; postern conversations lists them.';
}

function candidate({ name, addresses }: Named): string {
  return `${name} (${addresses.slice(0, 2).join(', ')})`;
}

function ambiguous(candidates: readonly string[], what: string): string {
  const more = candidates.length > MAX_CANDIDATES ? `, and ${candidates.length - MAX_CANDIDATES} more` : '';
  return `means several ${what}: ${candidates.slice(0, MAX_CANDIDATES).join('; ')}${more}. Use an id or an address.`;
}

function millisecondsOf(ns: bigint | undefined): number | undefined {
  return ns === undefined ? undefined : Number(ns / NS_PER_MS);
}
