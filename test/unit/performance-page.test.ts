import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(root + file, 'utf8');
const pages = (read('README.md') + read('docs/limits.md')).replaceAll(/\s+/g, ' ');
const results = read('bench/RESULTS.md');
const rows = results
  .split('\n')
  .map((line) => line.split(' | '))
  .filter(([, figure]) => /^\d/.test(figure ?? ''));

/** Returns the figures in a cell of the first row of the results that begins like this: its name, or also its rival. */
function figures(row: string, cell: number): readonly number[] {
  const text = rows.find(([name, , rival]) => `${name} | ${rival}`.startsWith(`| ${row}`))?.[cell] ?? '';
  return (text.replaceAll(',', '').match(/\d+(?:\.\d+)?/g) ?? []).map(Number);
}
const [POSTERN, RIVAL, RATIO] = [1, 3, 4];

const EVENT = 'row committed → WebSocket frame';
const PAGE = 'HTTP: newest 50 messages';
const DELIVERIES = 'webhook deliveries to one webhook';
const IDLE = 'idle for 60 s at 1000 ms';
const START = 'process start → first healthy answer, on top of the rival';
const CATCH_UP = '100,000 rows in one transaction → a WebSocket client with ?after=';

const two = (figure: number): string => String(Number(figure.toPrecision(2)));
const whole = (figure: number): string => Math.round(figure).toLocaleString('en');
const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(2);
const times = (ratio: number): string => two(1 / ratio);
const short = (figure: number): string => String(Number(figure.toPrecision(3)));

test.each<[string, number, (figure: number) => string, (...figures: readonly string[]) => string]>([
  [`${EVENT}, synchronous=NORMAL, p50`, POSTERN, two, (p50, low, high) => `| ${p50} ms | ${low} to ${high} ms |`],
  [`${EVENT}, synchronous=NORMAL, p50`, POSTERN, two, (p50) => `**${p50} ms** from the row`],
  [`${EVENT}, synchronous=NORMAL, p99`, POSTERN, two, (p99, low, high) => `| ${p99} ms | ${low} to ${high} ms |`],
  [PAGE, POSTERN, whole, (rate, low, high) => `| ${rate} a second | ${low} to ${high} |`],
  [`${IDLE}: resident memory`, POSTERN, two, (memory) => `| ${memory} MiB |`],
  [`${IDLE}: resident memory`, POSTERN, two, (memory) => `WebSocket, ${memory} MiB while it waits`],
  [`${IDLE}: processor`, POSTERN, two, (share) => `| ${share} % of a core |`],
  [START, POSTERN, seconds, (start) => `it takes ${start} s more than Node alone`],
  [START, RIVAL, seconds, (start) => `which took ${start} s there`],
  [`${EVENT} without file events, the slowest`, POSTERN, whole, (slowest) => `${slowest} ms was the slowest`],
  ['newest 50 messages: large against small', RATIO, two, (ratio) => `take ${ratio} times as long as the newest 50`],
  ['page 100000 deep by its cursor', RATIO, short, (ratio) => `takes ${ratio} times as long as the first,`],
  ['HTTP: one message by id', POSTERN, whole, (rate) => `answered ${rate} times a second`],
  ['HTTP: one message by id | bare node:http', RIVAL, whole, (rate) => `makes ${rate}. A client`],
  [CATCH_UP, POSTERN, whole, (rate) => `gets ${rate} a second`],
  [CATCH_UP, RIVAL, whole, (rate) => `makes ${rate}. A loop`],
  [`${DELIVERIES} | bare keep-alive node:http`, RATIO, times, (ratio) => `posts ${ratio} times as many webhooks`],
  ['export | a naive exporter', RATIO, times, (ratio) => `exporter of text is ${ratio} times as fast`],
])('the pages state the figures that were measured: %s', (row, cell, format, sentence) => {
  expect(pages).toContain(sentence(...figures(row, cell).map(format)));
});

test('the page about performance says when it was measured, and how many rows there are', () => {
  const [, date = ''] = /Made by `make bench` on ([\d-]+)/.exec(results) ?? [];
  expect(pages).toContain(`on ${date},`);
  expect(pages).toContain(`all ${rows.length} rows`);
});
