import { describe, expect, test } from '@jest/globals';
import { callingCodeOf, dialableAddress } from '../../src/features/contacts/dialable-address.ts';

describe('an address', () => {
  test.each([
    // Calling code of the home country, an address as typed, and its one form.
    ['1', '(817) 555-0100', '+18175550100'],
    ['1', '1 817 555 0100', '+18175550100'],
    ['1', '011 46 70 123 45 67', '+46701234567'],
    ['1', '+1 817.555.0100 ext. 5', '+18175550100'],
    ['1', '817-555-0100x12', '+18175550100'],
    ['1', '817-555-0100,,12#', '+18175550100'],
    ['46', '070-123 45 67', '+46701234567'],
    ['46', '+46 (0)70 123 45 67', '+46701234567'],
    ['46', '0046 70 123 45 67', '+46701234567'],
    ['46', '+46 70 123 45 67;ext=5', '+46701234567'],
    ['45', '20 12 34 56', '+4520123456'],
    ['39', '06 1234 5678', '+390612345678'],
    ['39', '347 123 4567', '+393471234567'],
    ['378', '0549 88 23 14', '+3780549882314'],
    ['225', '07 12 34 56 78', '+2250712345678'],
    ['226', '01 23 45 67', '+22601234567'],
    ['229', '01 90 12 34 56', '+2290190123456'],
    ['242', '06 612 34 56', '+242066123456'],
    ['7', '8 912 345-67-89', '+79123456789'],
    ['36', '06 30 123 4567', '+36301234567'],
    ['44', '020 7946 0123', '+442079460123'],
    // There is no trunk prefix: the first digit belongs to the number.
    ['7', '812 345-67-89', '+78123456789'],
    // Former prefixes of mobile numbers.
    ['1', '+52 1 55 1234 5678', '+525512345678'],
    ['52', '+52 55 1234 5678', '+525512345678'],
    ['54', '+54 9 11 2345-6789', '+541123456789'],
    // Short codes are the same everywhere.
    ['46', '741741', '741741'],
    [undefined, '32665', '32665'],
    // Without the home country only complete numbers are recognized.
    [undefined, '+46 70 123 45 67', '+46701234567'],
    [undefined, '070-123 45 67', undefined],
    // Marks left by copying, and other scripts' digits.
    ['46', '\u202a+46 70 123 45 67\u202c', '+46701234567'],
    ['81', '０９０－１２３４－５６７８', '+819012345678'],
    ['1', 'tel:+1-817-555-0100', '+18175550100'],
    ['971', '+٩٧١ ٥٠ ١٢٣ ٤٥٦٧', '+971501234567'],
    ['98', '۰۹۱۲ ۳۴۵ ۶۷۸۹', '+989123456789'],
    // Remarks in cards, and tags of Apple's filters in chat.db.
    ['1', '+1 817 555 0100 (work)', '+18175550100'],
    ['46', '070-123 45 67 (på jobbet, 2)', '+46701234567'],
    ['1', '+18175550100(smsfp)', '+18175550100'],
    [undefined, '22395(smsft)', '22395'],
    [undefined, 'Ana@example.org(filtered)', 'ana@example.org'],
    [undefined, 'AXBNK-S(smsft_fi)', 'axbnk-s'],
    // What is no number.
    ['1', ' Ana@Example.COM ', 'ana@example.com'],
    ['1', '1-800-FLOWERS', '1-800-flowers'],
    ['1', 'urn:biz:0f7c', 'urn:biz:0f7c'],
    ['1', 'PARCELS', 'parcels'],
    ['1', '--', undefined],
    ['1', '', undefined],
    ['1', '1'.repeat(1_000_000), undefined],
  ])('in the country +%s, %j is %j', (home, address, expected) => {
    expect(dialableAddress(address, home)).toBe(expected);
  });

  test('that differs in its country is another one, whatever its last digits', () => {
    expect(dialableAddress('20 12 34 56', '45')).not.toBe(dialableAddress('+46 8 20 12 34 56', '45'));
    expect(dialableAddress('+14155550134', '1')).not.toBe(dialableAddress('+94155550134', '1'));
  });
});

test.each([
  ['+18175550100', '1'],
  ['+79123456789', '7'],
  ['+46701234567', '46'],
  ['+358401234567', '358'],
  ['ana@example.com', undefined],
  ['8175550100', undefined],
])('the calling code of %s is %s', (address, code) => {
  expect(callingCodeOf(address)).toBe(code);
});
