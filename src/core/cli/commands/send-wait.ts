import type { Message, PosternClient, SentMessage } from '../../../client/postern-client.ts';
import type { MessageStatus } from '../../model/message.ts';

/** The states that `send --wait` can wait for, in the order in which they occur. */
export const WAIT_STATES = ['sent', 'delivered', 'read'] as const;
export type WaitState = (typeof WAIT_STATES)[number];

const ORDER: readonly MessageStatus[] = ['pending', 'sent', 'delivered', 'read'];

/**
 * Waits until the message reaches `wanted` or fails, or until `seconds` have passed. Follows events and changes after
 * `offset`. Resolves with the message in its last state; undefined if the message never got a row in chat.db.
 */
export async function waited(
  client: PosternClient,
  sent: SentMessage,
  { offset, wanted, seconds }: { readonly offset: string; readonly wanted: WaitState; readonly seconds: number },
): Promise<Message | undefined> {
  if (isOver(sent, wanted)) return sent;
  let id = sent.id;
  const signal = AbortSignal.timeout(seconds * 1000);
  for await (const { type, data } of client.listen({ after: offset, changes: true, signal })) {
    if (type !== 'message.sent' && type !== 'message.updated') continue;
    // An empty id means that the message had no row in chat.db yet when the service answered. The text then identifies
    // the message's event.
    if (id === '' && type === 'message.sent' && data.body === sent.body) id = data.id;
    if (data.id === id && isOver(data, wanted)) return data;
  }
  return id === '' ? undefined : client.message(id);
}

export function isReached({ status }: Message, wanted: WaitState): boolean {
  return ORDER.indexOf(status) >= ORDER.indexOf(wanted);
}

function isOver(message: Message, wanted: WaitState): boolean {
  return message.status === 'failed' || isReached(message, wanted);
}
