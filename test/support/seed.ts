import { Chance } from '../../src/simulator/chatter.ts';

/**
 * Chance for one test. Its seed is printed, so that a failure can be repeated with `SEED=… npm test -- file`.
 */
export function seededChance(name: string): Chance & { readonly seed: number } {
  const seed = process.env.SEED === undefined ? Date.now() >>> 0 : Number(process.env.SEED) >>> 0;
  process.stderr.write(`${name}: SEED=${seed}\n`);
  return Object.assign(new Chance(seed), { seed });
}
