import type { Caller } from '../../core/model/caller.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { includeSet } from '../../core/model/include.ts';
import type { Message } from '../../core/model/message.ts';
import { skippedAs } from '../../core/model/narrowing.ts';
import { messageObject } from './objects.ts';

const DETAILS = includeSet(['details']);

/**
 * Returns a message as the body of a webhook: a new one, or one to which Messages added a file or the conversation
 * late. Returns undefined for reactions and other changes, because clients would mistake them for a new message. Also
 * returns undefined for what is not `wanted`, for junk, and for a message with neither text, subject nor file.
 */
export async function blueBubblesEventJson(
  entry: LogEntry,
  caller: Caller,
  wanted: readonly string[],
): Promise<string | undefined> {
  const type = typeOf(entry.event);
  if (type === undefined || !(wanted.includes(type) || wanted.includes('*'))) return undefined;
  if (skippedAs({ junk: false }, entry.marks, caller.key) !== undefined) return undefined;
  const { data } = JSON.parse(await caller.json(entry, DETAILS)) as { readonly data: Message };
  const hasText = data.body !== '' || data.details?.subject !== undefined;
  if (data.conversation_id === '' || !(hasText || (data.details ?? data).attachments.length > 0)) return undefined;
  const isThere = data.details?.attachments.every(({ state }) => state === 'available');
  if (type === 'updated-message' && isThere !== true) return undefined;
  const chat = (await caller.reader.conversation(data.conversation_id)) ?? unlisted(data);
  return JSON.stringify({ type, data: messageObject(data, chat) });
}

function typeOf(event: LogEntry['event']): 'new-message' | 'updated-message' | undefined {
  if (event.type === 'message.received' || event.type === 'message.sent') return 'new-message';
  if (event.type !== 'message.updated') return undefined;
  // Without its conversation, the message was not sent before.
  if (event.changes.includes('conversation')) return 'new-message';
  return event.changes.includes('attachment') && !event.data.is_from_me ? 'updated-message' : undefined;
}

/**
 * Returns what a message reveals about its conversation. Needed if the conversation itself cannot be read: for example,
 * the key may have no right to read it.
 */
export function unlisted({ conversation_id: id, sender, is_from_me: isOwn, timestamp }: Message): Conversation {
  return { id, display_name: null, participants: isOwn ? [] : [sender], last_message_at: timestamp };
}
