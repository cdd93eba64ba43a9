import { expect, test } from '@jest/globals';
import type { PosternClient, SentMessage } from '../../src/client/postern-client.ts';
import { waited } from '../../src/features/client-commands/send-wait.ts';

const SENT = { id: '', conversation_id: '', body: 'Dinner?', status: 'pending' } as SentMessage;
const message = (id: string, chat: string, status = 'sent') => ({
  type: 'message.sent',
  data: { ...SENT, id, conversation_id: chat, status },
});

/** A service that has just sent the same text to three recipients. */
const client = {
  async *listen() {
    yield message('1', 'any;-;+15550111', 'failed');
    yield message('2', 'any;-;+15550100');
    yield message('3', 'any;+;chat1');
  },
} as unknown as PosternClient;

test.each([
  ['+1 (555) 0100', '2'],
  ['iMessage;-;+15550100', '2'],
  ['iMessage;+;chat1', '3'],
])('a message without a row yet is known by its recipient as well as its text: %s', async (recipient, id) => {
  const end = await waited(client, SENT, { offset: '0', recipient, wanted: 'sent', seconds: 1 });
  expect(end?.id).toBe(id);
});
