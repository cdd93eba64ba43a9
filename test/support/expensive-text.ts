import type { Chance } from '../../src/features/simulator/chatter.ts';

/**
 * Parts of expensive inputs: combining marks, characters of every syntax that is parsed here, and beginnings of what is
 * searched for.
 */
const PARTS = [
  ...[
    'а\u0301',
    '\u0301\u0323',
    '\u202E',
    '\uFFFC',
    '\uFFFC\n',
    '漢\u3099',
    '👩\u200D',
    '\uFDFA',
    'ß',
    'İ',
    '\uD800',
    '\0',
  ],
  ...[
    'a',
    'aB',
    '1',
    ' ',
    '\t',
    '\r\n',
    '.',
    '-',
    '_',
    '/',
    '\\',
    '"',
    "'",
    '`',
    ',',
    ';',
    ':',
    '=',
    '&',
    '%',
    '+',
    '*',
    '#',
    '|',
  ],
  ...[
    '[',
    '{',
    '(',
    '<',
    ']',
    '}',
    '[[',
    '{"a":',
    '{"body":[',
    '"a":1,',
    'a.',
    'a=1\n',
    '[a]\n',
    '[[a]]\n',
    "a='",
    '"""',
    '1e9',
    '0x',
  ],
  ...[
    '%F0',
    '%zz',
    '../',
    '..\\',
    'a@',
    'a@b.',
    '+1555',
    'any;-;',
    'p:0/',
    ';filename="',
    "filename*=UTF-8''",
    'handling=',
    'bytes=',
  ],
  ...[
    '0-1,',
    'q=0.',
    'from:"',
    'in:a ',
    '-"',
    'a*',
    'http://',
    'https://a@',
    '\u001b[',
    '⟨U+',
    '](',
    '<a>',
    '2026-01-01T',
    '="',
    'W/"',
  ],
] as const;
/** An opening part and its closing part. */
type Nest = readonly [string, string];
const NESTS: readonly [Nest, ...Nest[]] = [
  ['[', ']'],
  ['{"a":', '}'],
  ['{"body":[', ']}'],
  ['(', ')'],
  ['[a.', ']'],
];

/** Returns a text of at most `units`, in one of five shapes: long, deep, made of two parts, almost valid, or mixed. */
export function expensiveText(chance: Chance, units: number, wanted: readonly [string, ...string[]]): string {
  const part = chance.of(PARTS);
  const size = chance.below(4) === 0 ? units : 1 + chance.below(units);
  const full = (text: string): string => text.repeat(Math.ceil(size / text.length));
  const made = (): string => {
    switch (chance.below(5)) {
      case 0:
        return full(part);
      case 1: {
        const [open, close] = chance.of(NESTS);
        const depth = Math.floor(size / (open.length + close.length));
        return open.repeat(depth) + (chance.below(2) === 0 ? close.repeat(depth) : '');
      }
      case 2:
        return full(part + chance.of(PARTS));
      case 3: {
        const near = chance.of(wanted);
        return near.slice(0, 1 + chance.below(near.length)) + full(part) + chance.of(PARTS);
      }
      default: {
        let text = '';
        while (text.length < size) text += chance.of(PARTS).repeat(1 + chance.below(1 + size / 16));
        return text;
      }
    }
  };
  return made().slice(0, size);
}
