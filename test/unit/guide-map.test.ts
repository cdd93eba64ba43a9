import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const GUIDE = fileURLToPath(new URL('../../dist/guide/', import.meta.url));

/** Returns the text of a page. Links into docs/ lose that folder, because the pages that were outside of it do. */
function textOf(file: string): string {
  return readFileSync(GUIDE + file, 'utf8')
    .replaceAll('](docs/', '](')
    .trimEnd();
}

test('llms-full.txt has the text of every page that llms.txt lists', () => {
  const listed = [...textOf('llms.txt').matchAll(/^- .*?\]\(([^)]+\.md)\)/gm)].map(([, file = '']) => file);
  const full = textOf('llms-full.txt');
  expect(listed).toContain('api.md');
  expect(listed.filter((file) => !full.includes(textOf(file)))).toEqual([]);
});
