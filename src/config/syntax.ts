import TOML from '@ltd/j-toml';

/** Integers as bigint, so that `3001` and `3001.0` can be told apart and none is rounded. */
const OPTIONS = { joiner: '\n', bigint: true } as const;

/** What the parser's words come down to. Its own may quote the line, and so the key. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^Duplicate|can not be accessed/, 'this is defined twice'],
  [/not close/, 'this is never closed'],
  [/64 bit|as big as|as little as|lost its exact/, 'this number is out of range'],
  [/^Invalid Unicode/, 'this escape is not a character'],
  [/string/, 'this string is not closed, or has an unknown escape (write a backslash as two)'],
  [/^Invalid|^Bad atom/, 'this is not a value (strings need double quotes)'],
  [/missing|equal/, 'a setting has the form name = value'],
];

export type Parsed =
  | { readonly tables: Readonly<Record<string, unknown>> }
  /** One sentence that names line and column, and quotes nothing of the file. */
  | { readonly syntaxError: string };

export function parseToml(text: string): Parsed {
  try {
    return { tables: parse(text) };
  } catch (error) {
    const message = (error as Error).message;
    const [, line = '1', column = '0'] = /:(\d+):(\d+)\)$/.exec(message) ?? [];
    const at = Number(column) || stumble(text.split(/\r?\n/)[Number(line) - 1] ?? '');
    const reason = REASONS.find(([words]) => words.test(message))?.[1] ?? 'this is not TOML';
    return { syntaxError: `Line ${line}, column ${at}: ${reason}.` };
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  return TOML.parse({ path: 'config.toml', data: text }, OPTIONS);
}

/**
 * The column, counted from 1, at which a line stops being TOML; the parser mostly knows the line alone.
 * That is behind the longest beginning that is TOML by itself, else at the value, else at the first letter.
 */
function stumble(line: string): number {
  const start = line.length - line.trimStart().length;
  for (let end = Math.min(line.length, 500); end > start; end -= 1) {
    if (isToml(line.slice(0, end))) return end < line.length ? end + 1 : start + 1;
  }
  const beforeValue = /^[^=]*=[ \t]*/.exec(line)?.[0];
  return beforeValue !== undefined && isToml(`${beforeValue}0`) ? beforeValue.length + 1 : start + 1;
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
