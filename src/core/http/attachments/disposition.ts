/** `; name=value` or `; name="value"`, as in `form-data; name="file"; filename="photo.jpg"`. */
const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^";]*))/gs;
/** The value of `filename*`: charset, language and percent-encoded bytes (RFC 8187). */
const EXTENDED = /^([\w-]+)'[\w-]*'(.+)$/s;
/** An encoded word of e-mail (RFC 2047), which .NET writes for every name that is not ASCII. */
const ENCODED_WORD = /=\?([\w-]+)\?([bq])\?([^?\s]*)\?=/gi;
/** The output of a percent-encoder: visible ASCII without quotes, with each `%` followed by two digits. */
const PERCENT_ENCODED = /^(?:[!#$&-~]|%[0-9a-f]{2})+$/i;

/** Returns the parameters of a Content-Disposition header from Node, by their name in lower case. */
export function dispositionParameters(header: string): ReadonlyMap<string, string> {
  const found = [...header.matchAll(PARAMETER)].map(([, name = '', quoted, plain = '']): [string, string] => [
    name.toLowerCase(),
    inUtf8(quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain.trim()),
  ]);
  // The first of two parameters with the same name counts.
  return new Map(found.reverse());
}

/**
 * Returns the file name in a Content-Disposition header from Node, decoded from whichever encoding the client chose.
 * `filename*` wins over `filename`. Returns undefined if there is neither.
 */
export function fileNameIn(header: string): string | undefined {
  const parameters = dispositionParameters(header);
  const name = parameters.get('filename');
  return extended(parameters.get('filename*')) ?? (name === undefined ? undefined : decoded(name));
}

function extended(value: string | undefined): string | undefined {
  const [, charset = '', encoded = ''] = EXTENDED.exec(value ?? '') ?? [];
  return encoded === '' || hasStrayPercent(encoded) ? undefined : inCharset(charset, percentBytes(encoded));
}

/**
 * Decodes a `filename`. A text counts as percent-encoded only as a whole: `50% off.txt` has a space, and `a%20ü.txt` a
 * letter, that no encoder leaves. In every other name only the quotes and line breaks are decoded, because browsers
 * encode just these.
 */
function decoded(name: string): string {
  const words = wordsDecoded(name);
  if (words !== name) return words;
  const whole = name.includes('%') && PERCENT_ENCODED.test(name) ? inCharset('utf-8', percentBytes(name)) : undefined;
  return whole ?? name.replaceAll(/%22/g, '"').replaceAll(/%0[AD]/gi, '');
}

/** Decodes encoded words. Words that follow each other are decoded as one: a character may be split between two. */
function wordsDecoded(name: string): string {
  const runs: RegExpExecArray[][] = [];
  let end = -1;
  for (const word of name.matchAll(ENCODED_WORD)) {
    const follows = end >= 0 && name.slice(end, word.index).trim() === '';
    if (follows) runs.at(-1)?.push(word);
    else runs.push([word]);
    end = word.index + word[0].length;
  }
  let text = '';
  let done = 0;
  for (const run of runs) {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) continue;
    const next = last.index + last[0].length;
    text += name.slice(done, first.index) + (runDecoded(run) ?? name.slice(first.index, next));
    done = next;
  }
  return text + name.slice(done);
}

function runDecoded(run: readonly RegExpExecArray[]): string | undefined {
  const bytes = run.map(([, , encoding = '', text = '']) =>
    /b/i.test(encoding) ? Buffer.from(text, 'base64') : quotedBytes(text),
  );
  return inCharset(run[0]?.[1] ?? '', Buffer.concat(bytes));
}

function quotedBytes(text: string): Buffer {
  const spaced = text.replaceAll('_', ' ');
  return Buffer.from(
    spaced.replaceAll(/=([0-9a-f]{2})/gi, (_all, digits: string) => byte(digits)),
    'latin1',
  );
}

function percentBytes(text: string): Buffer {
  return Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/gi, (_all, digits: string) => byte(digits)),
    'latin1',
  );
}

function byte(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

function hasStrayPercent(text: string): boolean {
  return /%(?![0-9a-f]{2})/i.test(text);
}

/** Decodes bytes. Returns undefined if they are no text in this charset, or if the charset is unknown. */
export function inCharset(charset: string, bytes: Buffer): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes a header as UTF-8, which clients write although Node reads Latin-1. Returns any other text unchanged. */
function inUtf8(latin1: string): string {
  return inCharset('utf-8', Buffer.from(latin1, 'latin1')) ?? latin1;
}
