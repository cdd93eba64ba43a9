import { describe, expect, test } from '@jest/globals';
import { littleGarbage } from '../../src/core/runtime/memory.ts';

const SET = ['--semi-space-growth-factor=1', '--heap-growing-percent=100'];
const RESET = ['--semi-space-growth-factor=2', '--heap-growing-percent=0'];

describe('work in little memory', () => {
  test('keeps the flags until the last of simultaneous works has ended', async () => {
    const flags: string[] = [];
    const run = littleGarbage((flag) => flags.push(flag));
    let end: (value: string) => void = () => undefined;
    const outer = run(() => new Promise<string>((resolve) => (end = resolve)));
    expect(await run(async () => 'inner')).toBe('inner');
    expect(flags).toEqual(SET);
    end('outer');
    expect(await outer).toBe('outer');
    expect(flags).toEqual([...SET, ...RESET]);
  });

  test('resets the flags after a failure', async () => {
    const flags: string[] = [];
    const run = littleGarbage((flag) => flags.push(flag));
    await expect(run(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
    expect(flags).toEqual([...SET, ...RESET]);
  });
});
