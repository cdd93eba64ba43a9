import { asciiNumber, MAX_ADDRESS, withoutTags } from '../../core/model/address.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';

/** Calling codes with one or two digits (ITU-T E.164). All other calling codes have three digits. */
const SHORT_CODES = new Set(
  (
    '1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 ' +
    '81 82 84 86 90 91 92 93 94 95 98'
  ).split(' '),
);
/**
 * The trunk prefixes that are dialled before national numbers within a country. Key: the calling code. A country that
 * is not listed uses 0. The prefix is empty if numbers keep their leading 0 when dialled from abroad, as in Italy (39),
 * San Marino (378), Côte d'Ivoire (225), Burkina Faso (226), Benin (229) and the Congo (242).
 */
const TRUNK_PREFIXES: Readonly<Record<string, string>> = lookupTable({
  ...{ 1: '1', 7: '8', 36: '06' },
  ...{ 39: '', 225: '', 226: '', 229: '', 242: '', 378: '' },
});
/**
 * Number of digits in a national number that includes its trunk prefix. Key: the calling code. A national number of
 * another length has no trunk prefix, even if it begins with the same digit as the prefix.
 */
const DIGITS_WITH_PREFIX: Readonly<Record<string, number>> = lookupTable({ 1: 11, 7: 11 });
/**
 * The digit between calling code and mobile number that `dialableAddress` removes: the obsolete 1 of Mexico (52) and
 * the 9 of Argentina (54).
 */
const MOBILE = /^(52)1(?=\d{10}$)|^(54)9(?=\d{10}$)/;
const EXTENSION = /[;,#]|(?:ext|x)[.:\s]*(?=\d)/i;
/** Minimum number of digits in a telephone number without `+`. A number with fewer digits is a short code. */
const MIN_DIGITS = 7;
const ASCII = /^[\x20-\x7e]*$/;
const PLAIN = /^\+?\d+$/;
/** A telephone number whose digits are grouped only by spaces, dots, hyphens and parentheses. */
const GROUPED = /^\+?[\d .()-]+$/;
const LETTER = /\p{L}/u;
const NOT_DIALLED = /[^\d+]+/g;

/** Returns the calling code of a number that begins with `+` and has 7 to 15 digits; undefined for any other text. */
export function callingCodeOf(address: string): string | undefined {
  const digits = /^\+(\d{7,15})$/.exec(address)?.[1];
  if (digits === undefined) return undefined;
  return [1, 2].map((length) => digits.slice(0, length)).find((code) => SHORT_CODES.has(code)) ?? digits.slice(0, 3);
}

/**
 * Returns the normal form of an address, completed as it is dialled here: `+` and all digits of a telephone number, the
 * digits of a short code, or any other text in lower case. Returns undefined for text that is too long or has neither
 * digits nor letters. Also returns undefined for a national number if `home`, the calling code of this Mac's country,
 * is unknown. The form serves to find names, never to decide rights.
 */
export function dialableAddress(address: string, home: string | undefined): string | undefined {
  if (address.length > MAX_ADDRESS) return undefined;
  const untagged = withoutTags(address);
  // Almost every address is ASCII, which needs no normalization.
  const text = ASCII.test(untagged) ? untagged.trim() : asciiNumber(untagged.normalize('NFKC')).trim();
  if (text.includes('@')) return text.toLowerCase();
  const dialled = dialledDigits(text);
  if (dialled === undefined) return text.toLowerCase();
  if (dialled.startsWith('+')) return dialled.length === 1 ? undefined : complete(dialled.slice(1).replaceAll('+', ''));
  const digits = dialled.includes('+') ? dialled.replaceAll('+', '') : dialled;
  if (digits === '') return undefined;
  if (digits.length < MIN_DIGITS) return digits;
  const exit = home === '1' && digits.startsWith('011') ? 3 : digits.startsWith('00') ? 2 : 0;
  if (exit > 0) return complete(digits.slice(exit));
  return home === undefined ? undefined : complete(home + withoutTrunkPrefix(digits, home));
}

/**
 * Returns a number's digits and plus signs, without its extension. Returns undefined for a name, and for a number
 * written in letters.
 */
function dialledDigits(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  if (GROUPED.test(text) && !text.includes('(0)')) return text.replace(NOT_DIALLED, '');
  const written = withoutRemark(text.startsWith('tel:') ? text.slice(4) : text);
  const number = written.split(EXTENSION, 1)[0] ?? '';
  if (LETTER.test(number)) return undefined;
  return number.replaceAll('(0)', '').replace(NOT_DIALLED, '');
}

/** Removes the remark that a card has behind a number, as in `+1 555 0100 (work)`. */
function withoutRemark(text: string): string {
  const trimmed = text.trimEnd();
  const opened = trimmed.lastIndexOf('(');
  const isLast = opened >= 0 && trimmed.indexOf(')', opened) === trimmed.length - 1;
  return isLast && LETTER.test(trimmed.slice(opened)) ? trimmed.slice(0, opened) : text;
}

function complete(digits: string): string {
  return `+${digits.startsWith('5') ? digits.replace(MOBILE, '$1$2') : digits}`;
}

function withoutTrunkPrefix(digits: string, home: string): string {
  const prefix = TRUNK_PREFIXES[home] ?? '0';
  const length = DIGITS_WITH_PREFIX[home] ?? digits.length;
  return digits.length === length && digits.startsWith(prefix) ? digits.slice(prefix.length) : digits;
}
