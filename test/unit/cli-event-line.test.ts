import { expect, test } from '@jest/globals';
import { eventLine } from '../../src/cli/output/event-line.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Reaction } from '../../src/domain/reaction.ts';

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

test('a row that belongs to no conversation and no sender is still a line', () => {
  const data = { ...message, conversation_id: '', sender: '', body: '' };
  expect(eventLine({ type: 'message.received', data }, nowMs)).toBe('03:04:05 ← ?  ');
});
