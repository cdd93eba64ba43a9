import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');

/** Matches "for" that has lost the space before "every" and its compounds, as a careless replacement leaves it. */
const MERGED_FOR = /\bforever[a-z]+/gi;

// What else marks a sentence that no native speaker writes is for reviewers: CONTRIBUTING.md lists it.
test('no text has "for" merged with the next word', () => {
  const files = ['docs', 'installer', 'src', 'test', '.'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
      .filter((name) => /^(?!.*node_modules).*\.(?:tsx?|mjs|cjs|js|md|html)$/.test(name))
      .map((name) => join(folder, name)),
  );
  const finds = files.flatMap((path) =>
    (readFileSync(join(ROOT, path), 'utf8').match(MERGED_FOR) ?? []).map((word) => `${path}: ${word}`),
  );
  expect(finds).toEqual([]);
});
