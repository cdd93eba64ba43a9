import { expect, test } from '@jest/globals';
import { visible, visibleParts } from '../../src/core/model/visible.ts';

test.each([
  ['blank braille', 'a\u2800b', 'a⟨U+2800⟩b'],
  ['a note head of which nothing is drawn', 'a\u{1d159}b', 'a⟨U+1D159⟩b'],
  ['fillers of Hangul', '\u115f\u3164', '⟨U+115F⟩⟨U+3164⟩'],
  ['so many spaces that the line wraps', `a${' '.repeat(40)}Asked by`, 'a⟨40 blanks⟩Asked by'],
  ['spaces and tabs by turns', `a${' \t'.repeat(8)}b`, 'a⟨16 blanks⟩b'],
])('what is shown for a decision hides nothing behind %s', (_, given, shown) => {
  expect(visible(given)).toBe(shown);
});

test('what is shown for a decision leaves an indentation of 8 spaces as it is', () => {
  expect(visible(`a\n${' '.repeat(8)}b`)).toBe(`a\n${' '.repeat(8)}b`);
});

test('what is shown for a decision tells its marks from a text that only looks like one', () => {
  expect(visibleParts('\u2800⟨U+2800⟩ \u202e')).toEqual([
    { text: '⟨U+2800⟩', isMark: true },
    { text: '⟨U+2800⟩ ', isMark: false },
    { text: '⟨U+202E⟩', isMark: true },
  ]);
  expect(visibleParts(`a${' '.repeat(40)}b`).map(({ text }) => text)).toEqual(['a', '⟨40 blanks⟩', 'b']);
});
