/** Texts and comments, which may hold anything, and the signs between them. What is never closed ends with the file. */
const PARTS =
  /"""(?:[^\\]|\\[\s\S])*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|#[^\n]*|(?<sign>[.,=[\]{}])/g;
const DEPTHS: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 };

interface Sign {
  /** How many brackets are open behind it. */
  readonly depth: number;
  readonly sign: string;
  /** Its place in the text, in UTF-16 units. */
  readonly at: number;
}

/** The signs of a text in TOML that stand in no string and no comment, also where the text is broken. */
export function* signsOf(text: string): Generator<Sign> {
  let depth = 0;
  for (const { groups, index } of text.matchAll(PARTS)) {
    const sign = groups?.sign;
    if (sign === undefined) continue;
    depth += DEPTHS[sign] ?? 0;
    yield { depth, sign, at: index };
  }
}

/** The place of the sign that has `count` others before it; undefined if there are not so many. */
export function placeOfSign(text: string, count: number): number | undefined {
  let before = 0;
  for (const { at } of signsOf(text)) {
    if (before === count) return at;
    before += 1;
  }
  return undefined;
}
