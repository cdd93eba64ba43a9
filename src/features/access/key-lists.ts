import type { ClosedGroup } from '../../client/key-types.ts';
import { normalAddress, rightsAddress } from '../../core/model/address.ts';
import type { Mistake } from '../../core/model/errors.ts';
import type { AccessList, ListEntry } from '../../core/model/key.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import { invalidRequest } from '../../core/model/problems.ts';
import { isSameGroup } from './policy.ts';
import type { KeyUpdate } from './ports.ts';

/**
 * Parses the read list and the send list of a key, and opens groups again. Throws `invalid_request`, which names the
 * `earlier` mistakes and every unusable entry. A group that is in the current list keeps its members of then, so that
 * another change of the list does not open it again.
 */
export function readLists(
  directory: ChatDirectory,
  { read, send, opens = [] }: KeyUpdate,
  now: Readonly<Record<'read' | 'send', AccessList>> = { read: [], send: [] },
  earlier: readonly Mistake[] = [],
): { readonly read?: AccessList; readonly send?: AccessList } {
  const mistakes = [...earlier];
  const entriesOf = (name: 'read' | 'send', given: '*' | readonly string[]): AccessList => {
    if (given === '*') return '*';
    const entries = given.map((text, index) => {
      const entry = entryOf(directory, text, now[name]);
      if (typeof entry === 'string') mistakes.push({ pointer: `/${name}/${index}`, message: entry });
      return entry;
    });
    return distinct(entries.filter((entry) => typeof entry !== 'string'));
  };
  const lists = {
    ...(read !== undefined && { read: entriesOf('read', read) }),
    ...(send !== undefined && { send: entriesOf('send', send) }),
  };
  const list = lists.send ?? now.send;
  for (const [index, { conversation_id: id }] of opens.entries()) {
    const message = '`send` does not list this group.';
    if (groupIn(list, id) === undefined) mistakes.push({ pointer: `/opens/${index}`, message });
  }
  if (mistakes.length > 0) throw invalidRequest(mistakes);
  return opens.length === 0 ? lists : { ...lists, send: opened(list, opens) };
}

/**
 * Returns the list entry that the text names, or a sentence that says what is wrong with the text. The id of a
 * one-to-one conversation becomes its member's address.
 */
function entryOf(directory: ChatDirectory, text: string, now: AccessList): ListEntry | string {
  const address = rightsAddress(text);
  if (address !== undefined) return { address };
  const [best, ...others] = text.includes(';') ? directory.meant(text) : [];
  if (best === undefined) {
    return 'An entry must be a complete number such as +15550100, an e-mail address in ASCII, or the id of an existing conversation.';
  }
  const members = [...new Set([best, ...others].flatMap((chat) => chat.members.map(normalAddress)))];
  if (members.length === 0) return 'The members of this conversation cannot be read, so a list cannot contain it.';
  if (best.isGroup) return { group: best.guid, members: groupIn(now, best.guid)?.members ?? members };
  const [only, ...more] = members.map(rightsAddress);
  if (only !== undefined && more.length === 0) return { address: only };
  return 'A list can contain a one-to-one conversation only if the other person has a complete number or an e-mail address.';
}

const groupIn = (list: AccessList, id: string) =>
  list === '*' ? undefined : list.filter((entry) => 'group' in entry).find(({ group }) => isSameGroup(group, id));

/** Adds to groups in a list the people who joined and may stay. */
function opened(list: AccessList, groups: readonly ClosedGroup[]): AccessList {
  if (list === '*') return list;
  return list.map((entry) => {
    if (!('group' in entry)) return entry;
    const joined = groups
      .filter(({ conversation_id: id }) => isSameGroup(id, entry.group))
      .flatMap((one) => one.joined);
    return joined.length === 0 ? entry : { ...entry, members: [...entry.members, ...joined.map(normalAddress)] };
  });
}

/** Returns a list in the API's form: addresses and conversation ids. */
export function shownList(list: AccessList): '*' | readonly string[] {
  return list === '*' ? '*' : list.map((entry) => ('address' in entry ? entry.address : entry.group));
}

function distinct(entries: readonly ListEntry[]): readonly ListEntry[] {
  return [...new Map(entries.map((entry) => ['address' in entry ? entry.address : entry.group, entry])).values()];
}
