import { expect, test } from '@jest/globals';
import { eventFilter } from '../../src/core/model/event-filter.ts';
import { arrival } from '../support/memory-log.ts';

const of = (conversationId: string) => {
  const { event, ...others } = arrival(1);
  return {
    ...others,
    event: { ...event, data: { ...event.data, conversation_id: conversationId } },
  } as typeof others & {
    event: typeof event;
  };
};

test.each([
  // Every variant of an id is the same.
  ['any;-;+15550100', 'iMessage;-;+1 (555) 0100', true],
  ['any;-;+15550100', 'any;-;+15550101', false],
  ['any;-;+15550100', '+1 (555) 0100', true],
  ['any;-;ana@example.org', 'Ana@example.org', true],
  ['any;-;+15550100', 'Ana', false],
  ['any;+;chat1', 'any;-;chat1', true],
  ['any;+;chat1', 'chat1', true],
  ['any;+;chat1', 'chat12', false],
  ['any;+;team', 'any;-;team', false],
])('an event of %s matches a filter for %s: %s', (conversation, listed, isMatch) => {
  const isSubscribed = eventFilter({ events: ['message.received'], filter: { conversation_ids: [listed] } });
  expect(isSubscribed(of(conversation))).toBe(isMatch);
});
