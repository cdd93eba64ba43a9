import { describe, expect, test } from '@jest/globals';
import { parsedUrl } from '../../src/core/model/parsed-url.ts';
import { linked } from '../../src/features/archive/html.ts';

const host = (characters: number): string =>
  String.fromCodePoint(...Array.from({ length: characters }, (_, at) => 0x4e00 + at));

/** Spellings in which the parser of Node finds the same authority. */
const SPELLINGS: readonly ((authority: string) => string)[] = [
  (authority) => `https://${authority}/a`,
  (authority) => `  \t\nHTTPS://${authority}`,
  (authority) => `https:${authority}`,
  (authority) => `https:\\\\${authority}\\a`,
  (authority) => `https:////${authority}?a`,
  (authority) => `ht\ntps:/\t/${authority}#a`,
  (authority) => `https://user:password@${authority}:8443/`,
  (authority) => `https://a@b@${authority}/`,
];

describe('a URL from outside', () => {
  test.each(SPELLINGS.map((spelling) => [spelling('HOST'), spelling] as const))(
    'like %j is parsed only with a usual host',
    (_, spelling) => {
      expect(parsedUrl(spelling('a.example'))?.hostname).toBe('a.example');
      expect(parsedUrl(spelling(`${host(10)}.example`))?.hostname).toMatch(/^xn--/);
      expect(parsedUrl(spelling(`a.${host(64)}`))).toBeUndefined();
      expect(parsedUrl(spelling(`${'a.'.repeat(127)}aa`))).toBeUndefined();
    },
  );

  test('is resolved against a base, of which the same is true', () => {
    expect(parsedUrl('b/c', 'https://a.example/')?.href).toBe('https://a.example/b/c');
    expect(parsedUrl(`//${host(64)}/`, 'https://a.example/')).toBeUndefined();
    expect(parsedUrl(`\\\\${host(64)}/`, 'https://a.example/')).toBeUndefined();
    expect(parsedUrl('b', `https://${host(64)}/`)).toBeUndefined();
  });

  test('may have a long path, but not one of more than 8,192 characters', () => {
    expect(parsedUrl(`https://a.example/${'漢'.repeat(2000)}`)?.hostname).toBe('a.example');
    expect(parsedUrl(`https://a.example/${'a'.repeat(8200)}`)).toBeUndefined();
    expect(parsedUrl('no URL')).toBeUndefined();
  });

  test('is a link of an archive page only with a usual host', () => {
    expect(linked('see https://a.example/b.').text).toContain('href="https://a.example/b"');
    expect(linked(`https://${host(64)}/`).text).not.toContain('href');
  });
});
