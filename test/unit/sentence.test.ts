import { expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { bodySentence, sentenceOf } from '../../src/core/model/sentence.ts';
import { NO_DETAILS } from '../support/no-details.ts';

const FILE: MessageDetails['attachments'][number] = {
  name: 'menu.pdf',
  mime_type: 'application/pdf',
  bytes: 1,
  transfer: 'finished',
  state: 'available',
  path: '/menu.pdf',
};

const say = (given: Partial<Parameters<typeof sentenceOf>[1]>, body = '', names = {}) =>
  sentenceOf({ body, sender: '+15550100', is_from_me: false }, { ...NO_DETAILS, ...given }, names);

// The sentences of the vectors are tested in test/content.
test.each<[string, Partial<MessageDetails>, string]>([
  ['Photo', { attachments: [{ ...FILE, mime_type: 'image/jpeg' }] }, ''],
  ['Video', { attachments: [{ ...FILE, mime_type: 'video/mp4' }] }, ''],
  ['Voice message', { attachments: [{ ...FILE, mime_type: 'audio/x-caf' }] }, ''],
  ['File: menu.pdf', { attachments: [FILE] }, ''],
  ['2 attachments', { attachments: [FILE, FILE] }, ''],
  ['2 attachments (edited)', { attachments: [FILE, FILE], edited_at: '2026-01-01T00:00:00Z' }, ''],
  ['hi (1 attachment, edited)', { attachments: [FILE], edited_at: '2026-01-01T00:00:00Z' }, 'hi'],
  ['Empty message', {}, ''],
  ['boo (sent with an effect)', { effect: { name: 'other', on: 'unknown', id: 'x' } }, 'boo'],
])('%s', (sentence, details, body) => {
  expect(say(details, body)).toBe(sentence);
});

const LONG = 'long words '.repeat(30);

test.each<[string, Partial<MessageDetails>]>([
  [' (1 attachment)', { attachments: [FILE] }],
  [' (edited)', { edited_at: '2026-01-01T00:00:00Z' }],
  [' (one part unsent)', { unsent_parts: [1], edited_at: '2026-01-01T00:00:00Z' }],
  [' (sent with an effect)', { effect: { name: 'other', on: 'unknown', id: 'x' } }],
  [' (to be sent 2026-01-02 09:00)', { scheduled: { for: '2026-01-02T09:00:00Z', state: 2 } }],
  [' (edited)', { edited_at: '2026-01-01T00:00:00Z', subject: LONG }],
])('a long text is cut, and its note stays: %j', (note, details) => {
  const sentence = say(details, LONG);
  expect([...sentence].length).toBe(200);
  expect(sentence).toMatch(/^long words long words /);
  expect(sentence.endsWith(note)).toBe(true);
  // Characters outside the first plane count as one.
  const emoji = say(details, '\u{1F600}'.repeat(300));
  expect([[...emoji].length, emoji.endsWith(note)]).toEqual([200, true]);
});

test.each<[string, Partial<Parameters<typeof sentenceOf>[1]>]>([
  ['Text could not be read', {}],
  ['Text could not be read (edited)', { edited_at: '2026-01-01T00:00:00Z' }],
  ['Hello: Text could not be read', { subject: 'Hello' }],
  ['File: menu.pdf (text could not be read)', { attachments: [FILE] }],
  ['Unsent a message', { retracted_at: '2026-01-01T00:00:00Z' }],
])('a text that could not be read is not called empty: %s', (sentence, details) => {
  expect(say({ ...details, isTextUnread: true })).toBe(sentence);
});

test('people are called by their names where they are known, and an address is a word like any other', () => {
  const event = { kind: 'participant_change', group_event: { type: 'added', who: 'constructor' } } as const;
  expect(say(event, '', { '+15550100': 'Ana' })).toBe('Ana added constructor.');
  expect(say(event, '', { '+15550100': 'Ana', constructor: 'Ben' })).toBe('Ana added Ben.');
});

test('a sentence is one line of at most 200 characters, whole ones', () => {
  expect(bodySentence(`a\r\n\u2028\tb\u00a0c`)).toBe('a b\u00a0c');
  const long = say({ subject: '👩\n'.repeat(500) }, 'x');
  expect([...long].length).toBeLessThanOrEqual(200);
  expect([...long].length).toBeGreaterThan(190);
  expect(Buffer.from(long).toString()).toBe(long);
});
