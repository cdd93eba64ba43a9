import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(root + file, 'utf8');
const page = read('docs/performance.md');
const results = read('bench/RESULTS.md');

/** Postern's median in a row of the results, and the figure of the page that states it. */
test.each([
  ['row committed → WebSocket frame, synchronous=NORMAL, p50', '0.757', '0.76 ms'],
  ['row committed → WebSocket frame, synchronous=NORMAL, p99', '5.23', '5.2 ms'],
  ['HTTP: newest 50 messages', '1,700', '1,700 a second'],
  ['idle for 60 s at 1000 ms: resident memory', '62.2', '62 MiB'],
  ['idle for 60 s at 1000 ms: processor', '0.150', '0.15 % of a core'],
  ['process start → first healthy answer, on top of the rival', '226', '0.23 s'],
])('the page about performance does not state another figure than was measured: %s', (row, median, stated) => {
  const line = results.split('\n').find((one) => one.startsWith(`| ${row} | `));
  expect(line?.split('|')[2]?.trim().split(' ')[0]).toBe(median);
  expect(page).toContain(stated);
});
