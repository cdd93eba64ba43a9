import { isPosternError, type PosternClient } from '../../client/postern-client.ts';
import type { Contact } from '../../client/types.ts';
import { groupId, isUnanswerable, normalAddress, rightsAddress } from '../model/address.ts';
import type { Conversation } from '../model/conversation.ts';
import { editDistance } from '../model/edit-distance.ts';
import { folded } from '../model/folded.ts';
import { EXIT } from './context.ts';
import { oneLine } from './output/text.ts';
import { Refusal } from './service-connection.ts';

/** The person or conversation that a command refers to. */
export interface Recipient {
  /** An address or a conversation id. */
  readonly id: string;
  /** The id for display, with the name if the recipient was found by name. */
  readonly shown: string;
}

/** Maximum number of items that the service returns in one page. */
const PAGE = 200;
const MAX_CANDIDATES = 20;
/** Suggests a name only if at most this share of its letters differs from the given text. */
const MAX_DIFFERENCE = 0.4;
/** The form of a person's id. */
const PERSON_ID = /^[\da-f]{16}$/;
const SHORTEST_NUMBER = 3;

/**
 * Finds a recipient. Uses an address or id unchanged, also a group's id without its beginning. Throws a Refusal unless
 * a name matches exactly one person or group.
 */
export async function recipientOf(client: PosternClient, given: string): Promise<Recipient> {
  if (isNoName(given) || groupId(given) !== undefined) return { id: given, shown: given };
  const { conversations, groups, people } = await named(client, given);
  const candidates = [...groups, ...people.flatMap((person) => addressesOf(person, conversations))];
  return only(client, given, candidates);
}

function isNoName(given: string): boolean {
  return given.includes(';') || (!isUnanswerable(given) && normalAddress(given).length >= SHORTEST_NUMBER);
}

/**
 * Returns the entries that a key's list needs for `given`. Keeps an address or id unchanged. Replaces a group's name
 * with the group's id. Replaces a person's name with the person's addresses, except those that a list cannot contain.
 * Throws a Refusal unless a name matches exactly one person or group.
 */
export async function listEntriesOf(client: PosternClient, given: string): Promise<readonly string[]> {
  if (isNoName(given)) return [given];
  const group = groupId(given);
  if (group !== undefined) return [group];
  const { groups, people } = await named(client, given);
  const candidates = [
    ...groups.map((group) => ({ ...group, entries: [group.id] })),
    ...people.map(({ name, addresses }) => ({
      shown: `${name} (${addresses.join(', ')})`,
      entries: addresses.filter((address) => rightsAddress(address) !== undefined),
    })),
  ];
  return (await only(client, given, candidates)).entries;
}

/**
 * Returns the addresses that a sender in a filter stands for. An address stays unchanged, and a name becomes every
 * address of the person. Throws a Refusal unless exactly one person has the name.
 */
export async function senderAddressesOf(client: PosternClient, given: string): Promise<readonly string[]> {
  if (given.includes(';')) {
    throw new Refusal(EXIT.refusedInput, `${given} is a conversation, not a sender.`, 'Give it with --conversation.');
  }
  if (isNoName(given)) return [given];
  const { conversations, people } = await named(client, given);
  // A short code or a company name looks like a person's name, but can be the address of a sender.
  if (conversations.some((conversation) => isWith(conversation, [given]))) return [given];
  const candidates = people.map(({ name, addresses }) => ({ shown: `${name} (${addresses.join(', ')})`, addresses }));
  return (await only(client, given, candidates)).addresses;
}

/**
 * Returns the id under which the service lists the conversation with this id or address; undefined if it lists none.
 */
async function listedId(client: PosternClient, given: string): Promise<string | undefined> {
  if (given === '') return undefined;
  try {
    return (await client.conversation(given)).id;
  } catch (error) {
    if (isPosternError(error) && error.status < 500) return undefined;
    throw error;
  }
}

/**
 * Returns the id of the conversation that an id, an address or a name refers to; an id that the service does not know
 * unchanged. Throws a Refusal unless exactly one of the latest `PAGE` conversations has the name.
 */
export async function conversationIdOf(
  client: PosternClient,
  given: string,
  known?: readonly Conversation[],
): Promise<string> {
  if (given.includes(';')) return (await listedId(client, given)) ?? given;
  const conversations = known ?? (await client.conversations({ limit: PAGE }));
  const exact = conversations.find(({ id }) => id.endsWith(`;${given}`));
  const same = exact ?? conversations.find((one) => isWith(one, [given]));
  const listed = same?.id ?? (await listedId(client, given));
  if (listed !== undefined) return listed;
  const { groups, people } = await named(client, given, conversations);
  const direct = people.flatMap((person) => {
    const conversation = conversations.find((one) => isWith(one, person.addresses));
    return conversation === undefined
      ? []
      : [{ id: conversation.id, shown: `${person.name} (${partyOf(conversation)})` }];
  });
  const found = [...groups, ...direct];
  if (found.length > 0) return (await only(client, given, found)).id;
  throw new Refusal(
    EXIT.refusedInput,
    `There is no conversation with ${given} among the latest ${PAGE}.`,
    '`postern conversations` lists them; a whole id, such as "iMessage;-;+15550100", always works.',
  );
}

/**
 * Like `conversationIdOf`, for a list of messages. Returns all conversations with the same address, of which there can
 * be one for each filter of macOS. An id means only its own conversation.
 */
export async function conversationsToRead(client: PosternClient, given: string): Promise<readonly string[]> {
  if (given.includes(';')) return [given];
  const conversations = await client.conversations({ limit: PAGE });
  const id = await conversationIdOf(client, given, conversations);
  const same = conversations.filter((one) => isWith(one, [partyOf({ id })])).map((one) => one.id);
  return same.length > 1 ? same : [id];
}

/**
 * Returns a person's id unchanged; for an address or a name, the id of the person. Throws a Refusal unless exactly one
 * person has the address or name.
 */
export async function personIdOf(client: PosternClient, given: string): Promise<string> {
  if (PERSON_ID.test(given)) return given;
  const wanted = folded(given);
  const found = (await client.people.list({ q: given, limit: PAGE })).filter(
    ({ name, addresses }) =>
      folded(name ?? '') === wanted || addresses.some((one) => normalAddress(one) === normalAddress(given)),
  );
  if (found.length > 0) {
    const candidates = found.map(({ id, name, addresses }) => ({
      id,
      shown: `${name ?? addresses[0]} (${id}: ${addresses.join(', ')})`,
    }));
    return (await only(client, given, candidates)).id;
  }
  throw new Refusal(
    EXIT.refusedInput,
    `There are no conversations with a person who has the name or address ${given}.`,
    '`postern people` lists everybody with their ids.',
  );
}

async function named(client: PosternClient, given: string, known?: readonly Conversation[]) {
  const conversations = known ?? (await client.conversations({ limit: PAGE }));
  const wanted = folded(given.trim());
  const isWanted = (name: string | null): boolean => name !== null && folded(name) === wanted;
  const groups = conversations
    .filter(({ id, display_name: name }) => isWanted(name) || id.endsWith(`;${given}`))
    .map(({ id, display_name: name }) => ({ id, shown: name === null ? id : `${name} (${id})` }));
  const people = (await contactsWith(client, given)).filter(
    ({ name, nickname }) => isWanted(name) || isWanted(nickname),
  );
  return { conversations, groups, people };
}

/** Returns the contacts that match `text`; none while the service does not use contacts. */
async function contactsWith(client: PosternClient, text: string): Promise<readonly Contact[]> {
  try {
    return await client.contacts({ q: text, limit: PAGE });
  } catch (error) {
    if (isPosternError(error) && error.status === 404) return [];
    throw error;
  }
}

/** Returns the address of the person's latest conversation; all addresses if there is no conversation yet. */
function addressesOf({ name, addresses }: Contact, conversations: readonly Conversation[]): readonly Recipient[] {
  const latest = conversations.find((one) => isWith(one, addresses));
  return (latest === undefined ? addresses : [normalAddress(partyOf(latest))]).map((id) => ({
    id,
    shown: `${name} (${id})`,
  }));
}

/** Reports whether a one-to-one conversation is with one of these addresses, whichever spelling it has. */
function isWith(conversation: Conversation, addresses: readonly string[]): boolean {
  const party = normalAddress(partyOf(conversation));
  return party !== '' && addresses.some((address) => normalAddress(address) === party);
}

/** Returns the address of a one-to-one conversation; "" for a group. */
function partyOf({ id }: Pick<Conversation, 'id'>): string {
  return id.includes(';-;') ? id.slice(id.indexOf(';-;') + 3) : '';
}

/** Returns the names of contacts that contain `given` or are spelled nearly like it. */
async function namesNear(client: PosternClient, given: string): Promise<readonly string[]> {
  const wanted = folded(given);
  const contacts = await contactsWith(client, wanted.slice(0, 2));
  return contacts
    .map(({ name }) => ({ name, plain: folded(name) }))
    .filter(({ plain }) => plain.includes(wanted) || editDistance(wanted, plain) <= plain.length * MAX_DIFFERENCE)
    .map(({ name }) => name);
}

async function only<Candidate extends { readonly shown: string }>(
  client: PosternClient,
  given: string,
  candidates: readonly Candidate[],
): Promise<Candidate> {
  const [first, second] = candidates;
  if (first === undefined) {
    const near = [...new Set(await namesNear(client, given))].slice(0, MAX_CANDIDATES);
    throw new Refusal(
      EXIT.refusedInput,
      `${given} is not an address, and no person or conversation has this name.`,
      ...(near.length === 0 ? [] : [oneLine(`Did you mean ${near.join(' or ')}?`)]),
      'Use a phone number, an e-mail address, a name from Contacts, or an id from postern conversations.',
    );
  }
  if (second === undefined) return first;
  throw new Refusal(
    EXIT.refusedInput,
    `${given} means several:`,
    ...candidates.slice(0, MAX_CANDIDATES).map(({ shown }) => `  ${oneLine(shown)}`),
    'Use one of the addresses or ids.',
  );
}
