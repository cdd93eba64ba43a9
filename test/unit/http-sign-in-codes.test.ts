import { expect, test } from '@jest/globals';
import { SignInCodes } from '../../src/core/http/sign-in-codes.ts';

let nowMs = 0;
const newCodes = (): SignInCodes => {
  nowMs = 1000;
  return new SignInCodes({ monotonic: () => nowMs });
};

test('a code has 128 random bits', () => {
  const codes = newCodes();
  const made = [codes.make(), codes.make()];
  for (const code of made) expect(Buffer.from(code, 'base64url').length).toBe(16);
  expect(made[0]).not.toBe(made[1]);
});

test('a code signs in once', () => {
  const codes = newCodes();
  const code = codes.make();
  expect([codes.redeem(code), codes.redeem(code)]).toEqual([true, false]);
});

test('a code of 60 seconds ago signs nobody in', () => {
  const codes = newCodes();
  const [early, late] = [codes.make(), codes.make()];
  nowMs += 59_999;
  expect(codes.redeem(early)).toBe(true);
  nowMs += 1;
  expect(codes.redeem(late)).toBe(false);
});

test('wrong codes void no right one, however many there are', () => {
  const codes = newCodes();
  const [one, other] = [codes.make(), codes.make()];
  for (let count = 0; count < 1000; count += 1) expect(codes.redeem(`wrong ${count}`)).toBe(false);
  expect([codes.redeem(one), codes.redeem(other)]).toEqual([true, true]);
});

test('codes that nobody takes are kept sixteen at a time', () => {
  const codes = newCodes();
  const made = Array.from({ length: 17 }, () => codes.make());
  expect([made[0], made[1], made[16]].map((code) => codes.redeem(code ?? ''))).toEqual([false, true, true]);
});
