import { expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { expensiveText } from '../support/expensive-text.ts';
import { processorMs, slowness } from '../support/processor-time.ts';
import { newSeed } from '../support/seed.ts';
import { clientPrograms } from './client-programs.ts';
import { doors } from './doors.ts';
import { type Entrance, functions, rows } from './entrances.ts';
import { frames } from './frames.ts';
import { oauthDoors } from './oauth-doors.ts';

const INPUTS = isLong ? 100_000 : 6000;
/** Seed of the short form, which uses the same inputs each time. */
const SHORT_SEED = 26;
/** Milliseconds of processor time for each 64 KB begun, of this process: server and client, at `slowness` 1. */
const BOUND_MS = 50;
const STEP_BYTES = 65_536;

const inProcess = [...functions(), ...rows()];

async function costOf({ take }: Entrance, text: string): Promise<number> {
  const startMs = processorMs();
  await take(text);
  return processorMs() - startMs;
}

/**
 * Measures an input, and repeats a measurement that is too high, corrected by this machine's speed. Returns the
 * milliseconds if they are still too high, otherwise undefined.
 */
async function tooMuch(entrance: Entrance, text: string): Promise<number | undefined> {
  const boundMs = BOUND_MS * Math.max(1, Math.ceil(Buffer.byteLength(text) / STEP_BYTES));
  let ms = await costOf(entrance, text);
  for (let again = 0; again < 3 && ms > boundMs; again += 1) {
    const slower = slowness();
    ms = Math.min(ms, (await costOf(entrance, text)) / slower);
  }
  return ms > boundMs ? ms : undefined;
}

test('no input of up to 256 KB, however it is made, costs more than 50 ms for each 64 KB', async () => {
  const seed = isLong || process.env.SEED !== undefined ? newSeed('expensive inputs') : SHORT_SEED;
  const [{ entrances, close }, oauth] = await Promise.all([doors(), oauthDoors()]);
  const all = [...inProcess, ...clientPrograms(), ...entrances, ...oauth.entrances, ...(await frames())];
  const failures: string[] = [];
  try {
    const chance = new Chance(seed);
    for (const entrance of all) await costOf(entrance, 'a'.repeat(2000)); // compiled
    for (let input = 0; input < INPUTS; input += 1) {
      const entrance = all[input % all.length] ?? never();
      const text = expensiveText(
        chance,
        Math.min(entrance.limit, chance.in(0.1) ? 4 * STEP_BYTES : STEP_BYTES),
        entrance.wanted,
      );
      const ms = await tooMuch(entrance, text);
      if (ms === undefined) continue;
      const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 60)}…${text.slice(-20)}` : text);
      failures.push(
        `seed ${seed}, input ${input}: ${entrance.name}, ${text.length} units, ${ms.toFixed(0)} ms: ${shown}`,
      );
      if (failures.length > 40) break;
    }
    console.log(`seed ${seed}: ${INPUTS} inputs at ${all.length} entrances`);
    expect(failures).toEqual([]);
  } finally {
    await close();
    await oauth.close();
  }
}, 7_200_000);

/** Maximum size of a request body. */
const MB = 1_048_576;
const nested = (open: string, inner: string, close: string): string => {
  const depth = Math.floor((MB - inner.length) / (open.length + close.length));
  return open.repeat(depth) + inner + close.repeat(depth);
};
const filled = (open: string, part: string, close: string): string =>
  `${open}${part.repeat(Math.floor((MB - open.length - close.length - 2) / part.length))}${close}`;
const wide = (name: (at: number) => string): string =>
  `{${Array.from({ length: 60_000 }, (_, at) => `"${name(at)}":1`).join()}}`.slice(0, MB);

test.each([
  ['lists in lists', nested('[', '', ']')],
  ['lists in lists that never end', '['.repeat(MB)],
  ['objects in objects', nested('{"a":', '1', '}')],
  ['objects in lists', nested('[{"body":', '1', '}]')],
  ['objects in a member that is known', `{"body":${nested('{"a":', '1', '}').slice(8)}`],
  ['a list of empty lists', filled('[', '[],', '[]]')],
  ['a list of numbers', filled('{"attachments":[', '1,', '1]}')],
  ['members of many names', wide((at) => `m${at}`)],
  ['members of one name', wide(() => 'body')],
  ['a text of escapes', filled('{"body":"', '\\u0301', '"}')],
])(
  'a body of 1 MB that is %s costs no more than 50 ms for each 64 KB',
  async (_, body) => {
    const { entrances, close } = await doors();
    try {
      for (const name of ['a body of a send', 'a body of MCP']) {
        const entrance = entrances.find((one) => one.name === name) ?? never();
        expect([name, body.length > 0.4 * MB, await tooMuch(entrance, body)]).toEqual([name, true, undefined]);
      }
    } finally {
      await close();
    }
  },
  600_000,
);

test('a form or a query of thousands of names costs no more than 50 ms for each 64 KB', async () => {
  const { entrances, close } = await oauthDoors();
  try {
    const names = Array.from({ length: 12_000 }, (_, at) => at.toString(36));
    const form = entrances.find(({ name }) => name === 'a form of OAuth') ?? never();
    const query = entrances.find(({ name }) => name === 'a query for consent') ?? never();
    expect(await tooMuch(form, names.join('&').slice(0, STEP_BYTES))).toBeUndefined();
    expect(await tooMuch(query, names.join('&').slice(0, query.limit))).toBeUndefined();
  } finally {
    await close();
  }
});

function never(): never {
  throw new Error('there is no entrance');
}
