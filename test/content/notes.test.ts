import { expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { sentenceOf } from '../../src/core/model/sentence.ts';
import { contentDecoder } from '../../src/features/content/rows.ts';

const DETAILS: Parameters<typeof sentenceOf>[1] = {
  kind: 'message',
  edited_at: null,
  retracted_at: null,
  attachments: [],
};
const FILE: MessageDetails['attachments'][number] = {
  name: 'card.vcf',
  mime_type: 'text/vcard',
  bytes: 1,
  transfer: 'finished',
  state: 'available',
  path: '/card.vcf',
};

const say = (given: Partial<typeof DETAILS>, body = '') =>
  sentenceOf({ body, sender: '+15550100', is_from_me: false }, { ...DETAILS, ...given }, {}, [contentDecoder]);

// The sentences of the vectors are tested in details.test.ts.
test.each<[string, Partial<typeof DETAILS>, string]>([
  ['Contact: no name', { attachments: [{ ...FILE, contact: { phones: [], emails: [] } }] }, ''],
  ['Location: The pier', { attachments: [{ ...FILE, location: { name: 'The pier' } }] }, ''],
  ['Link', { kind: 'link' }, ''],
  ['words', { kind: 'link' }, 'words'],
  ['Poll', { kind: 'poll' }, ''],
  [
    'Poll: Lunch? Soup (1)',
    { kind: 'poll', poll: { question: 'Lunch?', options: [{ id: '1', text: 'Soup', votes: ['a'] }] } },
    '',
  ],
  ['App message (com.example.a)', { kind: 'app', app: { type: 'app', bundle_id: 'com.example.a' } }, ''],
  ['the text of its row', { kind: 'app', app: { type: 'app', bundle_id: 'com.example.a' } }, 'the text of its row'],
])('%s', (sentence, details, body) => {
  expect(say(details, body)).toBe(sentence);
});

test('a card stands in place of a text that could not be read', () => {
  expect(say({ kind: 'poll', isTextUnread: true })).toBe('Poll');
});

test('a note is one line of at most 200 characters, whole ones', () => {
  const long = say({ kind: 'link', link: { type: 'page', url: 'x', title: '👩\n'.repeat(500) } });
  expect([...long].length).toBeLessThanOrEqual(200);
  expect([...long].length).toBeGreaterThan(190);
  expect(Buffer.from(long).toString()).toBe(long);
});
