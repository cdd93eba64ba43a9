import { expect, test } from '@jest/globals';
import { SignInCodes } from '../../src/features/console/sign-in-codes.ts';

let nowMs = 0;
const clock = { monotonic: () => nowMs };

/** Codes at the second 1. `make` and `redeem` are those of the class, with the clock of this test. */
function newCodes() {
  nowMs = 1000;
  const codes = new SignInCodes();
  return {
    make: (key = 'k') => codes.make(key, clock),
    redeem: (code: string) => codes.redeem(code, clock),
  };
}

test('a code has 128 random bits', () => {
  const codes = newCodes();
  const made = [codes.make(), codes.make()];
  for (const code of made) expect(Buffer.from(code, 'base64url').length).toBe(16);
  expect(made[0]).not.toBe(made[1]);
});

test('a code signs in once, with its own key', () => {
  const codes = newCodes();
  const [one, other] = [codes.make('a'), codes.make('b')];
  expect([codes.redeem(one), codes.redeem(one), codes.redeem(other)]).toEqual(['a', undefined, 'b']);
});

test('a code of 60 seconds ago signs nobody in', () => {
  const codes = newCodes();
  const [early, late] = [codes.make(), codes.make()];
  nowMs += 59_999;
  expect(codes.redeem(early)).toBe('k');
  nowMs += 1;
  expect(codes.redeem(late)).toBeUndefined();
});

test('wrong codes void no right one, however many there are', () => {
  const codes = newCodes();
  const [one, other] = [codes.make(), codes.make()];
  for (let count = 0; count < 1000; count += 1) expect(codes.redeem(`wrong ${count}`)).toBeUndefined();
  expect([codes.redeem(one), codes.redeem(other)]).toEqual(['k', 'k']);
});

test('codes that nobody takes are kept sixteen at a time', () => {
  const codes = newCodes();
  const made = Array.from({ length: 17 }, () => codes.make());
  expect([made[0], made[1], made[16]].map((code) => codes.redeem(code ?? ''))).toEqual([undefined, 'k', 'k']);
});
