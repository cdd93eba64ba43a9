// The conversations and people whose names the page knows: for suggestions, filters and titles.

import type { Contact } from '../../../client/people-types.ts';
import type { Conversation } from '../../../core/model/conversation.ts';
import type { Names } from '../../../core/model/names.ts';
import { type AnswerPage, call, pageOf, statusOf } from './api.ts';
import { onEvent } from './live.ts';
import { idOn, macOf } from './place.ts';
import { ALL_PARTS, serves } from './service.ts';
import { addressIn, personOf } from './words.ts';

/** A person or a group that a field suggests. */
export interface Entry {
  readonly id: string;
  readonly name: string;
  readonly detail: string;
  readonly isGroup: boolean;
  readonly conversation?: string;
  /** The Mac that the conversation is on, if the service lists those of several. */
  readonly mac?: string | undefined;
}

/** A person as an avatar shows them. */
export interface Face {
  readonly name: string;
  readonly id: string;
}

const AT_ONCE = 50;
const SUGGESTED = 8;
/** More than a list has room for. The browser would lay out also what it cuts. */
const SHOWN_LETTERS = 300;

/** Key: that of `idOn`. */
const known = new Map<string, Conversation>();
/** The newest conversations; undefined after each event. */
let newest: Promise<AnswerPage<Conversation>> | undefined;
let isRead = false;

/** Returns a conversation's display name, otherwise the names of its participants, otherwise the address in its id. */
export const nameOf = (conversation: Conversation): string => namesOf(conversation).join(', ');

/** Returns the names of which the conversation's name consists. */
export function namesOf({ display_name: name, participants, id, names }: Conversation): readonly string[] {
  if (name !== null) return [name];
  return participants.length === 0 ? [addressIn(id)] : participants.map((address) => personOf(address, names));
}

export const conversationOf = (id: string): Conversation | undefined => known.get(id);

/** Returns the name of a known conversation. */
export function nameIn(id: string, mac?: string): string | undefined {
  const conversation = known.get(idOn(id, mac));
  return conversation && nameOf(conversation);
}

/** Returns the names of the people in a known conversation. */
export const namesIn = (id: string, mac?: string): Names | undefined => known.get(idOn(id, mac))?.names;

/** To whom a send goes. */
export interface Recipient {
  readonly to: string;
  readonly members?: readonly string[] | undefined;
  readonly names?: Names | undefined;
}

/** Returns the name of a send's recipient from the Address Book or a known conversation, otherwise the address. */
export function recipientOf({ to, members = [], names }: Recipient): string {
  const [only] = members;
  const name = members.length === 1 && only !== undefined ? personOf(only, names) : undefined;
  if (name !== undefined && name !== only) return name;
  return nameIn(to) ?? nameIn(`any;-;${to}`) ?? name ?? addressIn(to);
}

export function noteConversations(conversations: readonly Conversation[]): void {
  for (const conversation of conversations) known.set(idOn(conversation.id, macOf(conversation)), conversation);
}

export const isGroup = ({ id, details, participants }: Conversation): boolean =>
  details?.is_group ?? (id.includes(';+;') || participants.length > 1);

/** Returns the people whose initials the conversation's avatar shows. */
export const peopleIn = (conversation: Conversation): readonly Face[] =>
  isGroup(conversation) && conversation.participants.length > 1
    ? conversation.participants.map((address) => ({
        name: personOf(address, conversation.names),
        id: address,
      }))
    : [{ name: nameOf(conversation), id: conversation.participants[0] ?? conversation.id }];

/** Returns the last message of a conversation, as a list shows it: the name to put before the text, if any. */
export function lastWords(conversation: Conversation): readonly [who: string | undefined, text: string] {
  const { details, names } = conversation;
  const last = details?.last_message;
  if (!last) return [undefined, ''];
  const text = (last.sentence ?? last.body).slice(0, SHOWN_LETTERS) || 'Attachment';
  const who = last.is_from_me ? 'You' : isGroup(conversation) ? personOf(last.sender, names) : undefined;
  // Puts no name before the sentence of a group event, because that sentence begins with the name.
  return [last.body === '' && text.startsWith(`${who} `) ? undefined : who, text];
}

/** Reads the newest conversations. Callers share one answer until the next live event, unless `isFresh` is true. */
export function newestConversations({
  isByItself,
  isFresh = false,
}: {
  readonly isByItself?: boolean | undefined;
  readonly isFresh?: boolean;
} = {}): Promise<AnswerPage<Conversation>> {
  if (newest !== undefined && !isFresh) return newest;
  const own = pageOf<Conversation>(`conversations?limit=${AT_ONCE}&include=${ALL_PARTS}`, {
    isByItself,
    isKept: true,
  });
  newest = own;
  own.then(
    ({ items }) => {
      isRead = true;
      noteConversations(items);
    },
    () => {
      if (newest === own) newest = undefined;
    },
  );
  return own;
}

onEvent(() => {
  newest = undefined;
});

/** Reads the newest conversations, unless an earlier request for them succeeded. */
export async function readDirectory(): Promise<void> {
  if (!isRead) await newestConversations();
}

function entryOf(conversation: Conversation): Entry {
  const { id, participants } = conversation;
  const detail = isGroup(conversation)
    ? participants.map((address) => personOf(address, conversation.names)).join(', ')
    : (participants[0] ?? addressIn(id));
  return {
    id: isGroup(conversation) ? id : (participants[0] ?? id),
    name: nameOf(conversation),
    detail,
    isGroup: isGroup(conversation),
    conversation: id,
    mac: macOf(conversation),
  };
}

/** Reports whether each word of `text` occurs in the entry's name, detail or id. Ignores case. */
export function hasWords({ name, detail, id }: Entry, text: string): boolean {
  const all = `${name} ${detail} ${addressIn(id)}`.toLowerCase();
  return wordsOf(text).every((word) => all.includes(word));
}

/** Reports whether somebody types a number or an e-mail address instead of a name. */
export const isAddress = (text: string): boolean => /^\+?\d[\d\s().-]*$|^[^\s@]+@[^\s@]+$/.test(text);

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Returns people and groups whose name or address contains every word of `text`. Entries whose own name has words that
 * begin so come first, then those with the words elsewhere in their name. If too few known conversations match, adds
 * contacts of the Address Book and older conversations.
 */
export async function suggestions(text: string): Promise<readonly Entry[]> {
  await readDirectory().catch(() => {});
  const words = wordsOf(text);
  const found: Entry[] = [...known.values()].map(entryOf).filter((entry) => hasWords(entry, text));
  if (found.length < SUGGESTED && text !== '') {
    const others = await Promise.all([serves('listContacts') ? contactsFor(text) : [], conversationsFor(text)]);
    found.push(...others.flat());
  }
  const rankOf = ({ name }: Entry): number => {
    const all = ` ${name.toLowerCase()}`;
    return [' ', ''].filter((before) => words.every((word) => all.includes(`${before}${word}`))).length;
  };
  found.sort((a, b) => rankOf(b) - rankOf(a));
  const seen = new Set<string>();
  return found.filter(({ id }) => !seen.has(id) && seen.add(id)).slice(0, SUGGESTED);
}

/** A text whose conversations are all known, so that those of a longer text are too. */
let answered: string | undefined;

/** Asks the service for conversations, because the page knows only the newest. */
async function conversationsFor(text: string): Promise<readonly Entry[]> {
  if (answered !== undefined && text.startsWith(answered)) return [];
  try {
    const path = `conversations?limit=${SUGGESTED}&include=${ALL_PARTS}&q=${encodeURIComponent(text)}`;
    const { items, next } = await pageOf<Conversation>(path, { isByItself: true });
    noteConversations(items);
    if (next === undefined) answered = text;
    return items.map(entryOf);
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return [];
  }
}

async function contactsFor(text: string): Promise<readonly Entry[]> {
  try {
    const path = `contacts?limit=${SUGGESTED}&q=${encodeURIComponent(text)}`;
    const people = await call<readonly Contact[]>(path, { isByItself: true });
    return people.flatMap(({ name, addresses }) =>
      addresses.map((address) => ({ id: address, name, detail: address, isGroup: false })),
    );
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return [];
  }
}
