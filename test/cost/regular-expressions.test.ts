import { resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { costOf, steepStep } from '../support/processor-time.ts';
import {
  attacksOn,
  type Expression,
  expressionsIn,
  expressionsOf,
  forbiddenIn,
} from '../support/regular-expressions.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SIZES = [1000, 10_000, 100_000];
/** Length at which a quadratic expression already stands out and still costs only milliseconds. */
const SCREENED = 1500;
/** More milliseconds than any linear expression takes. */
const CLEARLY_MS = 3;

const all = expressionsIn(ROOT, ['src', 'installer']);

/** Returns a function that applies an expression as programs do: it replaces every match, or finds the first. */
function applied({ source, flags }: Expression): (text: string) => unknown {
  const expression = new RegExp(source, flags);
  if (flags.includes('g')) return (text) => text.replace(expression, '');
  return (text) => {
    expression.lastIndex = 0;
    return expression.exec(text);
  };
}

/** Returns the step at which the most expensive attack costs too much; undefined if none does. */
function steepStepOf(expression: Expression): string | undefined {
  const apply = applied(expression);
  let worst: ((units: number) => string) | undefined;
  let worstMs = 0;
  for (const attack of attacksOn(expression)) {
    const text = attack(SCREENED);
    let ms = costOf(() => apply(text), 0);
    // Garbage collection may slow one measurement, but not several in a row.
    for (let again = 0; again < 3 && ms > worstMs; again += 1) {
      ms = Math.min(
        ms,
        costOf(() => apply(text), 0),
      );
    }
    if (ms > worstMs) [worst, worstMs] = [attack, ms];
    if (ms > CLEARLY_MS) break;
  }
  if (worst === undefined) return undefined;
  const attack = worst;
  const step = steepStep((units) => {
    const text = attack(units);
    return () => apply(text);
  }, SIZES);
  const { place, source } = expression;
  return step && `${place} /${source}/: ${step} (${JSON.stringify(attack(30))})`;
}

const named = (source: string, flags = ''): Expression => ({ place: 'here', source, flags });

describe('a regular expression of the program', () => {
  test('costs no more than in proportion to a text that is made to be expensive', () => {
    const different = new Map(all.map((one) => [`${one.source}/${one.flags}`, one])).values();
    expect([...different].map(steepStepOf).filter(Boolean)).toEqual([]);
  }, 120_000);

  test('has no unbounded quantifier inside another one or in a look-behind', () => {
    const found = all.flatMap((one) => forbiddenIn(one).map((part) => `${one.place} ${part}`));
    expect(found).toEqual([]);
  });
});

describe('the search for expensive expressions', () => {
  test('finds those that are nested or look back over any length', () => {
    expect(forbiddenIn(named('(?:a+b?)*'))).toEqual(['(?:a+b?)*']);
    expect(forbiddenIn(named('(?:a{2,}|b){3,}'))).toHaveLength(1);
    expect(forbiddenIn(named('(?<=x\\p{M}*)\\p{M}', 'u'))).toEqual(['(?<=x\\p{M}*)']);
    expect(forbiddenIn(named('(?:a{1,30}b)+'))).toEqual([]);
    expect(forbiddenIn(named('(?<!\\w)\\w+'))).toEqual([]);
  });

  test.each([
    ['a run that must be the last', '\\s+$', ''],
    ['a run before what is missing', '\\d+\\.', ''],
    ['two runs that share characters', '^a*[ab]*c', ''],
    ['a run tried from each beginning', '<([^>]+)>', ''],
  ])('finds %s', (_name, source, flags) => {
    expect(steepStepOf(named(source, flags))).toContain('times as much');
  });

  test('reads literals, constants and what joins them', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    const text = "const A = '[ab]';\nconst one = /x+/gu;\nconst two = new RegExp([`${A}+`, 'c'].join('|'), 'i');\n";
    expect(expressionsOf('a.ts', text)).toEqual([
      { place: 'a.ts:2', source: 'x+', flags: 'gu' },
      { place: 'a.ts:3', source: '[ab]+|c', flags: 'i' },
    ]);
    // About as many as the sources hold, so that a change of the reader cannot lose some.
    expect(all.length).toBeGreaterThan(350);
  });
});
