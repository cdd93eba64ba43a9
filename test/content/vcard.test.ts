import { expect, test } from '@jest/globals';
import { RowBudget } from '../../src/core/chatdb/public.ts';
import { contactOf, locationOf } from '../../src/features/content/vcard.ts';

const card = (...lines: readonly string[]): string => ['BEGIN:VCARD', ...lines, 'END:VCARD', ''].join('\r\n');

test('a card of vCard 2.1 is decoded, over soft line breaks and in its charset', () => {
  const text = card(
    'VERSION:2.1',
    'N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=85ngstr=',
    '=C3=B6m;Zo=C3=AB;;;',
    'ORG;QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Caf=e9;B=FCro=',
    ' 2',
    'NOTE;ENCODING=QUOTED-PRINTABLE:first=0D=0ATEL:1',
    'TEL;CELL:+15550100',
    'PHOTO;ENCODING=BASE64;TYPE=JPEG:',
    ' /9j/4AAQ=',
    '',
    'EMAIL;INTERNET;CHARSET=nothing;QUOTED-PRINTABLE:zo=65=40example.com',
  );
  expect(contactOf(text)).toEqual({
    ...{ name: 'Zoë Ångström', organization: 'Café, Büro 2' },
    ...{ phones: ['+15550100'], emails: ['zoe@example.com'] },
  });
});

test('a number that is a URI is a number', () => {
  const contact = contactOf(
    card('VERSION:4.0', 'FN:Ana', 'FN:Another', 'TEL;VALUE=uri;TYPE="voice,home":tel:+1-555-0100', 'TEL:+1-555-0100'),
  );
  expect(contact).toEqual({ name: 'Ana', phones: ['+1-555-0100'], emails: [] });
});

test('a folded line that breaks behind an equals sign is whole', () => {
  expect(locationOf(card('URL:https://maps.example/?ll=', ' 59.3,18.1'))).toMatchObject({ latitude: 59.3 });
});

test.each([
  ['90,-180', { latitude: 90, longitude: -180 }],
  ['90.1,0', {}],
  ['-91,0', {}],
  ['0,180.5', {}],
])('a pin at %s has a place only if it is on the globe', (place, expected) => {
  const url = `https://maps.example/?ll=${place}`;
  expect(locationOf(card(`URL:${url}`))).toEqual({ ...expected, url });
});

test('cards cost a row no more than its budget, however many lines and cards it has', () => {
  const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `TEL:${at}`);
  expect(contactOf(card(...numbers(9000)))?.phones.length).toBeLessThan(2000);
  const budget = new RowBudget();
  const phones = Array.from({ length: 30 }, () => contactOf(card(...numbers(9000)), budget)?.phones ?? []).flat();
  expect(phones.length).toBeLessThan(20_000);
  const quoted = Array.from({ length: 1900 }, (_, at) => `TEL;QUOTED-PRINTABLE:=2B${at}`);
  expect(contactOf(card(...quoted))?.phones.length).toBeLessThan(1800);
  expect(contactOf(card(`FN;QUOTED-PRINTABLE:${'=41'.repeat(120_000)}`))).not.toHaveProperty('name');
  expect(contactOf(card(`FN:Ana`, `ORG:${'a;'.repeat(100)}`))?.organization).toBe(Array(20).fill('a').join(', '));
  const long = contactOf(card(`FN:${'x'.repeat(60_000)}`, `EMAIL:${'y'.repeat(5000)}`, 'TEL:1'));
  expect(long).toMatchObject({ emails: [], phones: ['1'] });
});
