import { expect, test } from '@jest/globals';
import type { ToolContext } from '../../src/core/tools/tool.ts';
import { messagesSend } from '../../src/features/mcp/tools/messages-send.ts';

const FAILED = { id: '7', conversation_id: 'any;-;+15550100', body: 'hi', attachments: [], status: 'failed' };

test('messages_send does not call a message sent that Messages has marked as failed', async () => {
  const context = {
    caller: { sender: { send: async () => ({ kind: 'sent', confirmed: true, message: FAILED, replayed: true }) } },
    counters: { sends: { inc: () => {} } },
  } as unknown as ToolContext;
  const answer = await messagesSend.run({ to: '+15550100', text: 'hi', dry_run: false }, context);
  expect(answer).toEqual({
    text: 'Messages could not deliver message [7]. It was not sent again.',
    state: 'failed',
    message_id: '7',
  });
});
