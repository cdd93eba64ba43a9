import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SearchHit } from '../../src/client/types.ts';
import type { Problem } from '../../src/core/http/problem-document.ts';
import { anyText } from '../support/any-text.ts';
import { isLong } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { postern } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';

const TEXTS = [
  'See you at dinner on Saturday',
  'No dinner, I have to work',
  '明日は東京駅で会いましょう',
  'שלום 👍🏽 café',
];
/** Number of random queries; over HTTP each takes a millisecond or two. */
const QUERIES = isLong ? 30_000 : 150;
const GARDEN = 'any;+;chat424242';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  const participants = ['+15550100', '+15550101'];
  await mac.command({ do: 'group', identifier: 'chat424242', participants, name: 'Garden' });
  for (const text of TEXTS) await mac.command({ do: 'receive', from: '+15550100', text });
  await mac.command({
    do: 'receive',
    from: '+15550101',
    chat: GARDEN,
    text: 'Dinner in the garden',
    attachment: { name: 'lawn plan.pdf', bytes: 10 },
  });
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { search: { enabled: true } },
  });
  await eventually(async () => {
    expect(((await service.get('/status')).json as StatusWithSearch).search?.state).toBe('complete');
  });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const ask = (q: string, more = '') => service.get(`/search?q=${encodeURIComponent(q)}${more}`);

async function bodies(q: string, more = ''): Promise<readonly string[]> {
  const { status, text, json } = await ask(q, more);
  if (status !== 200) throw new Error(text);
  return (json as SearchHit[]).map(({ message }) => message.body);
}

describe('a query finds what it says', () => {
  const [SATURDAY, WORK, TOKYO, SHALOM] = TEXTS;
  const LAWN = 'Dinner in the garden';

  test.each<[string, readonly (string | undefined)[]]>([
    ['in:garden', [LAWN]],
    ['dinner', [LAWN, WORK, SATURDAY]],
    ['DINNER saturday', [SATURDAY]],
    ['"you at dinner"', [SATURDAY]],
    ['"dinner at"', []],
    ['din* -work', [LAWN, SATURDAY]],
    ['東京', [TOKYO]],
    ['東京* 会', [TOKYO]],
    ['cafe 👍', [SHALOM]],
    ['שלום', [SHALOM]],
    ['from:+15550101', [LAWN]],
    ['dinner from:+15550100', [WORK, SATURDAY]],
    ['dinner from:+15550100 from:+15550101', [LAWN, WORK, SATURDAY]],
    ['from:me', []],
    [`in:${GARDEN}`, [LAWN]],
    ['dinner in:+15550100', [WORK, SATURDAY]],
    ['has:attachment', [LAWN]],
    ['lawn', [LAWN]],
    ['dinner after:2020-01-01 before:2100-01-01', [LAWN, WORK, SATURDAY]],
    ['dinner before:2020-01-01', []],
    ['after:2020-01-01', [LAWN, SHALOM, TOKYO, WORK, SATURDAY]],
    ['dinner AND OR NOT NEAR(', []],
  ])('%s', async (q, expected) => {
    expect(await bodies(q)).toEqual(expected);
  });

  test('highlights are the matching places, and the name of a file has none', async () => {
    const [hit] = (await ask('din* "garden"')).json as SearchHit[];
    expect(hit?.highlights.map(([start, end]) => hit.message.body.slice(start, end))).toEqual(['Dinner', 'garden']);
    expect(((await ask('lawn')).json as SearchHit[])[0]?.highlights).toEqual([]);
  });

  test('page after page, and within one conversation', async () => {
    const first = await ask('dinner', '&limit=2');
    const next = nextOf(first) ?? '';
    const second = await service.get(next);
    expect(
      [...(first.json as SearchHit[]), ...(second.json as SearchHit[])].map(({ message }) => message.body),
    ).toEqual(await bodies('dinner'));
    expect(second.headers.get('link')).toBeNull();
    expect(await bodies('-work', `&conversation_id=${GARDEN}`)).toEqual([LAWN]);
    expect((await ask('dinner', '&cursor=x')).json).toMatchObject({ code: 'invalid_cursor' });
  });
});

test(
  `${QUERIES} queries of any kind: none is answered with 500`,
  async () => {
    const pieces = [
      ...['from:', 'in:', 'has:attachment', 'after:2026-01-31', 'before:9999-12-31', 'after:0000-01-01', 'me', GARDEN],
      ...['"', '“', '-', '*', ' ', '(', ')', 'AND', 'OR', 'NOT', 'NEAR(', '^', '{', ':', "'", ';', '%', '\\', '\t'],
      ...[
        '\ue000',
        '\u202e',
        '\u0301',
        '\u0640',
        '\u200d',
        '\u00ad',
        'ﷺ',
        '👩‍👩‍👧',
        '👍🏽',
        'שלום',
        'नमस्ते',
        '学校',
        'สวัสดี',
        'dinner',
        'K',
      ],
    ];
    const anyQuery = fc.oneof(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => some.join('')),
      anyText(60),
    );
    await fc.assert(
      fc.asyncProperty(anyQuery, async (text) => {
        const { status, text: answer } = await ask(text.replace(/\p{Surrogate}/gu, '?'));
        if (status !== 200 && status !== 400) throw new Error(`${status} ${answer}`);
      }),
      { numRuns: QUERIES },
    );
  },
  QUERIES * 1000,
);

describe('postern search', () => {
  const run = (...args: readonly string[]) => postern(['--config-dir', service.configFolder, 'search', ...args]);

  test('prints the hits, the mistakes in a query, and the state of the index', async () => {
    const { exitCode, stdout } = await run('dinner', 'has:attachment');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^ROW {2}TIME +WHO +TEXT\n\d+ .* ← {2}\+15550101 in chat424242 {2}Dinner in the garden \[lawn plan\.pdf\]\n$/,
    );
    expect(JSON.parse((await run('"see you"', '--json')).stdout)).toEqual((await ask('"see you"')).json);
    const refused = await run('from:Nobody he*');
    expect(refused.exitCode).toBe(65);
    const { errors } = (await ask('from:Nobody he*')).json as Problem;
    for (const { message } of errors ?? []) expect(refused.stderr).toContain(message);
    expect((await run('--status')).stdout).toMatch(/^The search index is complete: \d+ messages\.\n$/);
  });
});
