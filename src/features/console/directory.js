// The conversations and people whose names the page knows: for suggestions, filters and titles.

import { call, pageOf, statusOf } from './api.js';
import { onEvent } from './live.js';
import { HUES, hueOf } from './parts.js';
import { isHub, macOf, partsToInclude } from './service.js';
import { addressIn, personOf } from './words.js';

/** @import { Conversation } from '../../core/model/conversation.ts' */

/** @typedef {{ readonly id: string, readonly name: string, readonly detail: string, readonly isGroup: boolean,
 *   readonly conversation?: string }} Entry */

const AT_ONCE = 50;
const SUGGESTED = 8;

/** @type {Map<string, Conversation>} */
const known = new Map();
/** @typedef {Awaited<ReturnType<typeof pageOf>>} Page */

/** The newest conversations; undefined after each event. @type {Promise<Page> | undefined} */
let newest;
let isRead = false;

/**
 * Returns a conversation's display name, otherwise the names of its participants, otherwise the address in its id.
 * @param {Conversation} conversation
 */
export const nameOf = ({ display_name: name, participants, id, names }) =>
  name ?? (participants.map((address) => personOf(address, names)).join(', ') || addressIn(id));

/** @param {string} id */
export const conversationOf = (id) => known.get(id);

/**
 * Returns the name of a known conversation.
 * @param {string} id
 */
export function nameIn(id) {
  const conversation = known.get(id);
  return conversation && nameOf(conversation);
}

/**
 * Returns the name of a send's recipient from the Address Book or a known conversation, otherwise the address.
 * @param {{ readonly to: string, readonly members?: readonly string[], readonly names?: Readonly<Record<string, string>> }} send
 */
export function recipientOf({ to, members = [], names }) {
  const [only] = members;
  const name = members.length === 1 && only !== undefined ? personOf(only, names) : undefined;
  if (name !== undefined && name !== only) return name;
  return nameIn(to) ?? nameIn(`any;-;${to}`) ?? name ?? addressIn(to);
}

/** @param {readonly Conversation[]} conversations */
export function noteConversations(conversations) {
  for (const conversation of conversations) known.set(conversation.id, conversation);
}

/** @param {Conversation} conversation */
export const isGroup = ({ id, details, participants }) =>
  details?.is_group ?? (id.includes(';+;') || participants.length > 1);

/**
 * Returns the colour of a person. In a group, two people share a colour only if there are more people than colours.
 * @param {Conversation | undefined} conversation
 * @param {string} address
 */
export function hueIn(conversation, address) {
  /** @type {Map<string, number>} */
  const hues = new Map();
  for (const one of [...(conversation?.participants ?? [])].sort()) {
    let hue = hueOf(one);
    if (hues.size < HUES) while ([...hues.values()].includes(hue)) hue = (hue + 1) % HUES;
    hues.set(one, hue);
  }
  return hues.get(address) ?? hueOf(address);
}

/**
 * Returns the people whose initials the conversation's avatar shows.
 * @param {Conversation} conversation
 */
export const peopleIn = (conversation) =>
  isGroup(conversation) && conversation.participants.length > 1
    ? conversation.participants.map((address) => ({
        name: personOf(address, conversation.names),
        id: address,
        hue: hueIn(conversation, address),
      }))
    : [{ name: nameOf(conversation), id: conversation.participants[0] ?? conversation.id }];

/**
 * Reads the newest conversations. Callers share one answer until the next live event, unless `isFresh` is true.
 * @param {{ readonly isByItself?: boolean | undefined, readonly isFresh?: boolean }} [options]
 */
export function newestConversations({ isByItself, isFresh = false } = {}) {
  if (newest !== undefined && !isFresh) return newest;
  const own = pageOf(`conversations?limit=${AT_ONCE}&include=${partsToInclude()}`, { isByItself });
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
export const readDirectory = async () => void (isRead || (await newestConversations()));

/** @param {Conversation} conversation */
function entryOf(conversation) {
  const { id, participants } = conversation;
  const mac = macOf(id);
  const detail = isGroup(conversation)
    ? participants.map((address) => personOf(address, conversation.names)).join(', ')
    : (participants[0] ?? addressIn(id));
  return {
    id: isGroup(conversation) || isHub() ? id : (participants[0] ?? id),
    name: nameOf(conversation),
    detail: mac === undefined ? detail : `${detail} · ${mac}`,
    isGroup: isGroup(conversation),
    conversation: id,
  };
}

/**
 * Reports whether each word of `text` occurs in the entry's name, detail or id. Ignores case.
 * @param {Entry} entry
 * @param {string} text
 */
export function hasWords({ name, detail, id }, text) {
  const all = `${name} ${detail} ${id}`.toLowerCase();
  return wordsOf(text).every((word) => all.includes(word));
}

/** @param {string} text */
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Returns people and groups whose name or address contains every word of `text`. Entries with all words in their own
 * name come first. Adds contacts of the Address Book if too few known conversations match.
 * @param {string} text
 * @returns {Promise<readonly Entry[]>}
 */
export async function suggestions(text) {
  await readDirectory().catch(() => {});
  const words = wordsOf(text);
  /** @type {Entry[]} */
  const found = [...known.values()].map(entryOf).filter((entry) => hasWords(entry, text));
  if (found.length < SUGGESTED && text !== '' && !isHub()) found.push(...(await contactsFor(text)));
  // Entries whose own name contains all the words come first. Entries with a match only elsewhere, such as in a
  // member's name, follow.
  const isNamed = (/** @type {Entry} */ { name }) => words.every((word) => name.toLowerCase().includes(word));
  found.sort((a, b) => Number(isNamed(b)) - Number(isNamed(a)));
  const seen = new Set();
  return found.filter(({ id }) => !seen.has(id) && seen.add(id)).slice(0, SUGGESTED);
}

/**
 * @param {string} text
 * @returns {Promise<readonly Entry[]>}
 */
async function contactsFor(text) {
  try {
    /** @type {{ name: string, addresses: readonly string[] }[]} */
    const people = await call(`contacts?limit=${SUGGESTED}&q=${encodeURIComponent(text)}`, { isByItself: true });
    return people.flatMap(({ name, addresses }) =>
      addresses.map((address) => ({ id: address, name, detail: address, isGroup: false })),
    );
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return [];
  }
}
