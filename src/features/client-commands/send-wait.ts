import type { Message, PosternClient, SentMessage } from '../../client/postern-client.ts';
import { chatIdentifier, normalAddress } from '../../core/model/address.ts';
import type { MessageStatus } from '../../core/model/message.ts';
import type { WaitState } from './commands.ts';

const ORDER: readonly MessageStatus[] = ['pending', 'sent', 'delivered', 'read'];

interface WaitOptions {
  readonly offset: string;
  /** The address or conversation id that the message was sent to. */
  readonly recipient: string;
  readonly wanted: WaitState;
  readonly seconds: number;
}

/**
 * Waits until the message reaches `wanted` or fails, or until `seconds` have passed. Follows events and changes after
 * `offset`. Resolves with the message in its last state; undefined if the message never got a row in chat.db.
 */
export async function waited(
  client: PosternClient,
  sent: SentMessage,
  { offset, recipient, wanted, seconds }: WaitOptions,
): Promise<Message | undefined> {
  if (isOver(sent, wanted)) return sent;
  let id = sent.id;
  const signal = AbortSignal.timeout(seconds * 1000);
  for await (const { type, data } of client.listen({ after: offset, changes: true, signal })) {
    if (type !== 'message.sent' && type !== 'message.updated') continue;
    // An empty id means that the message had no row in chat.db yet when the service answered. The text and the
    // recipient then identify the message's event.
    const isLike = data.body === sent.body && partyOf(data.conversation_id) === partyOf(recipient);
    if (id === '' && type === 'message.sent' && isLike) id = data.id;
    if (data.id === id && isOver(data, wanted)) return data;
  }
  return id === '' ? undefined : client.message(id);
}

export function isReached({ status }: Message, wanted: WaitState): boolean {
  return ORDER.indexOf(status) >= ORDER.indexOf(wanted);
}

/**
 * Returns what an address and the ids of its conversations have in common, whichever service and spelling they have.
 */
function partyOf(id: string): string {
  return normalAddress(chatIdentifier(id));
}

function isOver(message: Message, wanted: WaitState): boolean {
  return message.status === 'failed' || isReached(message, wanted);
}
