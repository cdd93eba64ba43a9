import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from './conditions.ts';

/** Returns a seed for one test, and prints it, so that a failure can be repeated with `SEED=… npm test -- FILE`. */
export function newSeed(name: string): number {
  const seed = process.env.SEED === undefined ? Date.now() >>> 0 : Number(process.env.SEED) >>> 0;
  process.stderr.write(`${name}: SEED=${seed}\n`);
  return seed;
}

/** Returns a seed that is `fixed` in the short form and new in the long one. */
export function seedOfForm(name: string, fixed: number): number {
  return isLong || process.env.SEED !== undefined ? newSeed(name) : fixed;
}

export function seededChance(name: string): Chance {
  return new Chance(newSeed(name));
}
