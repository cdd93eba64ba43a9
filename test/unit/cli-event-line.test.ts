import { expect, test } from '@jest/globals';
import { eventLine } from '../../src/core/cli/output/event-line.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { ChangeName } from '../../src/core/model/event.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { Reaction } from '../../src/core/model/reaction.ts';
import { NO_DETAILS } from '../support/no-details.ts';

const at = new Date(2026, 0, 2, 3, 4, 5);
const nowMs = at.getTime() + 1000;

const message: Message = {
  id: '12',
  guid: 'G',
  conversation_id: 'iMessage;-;+15550100',
  sender: '+15550100',
  body: 'Hello',
  attachments: [],
  timestamp: at.toISOString(),
  is_from_me: false,
  status: 'delivered',
};

const reaction: Reaction = {
  id: '13',
  guid: 'R',
  conversation_id: 'iMessage;+;chat42',
  sender: '+15550101',
  is_from_me: false,
  reaction_type: 'thumbs_up',
  emoji: null,
  message_id: '12',
  message_guid: 'G',
  timestamp: at.toISOString(),
  associated_message_type: 2001,
};

test('an incoming message names its sender', () => {
  expect(eventLine({ type: 'message.received', data: message }, nowMs)).toBe('03:04:05 ← +15550100  Hello');
  const data = { ...message, mac: 'm1' };
  expect(eventLine({ type: 'message.received', data }, nowMs)).toBe('03:04:05 ← m1  +15550100  Hello');
});

test('an own message names whom it went to, what is attached, and that it failed', () => {
  const data = {
    ...message,
    is_from_me: true,
    sender: 'me@example.com',
    body: 'two\nlines',
    attachments: ['/tmp/a b.jpg'],
    status: 'failed' as const,
  };
  expect(eventLine({ type: 'message.sent', data }, nowMs)).toBe('03:04:05 → +15550100  two ⏎ lines [a b.jpg] (failed)');
});

test('a message without text is shown by its sentence; the names of files say more than their number', () => {
  const details: MessageDetails = {
    ...NO_DETAILS,
    kind: 'poll',
    sentence: 'Poll: Pizza (1), Soup (0)',
  };
  const line = (data: Message) => eventLine({ type: 'message.received', data }, nowMs);
  expect(line({ ...message, body: '', details })).toBe('03:04:05 ← +15550100  Poll: Pizza (1), Soup (0)');
  const photo = { ...details, kind: 'message', sentence: 'look (1 attachment)' } as const;
  const data = { ...message, body: 'look', attachments: ['/tmp/a.jpg'], details: photo };
  expect(line(data)).toBe('03:04:05 ← +15550100  look [a.jpg]');
  const vote = { ...reaction, details: { kind: 'poll_vote', sentence: 'Voted in a poll' } as const };
  expect(eventLine({ type: 'reaction.added', data: vote }, nowMs)).toMatch(/ {2}Voted in a poll$/);
});

test('in a group both are named', () => {
  const data = { ...message, conversation_id: 'any;+;chat42' };
  expect(eventLine({ type: 'message.received', data }, nowMs)).toBe('03:04:05 ← +15550100 in chat42  Hello');
});

test('a reaction says what and to which message', () => {
  expect(eventLine({ type: 'reaction.added', data: reaction }, nowMs)).toBe(
    '03:04:05 ← +15550101 in chat42  reacted with thumbs up to message 12',
  );
  const removed = { ...reaction, emoji: '🎉', message_id: '' };
  expect(eventLine({ type: 'reaction.removed', data: removed }, nowMs)).toContain('took 🎉 back from a message');
});

const updated = (changes: readonly ChangeName[], data: Partial<Message> = {}): string =>
  eventLine({ type: 'message.updated', data: { ...message, ...data }, changes }, nowMs);

test('a change says what happened to which message, with the time of the event', () => {
  expect(updated(['edited'], { body: 'Hello\nagain' })).toBe('03:04:06 ← +15550100  message 12 edited: Hello ⏎ again');
  expect(updated(['unsent'], { body: '' })).toBe('03:04:06 ← +15550100  message 12 unsent');
  expect(updated(['delivered', 'read'], { is_from_me: true })).toBe('03:04:06 → +15550100  message 12 delivered, read');
  expect(updated(['attachment'], { body: '', attachments: ['/tmp/a.jpg'] })).toBe(
    '03:04:06 ← +15550100  message 12 attachment changed: [a.jpg]',
  );
  expect(updated(['deleted'])).toBe('03:04:06 ← +15550100  message 12 deleted');
});

test('a removed message is named, and its conversation where that is known', () => {
  const data = { id: '12', guid: 'G', conversation_id: 'any;-;+15550100' };
  expect(eventLine({ type: 'message.removed', data }, nowMs)).toBe('03:04:06 · +15550100  message 12 removed');
  const unknown = { id: '12', guid: '', conversation_id: '' };
  expect(eventLine({ type: 'message.removed', data: unknown }, nowMs)).toBe('03:04:06 · ?  message 12 removed');
});

test('many changes are one line', () => {
  const data = { first_id: '12', last_id: '9000', count: 3120 };
  expect(eventLine({ type: 'messages.changed', data }, nowMs)).toBe(
    '03:04:06 · 3120 messages changed, between 12 and 9000: read them again',
  );
});

test('a row that belongs to no conversation and no sender is still a line', () => {
  const data = { ...message, conversation_id: '', sender: '', body: '' };
  expect(eventLine({ type: 'message.received', data }, nowMs)).toBe('03:04:05 ← ?  ');
});
