import * as z from 'zod';
import { rendered, sendBody } from '../../../core/http/messages/schema.ts';
import { isAllowed } from '../../../core/model/caller.ts';
import { AppError, errorCode } from '../../../core/model/errors.ts';
import type { SendAnswer } from '../../../core/model/ports/sending-ports.ts';
import { SERVICE_CHOICES } from '../../../core/model/send-service.ts';
import { countedSend } from '../../../core/runtime/send-counter.ts';
import { readBody } from '../../../core/schema/mistakes.ts';
import { type ToolContext, tool } from '../../../core/tools/tool.ts';
import { shortLine } from '../../../core/tools/visible.ts';
import { contactLine } from './contacts-resolve.ts';

/** Maximum number of people that an error lists. */
const MAX_PEOPLE = 20;

export const messagesSend = tool({
  name: 'messages_send',
  title: 'Send a message',
  description:
    'Sends text to an address (+15550100, name@example.com) or a conversation id. If the owner must approve it, it is held and nothing is sent yet: do not send it again.',
  scope: 'send',
  isSend: true,
  input: z.object({
    to: z.string().max(512),
    text: z.string(),
    format: z.enum(['plain', 'markdown']).optional().describe('markdown is rendered to plain text'),
    service: z.enum(SERVICE_CHOICES).optional(),
    send_at: z.string().optional().describe('send later: a time with its zone'),
    idempotency_key: z
      .string()
      .regex(/^[\x20-\x7e]{1,255}$/)
      .optional()
      .describe('a repeat with the same value within 24 hours is not sent again'),
    dry_run: z.boolean().default(false).describe('only say what would happen'),
  }),
  output: z.looseObject({
    text: z.string(),
    state: z.string(),
    approval_id: z.string().optional(),
    message_id: z.string().optional(),
  }),
  async run({ to, text, idempotency_key: key, dry_run: dryRun, ...options }, context) {
    const { caller, counters, requestId } = context;
    const request = {
      ...(await rendered(readBody(sendBody, { recipient: to, body: text, ...options }))),
      attachments: [],
      requestId,
      ...(key !== undefined && { idempotencyKey: { kind: 'client', key } as const }),
      ...(dryRun && { dryRun }),
    };
    try {
      return answerOf(await countedSend(caller.sender.send(request), counters));
    } catch (error) {
      throw errorCode(error) === 'recipient_is_name' ? await nameMistake(to, context) : error;
    }
  },
});

/** Returns the error for a recipient that is a name. Names the addresses that the key may read (decision AB9). */
async function nameMistake(name: string, { caller }: ToolContext): Promise<AppError> {
  const people = isAllowed(caller, ['read']) ? (await caller.naming.named(name)).slice(0, MAX_PEOPLE) : [];
  const [person] = people;
  const addresses = person?.addresses.map((address) => shortLine(address)) ?? [];
  const says = `“${shortLine(name, 60)}” is a name`;
  const status = 400;
  if (person === undefined) {
    const hint = 'Use a number with its country code, an e-mail address or an id from conversations_list.';
    return new AppError('recipient_is_name', `${says}, and nobody with this name is known. Nothing was sent.`, {
      status,
      hint,
    });
  }
  const sentence =
    people.length === 1 && addresses.length === 1
      ? `${says}: use ${addresses.join('')}.`
      : `${says}. Ask which address is meant: ${people.map(contactLine).join('; ')}.`;
  return new AppError('recipient_is_name', `${sentence} Nothing was sent.`, { status });
}

function answerOf(answer: SendAnswer) {
  if (answer.kind === 'dry_run') {
    const { would, to, members } = answer.dryRun;
    const what = would === 'send' ? 'sent at once' : 'held until the owner decides';
    const readers = members.length === 0 ? 'not known' : members.map((member) => shortLine(member)).join(', ');
    return {
      text: `Nothing was sent. The message to ${shortLine(to)} would be ${what}. Its readers: ${readers}.`,
      state: 'dry_run',
    };
  }
  if (answer.kind === 'deferred') return answer.deferred.told;
  const { confirmed, message, replayed } = answer;
  if (!confirmed) return { text: 'Handed to Messages. It is not known yet whether it went out.', state: 'pending' };
  if (message.status === 'failed') {
    const again = replayed ? ' It was not sent again.' : '';
    return {
      text: `Messages could not deliver message [${message.id}].${again}`,
      state: 'failed',
      message_id: message.id,
    };
  }
  const earlier = replayed ? ' An earlier call had sent it; it was not sent again.' : '';
  return { text: `Sent as message [${message.id}].${earlier}`, state: 'sent', message_id: message.id };
}
