import { normalAddress, rightsAddress } from '../../core/model/address.ts';
import type { Mistake } from '../../core/model/errors.ts';
import type { AccessList, ListEntry } from '../../core/model/key.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import { invalidRequest } from '../../core/model/problems.ts';
import type { KeyChanges } from './ports.ts';

/** Parses the read list and the send list of a key. Throws `invalid_request`, which names every unusable entry. */
export function readLists(
  directory: ChatDirectory,
  { read, send }: KeyChanges,
): { readonly read?: AccessList; readonly send?: AccessList } {
  const mistakes: Mistake[] = [];
  const entriesOf = (name: 'read' | 'send', given: '*' | readonly string[]): AccessList => {
    if (given === '*') return '*';
    const entries = given.map((text, index) => {
      const entry = entryOf(directory, text);
      if (typeof entry === 'string') mistakes.push({ pointer: `/${name}/${index}`, message: entry });
      return entry;
    });
    return distinct(entries.filter((entry) => typeof entry !== 'string'));
  };
  const lists = {
    ...(read !== undefined && { read: entriesOf('read', read) }),
    ...(send !== undefined && { send: entriesOf('send', send) }),
  };
  if (mistakes.length > 0) throw invalidRequest(mistakes);
  return lists;
}

/**
 * Returns the list entry that the text names, or a sentence that says what is wrong with the text. The id of a
 * one-to-one conversation becomes its member's address.
 */
function entryOf(directory: ChatDirectory, text: string): ListEntry | string {
  const address = rightsAddress(text);
  if (address !== undefined) return { address };
  const [best, ...others] = text.includes(';') ? directory.meant(text) : [];
  if (best === undefined) {
    return 'An entry must be a complete number such as +15550100, an e-mail address in ASCII, or the id of an existing conversation.';
  }
  const members = [...new Set([best, ...others].flatMap((chat) => chat.members.map(normalAddress)))];
  if (members.length === 0) return 'The members of this conversation cannot be read, so a list cannot contain it.';
  if (best.isGroup) return { group: best.guid, members };
  const [only, ...more] = members.map(rightsAddress);
  if (only !== undefined && more.length === 0) return { address: only };
  return 'A list can contain a one-to-one conversation only if the other person has a complete number or an e-mail address.';
}

/** Returns a list in the API's form: addresses and conversation ids. */
export function shownList(list: AccessList): '*' | readonly string[] {
  return list === '*' ? '*' : list.map((entry) => ('address' in entry ? entry.address : entry.group));
}

function distinct(entries: readonly ListEntry[]): readonly ListEntry[] {
  return [...new Map(entries.map((entry) => ['address' in entry ? entry.address : entry.group, entry])).values()];
}
