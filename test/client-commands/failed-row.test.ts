import { expect, test } from '@jest/globals';
import type { Served } from '../../src/core/cli/service-connection.ts';
import type { ToolContext } from '../../src/core/tools/tool.ts';
import { send } from '../../src/features/client-commands/send-command.ts';
import { messagesSend } from '../../src/features/mcp/tools/messages-send.ts';

const FAILED = { id: '7', conversation_id: 'any;-;+15550100', body: 'hi', attachments: [], status: 'failed' };

test('`postern send` fails if Messages has marked the message as failed', async () => {
  const [printed, errors]: [string[], string[]] = [[], []];
  const service = {
    client: { send: async () => FAILED },
    progress: () => {},
    paintError: (_colour: string, text: string) => text,
    answer: (_value: unknown, ...lines: readonly string[]) => void printed.push(...lines),
    stderr: (...lines: readonly string[]) => void errors.push(...lines),
  } as unknown as Served;
  expect(await send('+15550100', 'hi', {}, service)).toBe(1);
  expect(printed).toEqual([]);
  expect(errors).toEqual(['Message 7 to +15550100 failed: Messages could not deliver it.']);
});

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
