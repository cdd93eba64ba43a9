import { test } from '@jest/globals';

/** The long form, which `make test-long` runs: what docs/project/guarantees.md states, and random tests asked far more often. */
export const isLong = process.env.TEST_FORM === 'long';

/** Declares a test, as `test` does. */
export type Declare = (name: string, run: () => unknown, limitMs?: number) => void;

/** Returns `test` where it can run; otherwise a test that is skipped, with the reason at the end of its name. */
export function testIf(canRun: boolean, reason: string): Declare {
  return canRun
    ? (name, run, limitMs) => test(name, run as () => Promise<void>, limitMs)
    : (name) => test.skip(`${name} (skipped: ${reason})`, () => undefined);
}
