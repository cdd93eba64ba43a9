import { expect, test } from '@jest/globals';
import { readAttributedText } from '../../src/core/chatdb/content/attributed-runs.ts';
import { RunReader } from '../../src/core/chatdb/content/parts.ts';
import { RowBudget } from '../../src/core/chatdb/content/row-budget.ts';
import { detectedIn } from '../../src/features/content/detected-data.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { craftedArchive, members, Uid } from '../support/crafted-archives.ts';

/** Returns what is detected in a text of one run. */
function detected(text: string, result: Buffer) {
  const attributes = { __kIMMessagePartAttributeName: 0, __kIMMoneyAttributeName: result };
  const budget = new RowBudget();
  const body = readAttributedText(encodeAttributedBody(text, [{ length: text.length, attributes }]), budget);
  const [part] = body === undefined ? [] : new RunReader(budget, [detectedIn]).parts(body);
  return part?.runs?.[0]?.detected;
}

test.each([
  ['$16', { MS: '$', V: 'USD' }, '$'],
  ['£16', { MS: '£', V: 'GBP' }, '£'],
  ['16 €', { MS: '€' }, '€'],
  ['16', { V: 'USD' }, 'USD'],
])('detected money has the currency as it was written: %s', (money, currency, expected) => {
  const result = craftedArchive([
    members({ T: 'Money', MS: money, SR: [new Uid(2)] }),
    members({ T: 'Currency', ...currency }),
  ]);
  expect(detected(money, result)).toEqual({ type: 'money', text: money, currency: expected });
});

test('a time of day is a date', () => {
  const result = craftedArchive([members({ T: 'TimeDuration', MS: 'at 5' })]);
  expect(detected('at 5', result)).toEqual({ type: 'date', text: 'at 5' });
});
