import { normalAddress } from '../../../core/model/address.ts';
import { APPLE_EPOCH_S } from '../../../core/model/durations.ts';
import { memoized } from '../../../core/model/memoized.ts';
import type { Message } from '../../../core/model/message.ts';
import { shortHash } from '../../../core/model/text.ts';
import type { SearchableMessage, SearchSender } from '../types.ts';
import { numbersIn } from './numbers.ts';
import { MAX_TOKEN, segment } from './tokens.ts';

/** Maximum number of UTF-16 units of a text that are indexed. It is three times as many as Messages can send. */
export const MAX_UNITS = 65_536;

/** The first character of every tag. No indexed text contains it, because `tokensOf` treats it as a blank. */
const PRIVATE = '\uE000';
const BY_ME = `${PRIVATE}me`;
export const HAS_ATTACHMENT = `${PRIVATE}att`;
/** A tag that no message has, so that a search for it finds nothing. */
export const NO_TAG = `${PRIVATE}none`;
/** Separates texts, so that no phrase spans two of them. */
const GAP = ` ${PRIVATE} `;

const BEYOND_ASCII = /[^\0-\x7f]/g;
/**
 * Matches an ASCII word that is longer than a token. It must be cut here, because SQLite's tokenizer would not cut it.
 */
const LONG_WORD = new RegExp(`(?<![a-zA-Z\\d])([a-zA-Z\\d]{${MAX_TOKEN}})[a-zA-Z\\d]+`, 'g');
/** These functions cache their results, because the same words, people and conversations recur constantly. */
const segmented = memoized(segment);
const conversationTags = memoized((id) => `${PRIVATE}c${hash(id.slice(id.indexOf(';') + 1))}`);
const addressTags = memoized((address) => `${PRIVATE}h${hash(normalAddress(address))}`);

/** Returns the text that is indexed for a message: its tags, body, names of files and further texts. */
export function documentOf(message: SearchableMessage): string {
  const { body, fileNames = [], texts = [] } = message;
  const text = wordsAndNumbers(body.length > MAX_UNITS ? body.slice(0, MAX_UNITS) : body);
  const files = fileNames.map((name) => GAP + wordsAndNumbers(searchedName(name))).join('');
  const others = texts.map(([, other]) => GAP + wordsAndNumbers(other)).join('');
  return `${tagsOf(message).join(' ')} ${text}${files}${others}`;
}

/** Returns the text to index, followed by its numbers in the forms in which they are also found. */
function wordsAndNumbers(text: string): string {
  return numbersIn(text).reduce((made, number) => made + GAP + number.text, textOf(text));
}

/**
 * Rewrites a text so that SQLite's tokenizer splits it into the tokens that `tokensOf` returns. In ASCII text, only
 * long words are cut; leaving the rest unchanged saves most of the work.
 */
function textOf(text: string): string {
  let made = '';
  let from = 0;
  for (;;) {
    BEYOND_ASCII.lastIndex = from;
    const found = BEYOND_ASCII.exec(text)?.index;
    if (found === undefined) return made + cutWords(text.slice(from));
    const start = Math.max(from, text.lastIndexOf(' ', found) + 1);
    const blank = text.indexOf(' ', found);
    const end = blank === -1 ? text.length : blank;
    made += cutWords(text.slice(from, start)) + segmented(text.slice(start, end));
    from = end;
  }
}

function cutWords(ascii: string): string {
  return ascii.length > MAX_TOKEN ? ascii.replace(LONG_WORD, '$1') : ascii;
}

/** Returns the number of UTF-16 units that indexing this message reads. */
export function unitsOf({ body, fileNames = [], texts = [] }: SearchableMessage): number {
  const others = texts.reduce((sum, [, text]) => sum + text.length, 0);
  return fileNames.reduce((sum, name) => sum + searchedName(name).length, body.length + others);
}

export function searchedName(name: string): string {
  return name.slice(0, MAX_UNITS);
}

export function tagsOf({ conversation_id, sender, is_from_me, fileNames = [] }: SearchableMessage): readonly string[] {
  const tags = [conversationTag(conversation_id), addressTag(sender)];
  if (is_from_me) tags.push(BY_ME);
  if (fileNames.length > 0) tags.push(HAS_ATTACHMENT);
  return tags;
}

/**
 * Returns a conversation's tag. Ignores the guid's prefix up to the first `;`, because macOS 26 changed the prefix of
 * existing chats.
 */
export function conversationTag(id: string): string {
  return conversationTags(id);
}

function addressTag(address: string): string {
  return addressTags(address);
}

export function senderTags(sender: SearchSender): readonly string[] {
  return sender.isMe ? [BY_ME] : sender.addresses.map(addressTag);
}

/** Returns a short hash. Two texts may have equal hashes, so a search reads and checks each message that it finds. */
function hash(text: string): string {
  return shortHash(text).toString(36);
}

/** Returns the time of a message, in seconds since 2001-01-01 UTC. */
export function secondOf(message: Message): number {
  return Date.parse(message.timestamp) / 1000 - APPLE_EPOCH_S;
}

export function secondOfMs(unixMs: number): number {
  return Math.ceil(unixMs / 1000) - APPLE_EPOCH_S;
}

/** Returns `YYYY-MM-DDTHH:MM:SSZ`. */
export function isoOfSecond(second: number): string {
  return new Date((second + APPLE_EPOCH_S) * 1000).toISOString().replace('.000Z', 'Z');
}
