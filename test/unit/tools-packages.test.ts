import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

const read = (path: string): Lock =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as Lock;

test('make run builds with the same packages as make test', () => {
  const all = read('package-lock.json').packages;
  const few = Object.entries(read('tools/package-lock.json').packages).filter(([path]) => path !== '');
  expect(few.length).toBeGreaterThan(3);
  for (const [path, { version, integrity }] of few) {
    expect([path, all[path]]).toEqual([path, expect.objectContaining({ version, integrity })]);
  }
});
