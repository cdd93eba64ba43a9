import { describe, expect, test } from '@jest/globals';
import { parseToml } from '../../src/core/config/toml.ts';

describe('a syntax error', () => {
  test.each([
    ['[server\nport = 1', 'Line 1: this is never closed.'],
    ['[auth]\napi_key = "abc', 'Line 2: this string is not closed'],
    ['[auth]\n  api_key = abc', 'Line 2: this is not a value (strings need double quotes).'],
    ['[auth]\r\napi_key = "abc" x', 'Line 2: this is not TOML.'],
    ['port = 30a1', 'Line 1: '],
    ['\n\nroots = ["/a",\n  "/b"', 'Line 3: this is never closed.'],
    ['roots = [\n  "/a",\n  oops\n]', 'Line 3: '],
    ['[a]\nb = 1\nb = 2', 'Line 3: this is defined twice.'],
    [
      '[a]\nb = 1\n[c]\n[a] \nb = 2',
      'Line 4: this is defined twice (the section begins in line 1: write its settings there).',
    ],
    ['port = 99999999999999999999', 'Line 1: this number is out of range.'],
    ['path = "C:\\Users"', 'Line 1: this string is not closed, or has an unknown escape'],
    ['just words', 'Line 1: a setting has the form name = value.'],
  ])('%j names the line', (text, sentence) => {
    expect(parseToml(text)).toEqual({ syntaxError: expect.stringContaining(sentence) });
  });

  test.each([
    'api_key = KEY',
    'api_key = "KEY',
    'api_key = "KEY" x',
    'api_key = "KEY\\q"',
    'api_key = """\nKEY',
    "api_key = 'KEY",
    'KEY',
    'api_key = 1979-KEY',
    'api_key KEY',
    '[KEY',
    'a = 1\na = "KEY"',
  ])('never quotes the file: %s', (text) => {
    const parsed = parseToml(text.replaceAll('KEY', '7-secret-key'));
    expect(parsed).toHaveProperty('syntaxError');
    expect(JSON.stringify(parsed)).not.toMatch(/secret|1979/);
  });

  test('is found in a moment, however long the line', () => {
    expect(parseToml(`a = "${'x'.repeat(500_000)}`)).toEqual({
      syntaxError: expect.stringContaining('Line 1'),
    });
  });

  test.each([
    ['a name of 3,000 parts', `${'a.'.repeat(3000)}a = 1`],
    ['3,000 lists in lists', `a = ${'['.repeat(3000)}${']'.repeat(3000)}`],
    ['3,000 sections', '[a]\n'.repeat(3000)],
    ['3,000 settings', 'a = 1\n'.repeat(3000)],
  ])('is what a file of %s has, before it is parsed', (_name, text) => {
    expect(parseToml(text)).toEqual({ syntaxError: expect.stringContaining('more than 2000 dots, commas') });
  });

  test('of too many signs names where they become too many', () => {
    const text = `[server]\nport = 1 # a.b\nhosts = [\n${'"a.b",\n'.repeat(1995)}"c"\n, "d",]`;
    expect(parseToml(text)).toEqual({ syntaxError: expect.stringContaining('Line 2000: ') });
  });
});

test.each([
  ['a comment', `# ${'a.'.repeat(3000)}`],
  ['a string', `a = "${'.,=[\\"'.repeat(3000)}"`],
  ['a literal string', `a = '${'.,=["'.repeat(3000)}'`],
  ['a string of many lines', `a = """\n${'.,=["\n'.repeat(3000)}"""`],
  ['a literal string of many lines', `a = '''\n${".,=['\\\n".repeat(3000)}'''`],
])('%s may hold as many signs as it wants', (_name, text) => {
  expect(parseToml(text)).toHaveProperty('tables');
});
