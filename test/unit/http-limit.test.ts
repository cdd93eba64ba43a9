import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Headers } from '../../src/core/http/answer.ts';
import { RateLimit } from '../../src/core/http/rate-limit.ts';

const START_MS = Date.UTC(2026, 0, 2);
const systemNow = Date.now;

function setTime(ms: number): void {
  Date.now = () => ms;
}

beforeEach(() => setTime(START_MS));
afterEach(() => {
  Date.now = systemNow;
});

test('a window begins with its first request and ends for everyone at once', async () => {
  const limit = new RateLimit(2, 1);
  const headers: Headers = {};
  await limit.count(headers);
  expect(headers).toEqual({ 'RateLimit-Policy': '"default";q=2;w=1', RateLimit: '"default";r=1;t=1' });
  await limit.count({});
  await expect(limit.count({})).rejects.toMatchObject({
    status: 429,
    message: 'Too many requests: try again in 1 s.',
    headers: { 'Retry-After': '1' },
  });
  const fresh: Headers = {};
  setTime(START_MS + 1000);
  await limit.count(fresh);
  expect(fresh.RateLimit).toBe('"default";r=1;t=1');
});

test('a wall clock that is set back makes nobody wait longer than a window', async () => {
  const limit = new RateLimit(1, 60);
  await limit.count({});
  setTime(START_MS - 3_600_000);
  await expect(limit.count({})).rejects.toMatchObject({ headers: { 'Retry-After': '60' } });
});

/** Returns a function that asks for a key several times, and returns what was left after each request. */
function leftsOf(limit: RateLimit) {
  const ask = async (id: string): Promise<string> => {
    const headers: Headers = {};
    await limit.count(headers);
    return limit.countKey(id, headers).then(
      () => String(headers.RateLimit),
      (error: unknown) => (error as { readonly code: string }).code,
    );
  };
  const lefts = async (id: string, times: number): Promise<string[]> => {
    const answers: string[] = [];
    for (let request = 0; request < times; request += 1) answers.push(await ask(id));
    return answers;
  };
  return lefts;
}

test('a key that has used up its share uses up nothing of the owner’s', async () => {
  const limit = new RateLimit(8);
  const lefts = leftsOf(limit);
  expect(await lefts('a', 6)).toEqual([
    '"default";r=7;t=60, "key";r=3;t=60',
    '"default";r=6;t=60, "key";r=2;t=60',
    '"default";r=5;t=60, "key";r=1;t=60',
    '"default";r=4;t=60, "key";r=0;t=60',
    'rate_limited',
    'rate_limited',
  ]);
  // All keys together have six: two are left for another key, although its own share is four.
  setTime(START_MS + 30_000);
  expect(await lefts('b', 5)).toEqual([
    '"default";r=3;t=30, "key";r=1;t=30',
    '"default";r=2;t=30, "key";r=0;t=30',
    'rate_limited',
    'rate_limited',
    'rate_limited',
  ]);
  const owner: Headers = {};
  await limit.count(owner);
  expect(owner.RateLimit).toBe('"default";r=1;t=30');
  // Of its own window, which lasts longer, the key has used up only what was not refused.
  setTime(START_MS + 60_000);
  expect(await lefts('b', 2)).toEqual(['"default";r=7;t=60, "key";r=1;t=30', '"default";r=6;t=60, "key";r=0;t=30']);
});

test('a request that is taken back leaves its room to everyone, to all keys and to its own', async () => {
  const limit = new RateLimit(8);
  const lefts = leftsOf(limit);
  await lefts('a', 4);
  await lefts('b', 2);
  await limit.uncountKey('b');
  expect(await lefts('b', 1)).toEqual(['"default";r=2;t=60, "key";r=0;t=60']);
  await limit.uncountKey('a');
  expect(await lefts('a', 1)).toEqual(['"default";r=2;t=60, "key";r=0;t=60']);
});
