import { expect, jest, test } from '@jest/globals';
import type { Headers } from '../../src/api/http/answer.ts';
import { RateLimit } from '../../src/api/http/rate-limit.ts';
import { waitFor } from '../support/eventually.ts';

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
  await waitFor(() => limit.count(fresh).then(() => true));
  expect(fresh.RateLimit).toBe('"default";r=1;t=1');
});

test('a wall clock that is set back makes nobody wait longer than a window', async () => {
  const limit = new RateLimit(1, 60);
  await limit.count({});
  const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
  try {
    await expect(limit.count({})).rejects.toMatchObject({ headers: { 'Retry-After': '60' } });
  } finally {
    now.mockRestore();
  }
});
