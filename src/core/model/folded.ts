import { chatIdentifier, normalAddress } from './address.ts';
import { plainLetters } from './plain-letters.ts';
import type { NamedChat } from './ports/reading-ports.ts';

const MARKS = /\p{M}/gu;
const PLAIN = /^[\x20-\x7e]*$/;
const SPACES = /\s+/gu;
/** Characters that phones and programs write for one on the keyboard, and invisible ones. */
const LOOKALIKES: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u2032\u00b4\u0060\uff07]/g, "'"],
  [/[\u201c-\u201f\u2033\u00ab\u00bb\uff02]/g, '"'],
  [/[\p{Pd}\u2212]/gu, '-'],
  [/\p{Cf}/gu, ''],
];

/**
 * Returns the text without case and accents, with plain quotation marks, hyphens and single spaces, and without spaces
 * around it. Names are compared in this form.
 */
export function folded(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase().replaceAll('`', "'").replace(SPACES, ' ').trim();
  // Normalizing sorts the marks of a letter in quadratic time, so separate marks are removed first.
  let bare = text.replace(MARKS, '').normalize('NFD').replace(MARKS, '');
  for (const [lookalike, plain] of LOOKALIKES) bare = bare.replace(lookalike, plain);
  return plainLetters(bare.toLowerCase()).replace(SPACES, ' ').trim();
}

const NUMBER = /^\+?\d{3,}$/;

/** Returns the words to look for in names and addresses. A number is one word, however its digits are grouped. */
export function searchWords(text: string): readonly string[] {
  const address = normalAddress(text);
  return NUMBER.test(address) ? [address] : folded(text).split(' ').filter(Boolean);
}

/** Returns the text in which these words are looked for: names and addresses, as stored and in their normal form. */
export function searchedText(names: readonly (string | null)[], addresses: readonly string[]): string {
  const normal = addresses.map(normalAddress).filter((address, at) => address !== addresses[at]);
  return folded([...names.map((name) => name ?? ''), ...addresses, ...normal].join(' '));
}

/**
 * Returns the ids of the conversations in which every word of `text` occurs: in the name, in the address or number of
 * the chat, or in the name or address of a participant; in the whole id if `text` has a semicolon. All match a text
 * without words.
 */
export function matchingChats(
  chats: readonly NamedChat[],
  text: string,
  nameOf: (address: string) => string | undefined,
): readonly string[] {
  const words = searchWords(text);
  const isOfIds = text.includes(';');
  const names = new Map<string, string>();
  const known = (address: string): string => {
    const name = names.get(address) ?? nameOf(address) ?? '';
    names.set(address, name);
    return name;
  };
  return chats
    .filter(({ id, name, participants }) => {
      const all = searchedText(
        [name, ...participants.map(known)],
        [isOfIds ? id : chatIdentifier(id), ...participants],
      );
      return words.every((word) => all.includes(word));
    })
    .map(({ id }) => id);
}
