import { describe, expect, test } from '@jest/globals';
import { plainText } from '../../src/core/http/messages/plain-text.ts';

const lines = (...text: readonly string[]): string => text.join('\n');

describe('Markdown becomes plain text', () => {
  test.each([
    ['emphasis', 'It is **very** *late*, ***really***.', 'It is very late, really.'],
    ['a heading', lines('# Dinner', '', 'At *eight*.'), lines('Dinner', '', 'At eight.')],
    ['an underlined heading', lines('Dinner', '======', 'At eight.'), lines('Dinner', '', 'At eight.')],
    ['arithmetic', '2 * 3 * 4 = 24', '2 * 3 * 4 = 24'],
    ['names with underscores', 'set MAX_OPEN_FILES in my_file_name.txt', 'set MAX_OPEN_FILES in my_file_name.txt'],
    ['escapes', '\\*not bold\\* and 1\\. no list', '*not bold* and 1. no list'],
    ['entities', 'Tom &amp; Ana &lt;3', 'Tom & Ana <3'],
    ['a link', 'See [the menu](https://example.com/a_b_c) first', 'See the menu (https://example.com/a_b_c) first'],
    ['a link that shows its address', '[https://example.com](https://example.com)', 'https://example.com'],
    ['a bare link', 'Look: https://example.com/a_b_c_', 'Look: https://example.com/a_b_c_'],
    ['a link in angle brackets', '<https://example.com/ü?a=b>', 'https://example.com/ü?a=b'],
    ['an e-mail address in angle brackets', '<ana@example.com>', 'ana@example.com'],
    ['a link by reference', lines('[menu][1]', '', '[1]: https://example.com'), 'menu (https://example.com)'],
    ['a link without text', '[](https://example.com)', 'https://example.com'],
    ['a picture', '![the view](https://example.com/v.jpg)', 'the view (https://example.com/v.jpg)'],
    ['a script for a link', '[x](javascript:alert)', '[x](javascript:alert)'],
    ['inline code', 'Run `rm *.tmp` and ``a`b``', 'Run rm *.tmp and a`b'],
    ['struck text, which would say the contrary', 'Come ~~at eight~~ at nine', 'Come ~~at eight~~ at nine'],
    ['HTML', '<b>no</b> tags', '<b>no</b> tags'],
    ['line breaks', lines('one', 'two  ', 'three\\', 'four'), lines('one', 'two', 'three', 'four')],
    ['paragraphs', lines('one', '', '', '', 'two'), lines('one', '', 'two')],
    ['a rule', lines('one', '', '***', '', 'two'), lines('one', '', '***', '', 'two')],
    ['a list', lines('Buy:', '', '* milk', '* *fresh* bread'), lines('Buy:', '', '- milk', '- fresh bread')],
    ['a numbered list', lines('9. nine', '10. ten', '    more'), lines('9. nine', '10. ten', '    more')],
    ['a list of tasks', lines('- [x] done', '- [ ] open'), lines('- [x] done', '- [ ] open')],
    [
      'lists in lists',
      lines('- a', '  - b', '    1. c', '- d', '', 'end'),
      lines('- a', '  - b', '    1. c', '- d', '', 'end'),
    ],
    ['an empty item', lines('- a', '-', '- b'), lines('- a', '-', '- b')],
    ['a loose list', lines('- a', '', '  more', '', '- b'), lines('- a', '', '  more', '', '- b')],
    ['a quotation', lines('> one', '> two', '>', '> > three'), lines('> one', '> two', '>', '> > three')],
    [
      'a table',
      lines('| Day | *Who* |', '|-----|:---:|', '| Mon | Ana |', '| Tue |     |'),
      lines('Day | Who', 'Mon | Ana', 'Tue'),
    ],
    ['nothing but a definition', '[1]: https://example.com', ''],
  ])('%s', (_name, markdown, text) => {
    expect(plainText(markdown)).toBe(text);
  });

  test('code keeps every byte', () => {
    const code = lines('if (a  <  b) {', '\treturn *p; // **not bold**', '', '', '  }', '   ', '&amp;');
    expect(plainText(lines('```c', code, '```'))).toBe(code);
    expect(plainText(lines('Before', '', '~~~', code, '~~~', '', 'after'))).toBe(
      lines('Before', '', code, '', 'after'),
    );
  });

  test('what grows beyond a message is refused, and not made', () => {
    const url = `https://example.com/${'u'.repeat(8000)}`;
    const markdown = lines(`[r]: ${url}`, '', '[a][r] '.repeat(1500));
    const message = 'As plain text, `body` must have at most 20000 characters.';
    expect(() => plainText(markdown)).toThrow(message);
    expect(() => plainText('[a][r] '.repeat(1500))).not.toThrow();
    expect(plainText('a'.repeat(20_000))).toHaveLength(20_000);
  });
});
