import { expect, test } from '@jest/globals';
import { Chance } from '../../src/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { expensiveText } from '../support/expensive-text.ts';
import { processorMs } from '../support/processor-time.ts';
import { newSeed } from '../support/seed.ts';
import { doors } from './cost-doors.ts';
import { type Entrance, functions, rows } from './cost-entrances.ts';

const INPUTS = isLong ? 100_000 : Number.POSITIVE_INFINITY;
const PROCESSOR_MS = isLong ? Number.POSITIVE_INFINITY : 20_000;
/** The short form takes the same inputs each time. */
const SHORT_SEED = 26;
/** Milliseconds of processor time for each 64 KB begun, of this process: server and client. */
const BOUND_MS = 50;
const STEP_BYTES = 65_536;

const inProcess = [...functions(), ...rows()];

async function costOf({ take }: Entrance, text: string): Promise<number> {
  const startMs = processorMs();
  await take(text);
  return processorMs() - startMs;
}

/** What an input costs if that is too much, measured again warm; undefined if it is not. */
async function tooMuch(entrance: Entrance, text: string): Promise<number | undefined> {
  const boundMs = BOUND_MS * Math.max(1, Math.ceil(Buffer.byteLength(text) / STEP_BYTES));
  let ms = await costOf(entrance, text);
  for (let again = 0; again < 3 && ms > boundMs; again += 1) ms = Math.min(ms, await costOf(entrance, text));
  return ms > boundMs ? ms : undefined;
}

test('no input of up to 256 KB, however it is made, costs more than 50 ms for each 64 KB', async () => {
  const seed = isLong || process.env.SEED !== undefined ? newSeed('expensive inputs') : SHORT_SEED;
  const { entrances, close } = await doors();
  const all = [...inProcess, ...entrances];
  const failures: string[] = [];
  try {
    const chance = new Chance(seed);
    for (const entrance of all) await costOf(entrance, 'a'.repeat(2000)); // compiled
    const startMs = processorMs();
    let inputs = 0;
    for (; inputs < INPUTS && processorMs() - startMs < PROCESSOR_MS; inputs += 1) {
      const entrance = all[inputs % all.length] ?? never();
      const text = expensiveText(
        chance,
        Math.min(entrance.limit, chance.in(0.1) ? 4 * STEP_BYTES : STEP_BYTES),
        entrance.wanted,
      );
      const ms = await tooMuch(entrance, text);
      if (ms === undefined) continue;
      const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 60)}…${text.slice(-20)}` : text);
      failures.push(
        `seed ${seed}, input ${inputs}: ${entrance.name}, ${text.length} units, ${ms.toFixed(0)} ms: ${shown}`,
      );
      if (failures.length > 40) break;
    }
    console.log(`seed ${seed}: ${inputs} inputs at ${all.length} entrances`);
    expect(failures).toEqual([]);
  } finally {
    await close();
  }
}, 7_200_000);

function never(): never {
  throw new Error('there is no entrance');
}
