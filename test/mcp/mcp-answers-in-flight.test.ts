import { expect, test } from '@jest/globals';
import { AnswersInFlight } from '../../src/features/mcp/endpoint.ts';

const MB = 1_000_000;

test('unread answers of all keys together take at most 64 MB', () => {
  const answers = new AnswersInFlight();
  const reserved = ['a', 'b', 'c', 'd'].map((key) => answers.reserve(key, 16 * MB));
  expect(() => answers.reserve('e', 1)).toThrow(
    expect.objectContaining({ code: 'too_many_answers', status: 429, headers: { 'Retry-After': '5' } }),
  );
  reserved[0]?.resize(15 * MB);
  expect(() => answers.reserve('e', MB + 1)).toThrow(expect.objectContaining({ code: 'too_many_answers' }));
  answers.reserve('e', MB);
  for (const one of reserved) {
    one.release();
    one.release();
  }
  for (const key of ['a', 'b', 'c']) answers.reserve(key, 16 * MB);
  answers.reserve('d', 15 * MB);
  expect(() => answers.reserve('d', 1)).toThrow(expect.objectContaining({ code: 'too_many_answers' }));
});
