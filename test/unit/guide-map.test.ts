import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const GUIDE = fileURLToPath(new URL('../../dist/guide/', import.meta.url));
const map = readFileSync(`${GUIDE}llms.txt`, 'utf8');
const lines = map.split('\n').filter((line) => line.startsWith('- '));

test('llms-full.txt has the text of every page', () => {
  const full = readFileSync(`${GUIDE}llms-full.txt`, 'utf8');
  const missing = lines
    .map((line) => /\]\(([^)]+\.md)\)/.exec(line)?.[1])
    .filter((twin) => twin !== undefined)
    .filter((twin) => !full.includes(/^# .+$/m.exec(readFileSync(GUIDE + twin, 'utf8'))?.[0] ?? twin));
  expect(missing).toEqual([]);
});
