import { expect, test } from '@jest/globals';
import { isLoopback } from '../../src/core/model/loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '[::1]'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  '',
  '127.0.0.999',
  '127.0.0.01',
  '127.evil.example',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  '128.0.0.1',
  '::',
  '[::2]',
])('"%s" is another machine', (host) => {
  expect(isLoopback(host)).toBe(false);
});
