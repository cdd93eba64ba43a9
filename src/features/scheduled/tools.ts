import * as z from 'zod';
import { fenced, OF_OWN } from '../../core/tools/fence.ts';
import { textOutput, tool } from '../../core/tools/tool.ts';
import { indented, shortLine } from '../../core/tools/visible.ts';
import { SCHEDULED } from './port.ts';

export const scheduledList = tool({
  name: 'scheduled_list',
  title: 'List scheduled messages',
  description:
    'Pending scheduled messages of this key, soonest first, and those that the owner scheduled on the phone.',
  scope: 'send',
  input: z.object({}),
  output: textOutput,
  async run(_input, { caller, nonce }) {
    const entries = caller.port(SCHEDULED).list({});
    if (entries.length === 0) return { text: 'No message is scheduled.' };
    const lines = entries.flatMap(({ id, source, state, send_at: at, to, text }) => [
      `[${id}] ${at} to ${shortLine(to)} (${source === 'phone' ? 'on the phone' : state})`,
      `    ${indented(text ?? '')}`,
    ]);
    return { text: fenced(lines.join('\n'), nonce, OF_OWN) };
  },
});

export const scheduledCancel = tool({
  name: 'scheduled_cancel',
  title: 'Cancel a scheduled message',
  description:
    'Cancels a message that this key scheduled with messages_send. Once cancelled, it is never sent. If it is too late, the answer says so.',
  scope: 'send',
  isSend: true,
  input: z.object({ id: z.string().max(100) }),
  output: textOutput,
  async run({ id }, { caller }) {
    caller.port(SCHEDULED).cancel(id);
    return { text: 'Cancelled: it will not be sent.' };
  },
});

export const TOOLS = [scheduledList, scheduledCancel];
