import type { Caller } from '../../core/model/caller.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { includeSet } from '../../core/model/include.ts';
import type { Message } from '../../core/model/message.ts';
import { skippedAs } from '../../core/model/narrowing.ts';
import { messageObject } from './objects.ts';

const DETAILS = includeSet(['details']);

/**
 * Returns a new message as the body of a webhook. Returns undefined for a reaction or a change, because clients would
 * mistake either for a new message. Also returns undefined for junk, and for a message with neither text nor file.
 */
export async function blueBubblesEventJson(entry: LogEntry, caller: Caller): Promise<string | undefined> {
  const { type } = entry.event;
  if (type !== 'message.received' && type !== 'message.sent') return undefined;
  if (skippedAs({ junk: false }, entry.marks, caller.key) !== undefined) return undefined;
  const { data } = JSON.parse(await caller.json(entry, DETAILS)) as { readonly data: Message };
  if (data.conversation_id === '' || (data.body === '' && (data.details ?? data).attachments.length === 0)) {
    return undefined;
  }
  const chat = (await caller.reader.conversation(data.conversation_id)) ?? unlisted(data);
  return JSON.stringify({ type: 'new-message', data: messageObject(data, chat) });
}

/**
 * Returns what a message reveals about its conversation. Needed if the conversation itself cannot be read: for example,
 * the key may have no right to read it.
 */
export function unlisted({ conversation_id: id, sender, is_from_me: isOwn, timestamp }: Message): Conversation {
  return { id, display_name: null, participants: isOwn ? [] : [sender], last_message_at: timestamp };
}
