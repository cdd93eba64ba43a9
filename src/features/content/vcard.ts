import type { ContactCard, LocationPin } from '../../client/content-types.ts';
import { distinct, present, RowBudget } from '../../core/chatdb/public.ts';

/** Maximum size of a contact's or location's card, in bytes. Larger cards are not opened. */
export const MAX_CARD_BYTES = 65_536;
/** Maximum number of lines that are read: a card of that size with a picture has 900. */
const MAX_LINES = 2000;
/** Maximum number of fields of a name or an organization that are read. A name has five. */
const MAX_FIELDS = 20;
/** Steps for a quoted-printable value, whose charset takes a decoder. Its characters take more. */
const QUOTED_STEPS = 10;
const QUOTED_CHARACTERS_A_STEP = 16;

interface CardLine {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the contact in a vCard; undefined if the text is not a vCard. Spends a step of the budget for each line, and
 * the characters of values before it decodes these. Omits what exceeds the budget: a message can have many cards.
 */
export function contactOf(text: string, budget = new RowBudget()): ContactCard | undefined {
  const lines = linesOf(text, budget);
  if (lines === undefined) return undefined;
  const first = (name: string): string => budget.shown(lines.find((line) => line.name === name)?.value) ?? '';
  const isShown = (value: string): boolean => value !== '' && budget.shown(value) !== undefined;
  const all = (name: string): readonly string[] =>
    distinct(lines.filter((line) => line.name === name && isShown(line.value)).map(({ value }) => unescaped(value)));
  const [last, given, middle] = fieldsOf(first('N'));
  const name = unescaped(first('FN')) || [given, middle, last].filter(Boolean).join(' ');
  const organization = fieldsOf(first('ORG')).filter(Boolean).join(', ');
  return {
    ...present({ name: name || undefined, organization: organization || undefined }),
    // vCard 4 may have a URI (RFC 6350, 6.4.1).
    phones: distinct(all('TEL').map((value) => value.replace(/^tel:/i, ''))),
    emails: all('EMAIL'),
  };
}

/**
 * Returns the location in a location card; undefined if the text is not a vCard. Omits coordinates that are out of
 * range.
 */
export function locationOf(text: string, budget = new RowBudget()): LocationPin | undefined {
  const lines = linesOf(text, budget);
  if (lines === undefined) return undefined;
  const value = (name: string): string | undefined => {
    const found = budget.shown(lines.find((line) => line.name === name)?.value);
    return found === undefined ? undefined : unescaped(found) || undefined;
  };
  const url = value('URL');
  return present({ name: value('FN'), ...coordinatesIn(url), url }) ?? {};
}

function coordinatesIn(url = ''): Pick<LocationPin, 'latitude' | 'longitude'> {
  const [, first = '', second = ''] =
    /[?&](?:ll|q)=(-?\d{1,3}(?:\.\d{1,15})?),(-?\d{1,3}(?:\.\d{1,15})?)(?:&|$)/.exec(url) ?? [];
  const [latitude, longitude] = [Number(first), Number(second)];
  const isOnGlobe = first !== '' && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return isOnGlobe ? { latitude, longitude } : {};
}

/**
 * Returns the name and the value of each line, without groups (`item1.`) and parameters; undefined if the text is not a
 * vCard. A line that begins with a space or a tab continues the previous one.
 */
function linesOf(text: string, budget: RowBudget): readonly CardLine[] | undefined {
  const lines = withoutQuoting(budget.items(text.split(/\r?\n/, MAX_LINES)), budget)
    .join('\n')
    .replace(/\n[ \t]/g, '')
    .split('\n');
  if (lines[0]?.trim().toUpperCase() !== 'BEGIN:VCARD') return undefined;
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    if (colon < 0) return [];
    const [property = ''] = line.slice(0, colon).split(';', 1);
    return [{ name: property.slice(property.indexOf('.') + 1).toUpperCase(), value: line.slice(colon + 1) }];
  });
}

/** Decodes the quoted-printable values of vCard 2.1. Each of their lines but the last ends with `=`. */
function withoutQuoting(lines: readonly string[], budget: RowBudget): readonly string[] {
  const decodedLines: string[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at++] ?? '';
    const property = line.slice(0, line.indexOf(':') + 1);
    const parts = [line.slice(property.length)];
    if (/;(?:ENCODING=)?QUOTED-PRINTABLE/i.test(property)) {
      while (parts.at(-1)?.endsWith('=') && at < lines.length) parts.push(lines[at++] ?? '');
      const value = parts.map((part) => part.replace(/=$/, '')).join('');
      const steps = QUOTED_STEPS + Math.ceil(value.length / QUOTED_CHARACTERS_A_STEP);
      if (budget.step(steps)) decodedLines.push(property + decodedValue(value, property));
    } else decodedLines.push(line);
  }
  return decodedLines;
}

/** Decodes a quoted-printable value. Its line breaks become `\n`, as in vCard 3. */
function decodedValue(value: string, property: string): string {
  const charset = /;CHARSET="?([^;":]+)/i.exec(property)?.[1];
  const bytes = value.replace(/=([0-9A-F]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return decoded(Buffer.from(bytes, 'latin1'), charset).replace(/\r?\n/g, '\\n');
}

function decoded(bytes: Buffer, charset: string | undefined): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString('utf8');
  }
}

/** Splits a value at its semicolons and returns the fields, without escapes. */
function fieldsOf(value = ''): readonly string[] {
  return value.split(/(?<!\\);/, MAX_FIELDS).map(unescaped);
}

function unescaped(value: string): string {
  return value.replace(/\\([\\,;nN])/g, (_, character: string) => (character.toLowerCase() === 'n' ? '\n' : character));
}
