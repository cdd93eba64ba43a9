import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Contact } from '../../client/people-types.ts';
import { folded, searchedText, searchWords } from '../../core/model/folded.ts';
import { namedBy } from '../../core/model/ports/names-ports.ts';

/** Number of contacts compared before other work can run. Comparing them takes a few milliseconds. */
const SLICE = 1000;

interface Match {
  readonly key: string;
  readonly contact: Contact;
}

/**
 * Returns up to `limit` contacts, sorted by name. Each word of `text` must occur in the contact's name, nickname,
 * organization or addresses. With `isListed`, contacts have only the addresses that it allows: a match on a hidden one
 * would reveal that it exists.
 */
export async function searchContacts(
  contacts: readonly Contact[],
  text: string,
  limit: number,
  isListed?: (address: string) => boolean,
): Promise<Contact[]> {
  const words = searchWords(text);
  const matches = ({ name, nickname, organization, addresses }: Contact): boolean => {
    const content = searchedText([name, nickname, organization], addresses);
    return words.every((word) => content.includes(word));
  };
  const best: Match[] = [];
  await inSlices(contacts, (whole) => {
    if (!matches(whole)) return;
    const [contact] = isListed === undefined ? [whole] : namedBy([whole], isListed).filter(matches);
    if (contact === undefined) return;
    const match = { key: `${folded(contact.name)} ${contact.addresses[0] ?? ''}`, contact };
    const last = best.at(-1);
    if (best.length >= limit && last !== undefined && match.key >= last.key) return;
    best.splice(insertionIndex(match.key, best), 0, match);
    if (best.length > limit) best.pop();
  });
  return best.map(({ contact }) => contact);
}

/** Returns the contacts whose name or nickname equals `name`, as `folded` compares them. */
export async function contactsNamed(contacts: readonly Contact[], name: string): Promise<Contact[]> {
  const wanted = folded(name);
  const found: Contact[] = [];
  await inSlices(contacts, (contact) => {
    if ([contact.name, contact.nickname ?? ''].some((own) => own !== '' && folded(own) === wanted)) found.push(contact);
  });
  return found;
}

async function inSlices(contacts: readonly Contact[], look: (contact: Contact) => void): Promise<void> {
  for (const [index, contact] of contacts.entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    look(contact);
  }
}

function insertionIndex(key: string, sorted: readonly Match[]): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.key ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
