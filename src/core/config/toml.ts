import TOML from '@ltd/j-toml';

/** Parses integers as bigint, so that `3001` and `3001.0` differ and no integer is rounded. */
const OPTIONS = { joiner: '\n', bigint: true } as const;

/**
 * Maximum number of signs (dots, commas, equals signs and brackets) in config.toml: ten times as many as a long file
 * has. The parser takes up to 4 µs for each sign.
 */
const MAX_SIGNS = 2000;
const TOO_MANY = `the file has more than ${MAX_SIGNS} dots, commas, equals signs and brackets outside of strings`;

/** Explanations that replace the parser's messages, because a message can quote the line with `api_key`. */
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
  /** A sentence that names the line and quotes nothing from the file. */
  | { readonly syntaxError: string };

export function parseToml(text: string): Parsed {
  const excess = positionOfExcess(text);
  if (excess !== undefined) return { syntaxError: `Line ${text.slice(0, excess).split('\n').length}: ${TOO_MANY}.` };
  try {
    return { tables: TOML.parse({ path: 'config.toml', data: text }, OPTIONS) };
  } catch (error) {
    const message = (error as Error).message;
    const [, line = '1'] = /:(\d+):\d+\)$/.exec(message) ?? [];
    const lines = text.split(/\r?\n/).map((one) => one.trimEnd());
    const wrong = lines[Number(line) - 1] ?? '';
    const reason = REASONS.find(([words]) => words.test(message))?.[1] ?? 'this is not TOML';
    const first = wrong.startsWith('[') ? lines.indexOf(wrong) + 1 : 0;
    const advice =
      first > 0 && first < Number(line) ? ` (the section begins in line ${first}: write its settings there)` : '';
    return { syntaxError: `Line ${line}: ${reason}${advice}.` };
  }
}

/**
 * Matches strings, comments, and each sign outside them. An unclosed multi-line string extends to the end of the file,
 * any other unclosed string to the end of its line.
 */
const PARTS =
  /"""(?:[^\\]|\\[\s\S])*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|#[^\n]*|(?<sign>[.,=[\]{}])/g;

/** Returns the offset of the first sign beyond `MAX_SIGNS`; undefined if there are not too many. */
function positionOfExcess(text: string): number | undefined {
  let signs = 0;
  for (const { groups, index } of text.matchAll(PARTS)) {
    if (groups?.sign !== undefined) signs += 1;
    if (signs > MAX_SIGNS) return index;
  }
  return undefined;
}
