import { test } from '@jest/globals';

/**
 * True in the long form, which `make test-long` runs: it covers what docs/project/guarantees.md states, and runs random
 * tests far more often.
 */
export const isLong = process.env.TEST_FORM === 'long';

/** Declares a test, as `test` does. */
export type Declare = (name: string, run: () => unknown, limitMs?: number) => void;

/** Returns `test` if it can run; otherwise a test that is skipped, with the reason at the end of its name. */
export function testIf(canRun: boolean, reason: string): Declare {
  return canRun
    ? (name, run, limitMs) => test(name, run as () => Promise<void>, limitMs)
    : (name) => test.skip(`${name} (skipped: ${reason})`, () => undefined);
}
