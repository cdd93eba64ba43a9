import type { Conversation, Message, Reaction } from '../../client/postern-client.ts';
import { chatIdentifier } from '../../core/model/address.ts';
import type { ReactionType } from '../../core/model/reaction.ts';
import type { ImsgChat } from './imsg-chats.ts';

/**
 * An attachment in imsg's form. Both paths are the same: OpenClaw reads `original_path`, and imsg's documents describe
 * `path`.
 */
export interface ImsgAttachment {
  readonly original_path: string | null;
  readonly path: string | null;
  readonly filename: string;
  readonly transfer_name: string;
  readonly mime_type: string | null;
  readonly uti: string | null;
  readonly byte_size: number | null;
  readonly is_sticker: boolean;
  readonly missing: boolean;
}

/** imsg's names of the tapbacks. Key: Postern's name. */
const REACTIONS: Readonly<Partial<Record<ReactionType, string>>> = {
  love: 'love',
  thumbs_up: 'like',
  thumbs_down: 'dislike',
  haha: 'laugh',
  exclamation: 'emphasis',
  question: 'question',
};

/**
 * Returns a message in imsg's form. Every field must have the right type, because one wrong field makes a client drop
 * the whole message.
 */
export function imsgMessage(message: Message, chat: ImsgChat, attachments: readonly ImsgAttachment[]) {
  const { details } = message;
  return {
    ...chatMembersOf(message, chat),
    text: message.body,
    reply_to_guid: details?.reply_to_guid ?? null,
    thread_originator_guid: details?.reply_to_guid ?? null,
    // imsg leaves these out where it does not know the quoted message.
    ...(details?.reply_to && { reply_to_text: details.reply_to.body, reply_to_sender: details.reply_to.sender }),
    // The owner's address if the message is outgoing. Clients use it to recognise the owner's conversation with
    // themselves.
    destination_caller_id: message.is_from_me ? message.sender : null,
    service: details?.service ?? null,
    attachments,
    ...(message.is_from_me ? {} : { is_read: message.status === 'read' }),
  };
}

/** Returns a tapback in imsg's form. */
export function imsgReaction(reaction: Reaction, chat: ImsgChat, isAdded: boolean) {
  return {
    ...chatMembersOf(reaction, chat),
    text: '',
    attachments: [],
    is_reaction: true,
    is_tapback: true,
    reaction_type: REACTIONS[reaction.reaction_type] ?? reaction.reaction_type,
    reaction_emoji: reaction.emoji,
    is_reaction_add: isAdded,
    reacted_to_guid: reaction.message_guid,
    // imsg has no such member; clients ignore it.
    ...(reaction.part !== undefined && { reacted_to_part: reaction.part }),
  };
}

/** Returns a conversation in imsg's form. */
export function imsgChat({ number, conversation }: ImsgChat) {
  const { id, display_name: name, participants, last_message_at: lastMessageAt, details } = conversation;
  const identifier = chatIdentifier(id);
  return {
    id: number,
    name: name ?? identifier,
    display_name: name ?? '',
    identifier,
    guid: id,
    service: details?.service ?? 'iMessage',
    last_message_at: lastMessageAt,
    is_group: isGroup(conversation),
    participants,
    ...(details?.unread_count !== undefined && { unread_count: details.unread_count }),
  };
}

function chatMembersOf(row: Message | Reaction, { number, conversation }: ImsgChat) {
  return {
    id: Number(row.id),
    guid: row.guid,
    chat_id: number,
    chat_guid: conversation.id,
    chat_identifier: chatIdentifier(conversation.id),
    chat_name: conversation.display_name ?? '',
    participants: conversation.participants,
    is_group: isGroup(conversation),
    sender: row.is_from_me ? '' : row.sender,
    is_from_me: row.is_from_me,
    created_at: row.timestamp,
  };
}

function isGroup({ id, details }: Conversation): boolean {
  return details?.is_group ?? id.includes(';+;');
}
