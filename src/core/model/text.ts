import { lookupTable } from './lookup-table.ts';

// Functions for texts that the standard library lacks.

/** Returns the text with a capital first letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns the text without the characters at its end that match `one`, a pattern for a single character. Takes linear
 * time, where `/…+$/` takes quadratic time.
 */
export function trimmedEnd(text: string, one: RegExp): string {
  let end = text.length;
  while (end > 0 && one.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

const DIGIT = /\p{Nd}/gu;
const IS_DIGIT = /^\p{Nd}$/u;

/** Replaces the decimal digits of every script, such as Arabic and fullwidth ones, by 0 to 9. */
export function asciiDigits(text: string): string {
  return text.replace(DIGIT, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)));
}

/** Returns a digit's value. Unicode encodes digits in rows of ten that begin with zero. */
function digitValue(code: number): number {
  let zero = code;
  while (IS_DIGIT.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (code - zero) % 10;
}

/** Returns the FNV-1a hash of a text, 32 bits. Different texts can have the same hash. */
export function shortHash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

const ENTITIES: Readonly<Record<string, string>> = lookupTable({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
});
/** Control characters that an HTML page must not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Escapes a text for HTML, for an element or for an attribute in quotes. */
export function escapedHtml(text: string): string {
  return text.replace(CONTROLS, '\uFFFD').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Compares two texts by their UTF-16 units, for `sort`. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
