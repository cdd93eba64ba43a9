import { asciiDigits } from './text.ts';

/**
 * The tags that Apple's filters put behind an address, one or more: `(filtered)`, `(smsfp)`, `(smsft)`, `(smsft_xx)`
 * and `(ft_xx)`. Other parentheses belong to the address, as in `(800) 275-2273`.
 */
const TAG = /^\((?:filtered|smsfp|smsft(?:_[a-z]{2})?|ft_[a-z]{2})\)$/;
/** Maximum length of an address in UTF-16 units; longer text is none. */
export const MAX_ADDRESS = 320;
const LONGEST_TAG = '(filtered)'.length;

/**
 * Punctuation that people and programs write into phone numbers: spaces, hyphens, dots, parentheses and marks of
 * direction.
 */
const PUNCTUATION = /[\p{Zs}\p{Pd}\u2212().\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/**
 * The zero behind a country code in `+49 (0)30 12345`, which is dialled only inside the country. In Italy it is dialled
 * from abroad too.
 */
const TRUNK_ZERO = /^(\+(?!39)\d{1,3}[\p{Zs}.-]?)\(0\)/u;
const DIGITS = /^\+?[0-9]+$/;
const ALL_ASCII = /^\p{ASCII}*$/u;

const NUMBER = /^\+[1-9][0-9]{6,14}$/;

const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/**
 * Matches also the e-mail addresses of other scripts, which no right can name; no link and no list, for which Messages
 * would make a conversation that reaches nobody.
 */
const LIKE_EMAIL = /^[^\s@<>:,]+@[^\s@<>:,]+$/;

/** Accepts only ASCII, because `toLowerCase` would turn the Kelvin sign into a k. */
const ASCII = /^[\x20-\x7e]+$/;

/**
 * Returns the form in which addresses are compared everywhere (decision AB3): without Apple's filter tags, a number
 * without punctuation and in ASCII digits, other text in lower case and without spaces around it. Text that is not
 * ASCII stays as it is.
 */
export function normalAddress(text: string): string {
  if (DIGITS.test(text)) return text;
  const address = withoutTags(text);
  const number = asciiNumber(address.replace(TRUNK_ZERO, '$1').replace(PUNCTUATION, ''));
  if (DIGITS.test(number)) return number;
  return ASCII.test(address) ? address.trim().toLowerCase() : address;
}

/**
 * Returns the normal form of a number with its country code or of an e-mail address, which are all that the list of a
 * key can name. Returns undefined for everything else, so that lookalikes never match.
 */
export function rightsAddress(text: string): string | undefined {
  const address = normalAddress(text);
  return NUMBER.test(address) || (address.length <= 254 && EMAIL.test(address)) ? address : undefined;
}

/** Returns an address without the tags of Apple's filters. */
export function withoutTags(address: string): string {
  let end = address.length;
  for (let tag = lastTag(address, end); tag !== undefined; tag = lastTag(address, end)) end -= tag.length;
  return address.slice(0, end);
}

/** Returns the last filter tag of an address, such as `smsft_fi`; undefined if it has none. */
export function addressTag(address: string): string | undefined {
  return lastTag(address, address.length)?.slice(1, -1);
}

/** Returns the tag that ends before a place of the address, with its parentheses. */
function lastTag(address: string, end: number): string | undefined {
  if (address[end - 1] !== ')') return undefined;
  const tail = address.slice(Math.max(0, end - LONGEST_TAG), end);
  const tag = tail.slice(Math.max(0, tail.lastIndexOf('(')));
  return TAG.test(tag) ? tag : undefined;
}

/** Replaces the decimal digits of every script and the full-width plus, which some keyboards write in numbers. */
export function asciiNumber(text: string): string {
  return ALL_ASCII.test(text) ? text : asciiDigits(text.replaceAll('\uff0b', '+'));
}

/**
 * Reports whether nobody can answer an address: a sender's name such as AXISBK-S, or a person's name. Businesses have
 * ids such as `urn:biz:…`, and can be answered.
 */
export function isUnanswerable(text: string): boolean {
  const address = normalAddress(text);
  return !DIGITS.test(address) && !LIKE_EMAIL.test(address) && !address.startsWith('urn:');
}

/**
 * Splits a chat id such as `any;-;+15550100` into service (`any`), style (`-`) and identifier. Returns undefined for
 * any other text.
 */
export function chatIdentity(
  id: string,
): { readonly service: string; readonly style: string; readonly identifier: string } | undefined {
  const [, service, style, identifier] = /^([^;]*);([-+]);(.+)$/s.exec(id) ?? [];
  if (service === undefined || style === undefined || identifier === undefined) return undefined;
  return { service, style, identifier };
}

/** Returns the part of a conversation id that names the other person or the group; a text without `;` unchanged. */
export function chatIdentifier(id: string): string {
  return id.slice(id.lastIndexOf(';') + 1);
}

/** The identifier of a group, such as `chat123`, alone or in a chat id of any service and style. */
const GROUP = /^(?:[^;]*;[-+];)?(chat\d+)$/i;

/**
 * Returns the usual spelling of a group's id: `any;+;chat123` for `chat123` and `iMessage;-;chat123`. Returns
 * undefined for a text that does not look like a group's id.
 */
export function groupId(text: string): string | undefined {
  const [, identifier] = GROUP.exec(text) ?? [];
  return identifier === undefined ? undefined : `any;+;${identifier.toLowerCase()}`;
}

/** Prefixes that a chat guid may have: the service up to macOS 15, `any` from macOS 26 on (decision B4). */
const PREFIXES = ['iMessage', 'SMS', 'RCS', 'rcs', 'any', 'iMessageLite'] as const;

const KNOWN: ReadonlySet<string> = new Set(PREFIXES.map((prefix) => prefix.toLowerCase()));

/**
 * Returns every chat guid that a conversation id may refer to, beginning with the id itself. The list always has seven
 * entries, some of them repeated, so that one SQL statement with seven parameters serves every id. All entries keep the
 * id's style (`-` or `+`).
 */
export function chatGuidVariants(id: string): readonly string[] {
  const at = id.indexOf(';');
  const isKnown = at >= 0 && KNOWN.has(id.slice(0, at).toLowerCase());
  return [id, ...PREFIXES.map((prefix) => (isKnown ? prefix + id.slice(at) : id))];
}

/**
 * Returns style and identifier: `-;+15550100` for `any;-;+15550100`, and "" for a text without `;`. A person's
 * identifier is in its normal form.
 */
export function addressOf(guid: string): string {
  const at = guid.indexOf(';');
  const address = at < 0 ? '' : guid.slice(at + 1);
  return address.startsWith('-;') ? `-;${normalAddress(address.slice(2))}` : address;
}

/** Returns the id with a person's identifier in its normal form, and the id of a group unchanged. */
export function normalId(id: string): string {
  const { service, style, identifier } = chatIdentity(id) ?? {};
  return style === '-' && identifier !== undefined ? `${service};-;${normalAddress(identifier)}` : id;
}
