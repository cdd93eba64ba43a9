import { expect, test } from '@jest/globals';
import type { Headers } from '../../src/api/http/answer.ts';
import { RateLimit } from '../../src/api/http/rate-limit.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('a window begins with its first request and ends for everyone at once', async () => {
  const clock = new FakeClock();
  const limit = new RateLimit(2, clock);
  await clock.advance(50_000);
  const headers: Headers = {};
  limit.count(headers);
  expect(headers).toEqual({ 'RateLimit-Policy': '"default";q=2;w=60', RateLimit: '"default";r=1;t=60' });
  await clock.advance(58_500);
  limit.count({});
  expect(() => limit.count({})).toThrow(
    expect.objectContaining({
      status: 429,
      message: 'Too many requests: try again in 2 s.',
      headers: { 'Retry-After': '2' },
    }),
  );
  await clock.advance(1500);
  const fresh: Headers = {};
  limit.count(fresh);
  expect(fresh.RateLimit).toBe('"default";r=1;t=60');
});

test('what a key asks beyond its share uses up nothing of the owner’s', () => {
  const limit = new RateLimit(8, new FakeClock());
  const ask = (key: string): Headers => {
    const headers: Headers = {};
    limit.count(headers);
    limit.countKey(key, headers);
    return headers;
  };
  for (let n = 0; n < 3; n += 1) ask('a');
  expect(ask('a').RateLimit).toBe('"default";r=4;t=60, "key";r=0;t=60');
  expect(() => ask('a')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  ask('b');
  expect(ask('b').RateLimit).toBe('"default";r=2;t=60, "key";r=0;t=60');
  expect(() => ask('b')).toThrow(expect.objectContaining({ status: 429, headers: { 'Retry-After': '60' } }));
  const owner: Headers = {};
  limit.count(owner);
  expect(owner.RateLimit).toBe('"default";r=1;t=60');
});
