import { Chance } from '../../src/simulator/chatter.ts';

/** A seed for one test. It is printed, so that a failure can be repeated with `SEED=… npm test -- FILE`. */
export function newSeed(name: string): number {
  const seed = process.env.SEED === undefined ? Date.now() >>> 0 : Number(process.env.SEED) >>> 0;
  process.stderr.write(`${name}: SEED=${seed}\n`);
  return seed;
}

export function seededChance(name: string): Chance {
  return new Chance(newSeed(name));
}
