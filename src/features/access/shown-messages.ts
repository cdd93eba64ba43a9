import type { addedRules } from '../../core/details-part.ts';
import type { MessageContent } from '../../core/model/content.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import type { LastMessage, MessageDetails, RepliedMessage } from '../../core/model/details.ts';
import type { Message } from '../../core/model/message.ts';
import type { Reaction, ReactionDetails } from '../../core/model/reaction.ts';
import { type KeyRules, narrowed, wholeDictionary } from './narrowing.ts';

// The members that a limited key sees of messages, reactions and conversations. A member that is missing here does not
// compile.

const RUN = {
  start: 'shown',
  end: 'shown',
  styles: 'shown',
  animation: 'shown',
  mention: 'shown',
  link: 'shown',
  code: 'shown',
  attachment_guid: 'shown',
  name: 'shown',
  width: 'shown',
  height: 'shown',
  inline: 'shown',
  transcript: 'shown',
} as const;

const GROUP_EVENT: KeyRules<NonNullable<MessageContent['group_event']>> = {
  type: 'shown',
  who: 'shown',
  name: 'shown',
  item_type: 'shown',
  group_action_type: 'shown',
};

const LOCATION_SHARE = { action: 'shown', by_me: 'shown' } as const;

/** Returns the rules that the features add for their members of `details`. */
export type AddedRules = ReturnType<typeof addedRules>;

/**
 * Selects what a limited key sees of a row's content. All of it comes from the row itself, which the key may read.
 */
const shownContent = (added: AddedRules): KeyRules<MessageContent> => ({
  parts: { part: 'shown', text: 'shown', runs: { ...RUN, ...added.run }, unsent: 'shown' },
  mentions: 'shown',
  edits: { part: 'shown', history: { at: 'shown', text: 'shown', runs: { ...RUN, ...added.run } } },
  unsent_parts: 'shown',
  translations: { part: 'shown', text: 'shown', language: 'shown', source_language: 'shown' },
  transcript: 'shown',
  ...added.row,
  effect: { name: 'shown', on: 'shown', id: 'shown' },
  group_event: GROUP_EVENT,
  location_share: LOCATION_SHARE,
  reply_to_part: 'shown',
  reply_to_range: 'shown',
  subject: 'shown',
  scheduled: { for: 'shown', state: 'shown' },
  undecoded: 'shown',
  content_left_out: 'shown',
});

/**
 * The rules of a message or a reaction. All receivers of an event share its text, so every member is shown but the
 * parts that a client includes, which events narrow.
 */
export type RowRules<Row> = KeyRules<Row> & { readonly [Name in Exclude<keyof Row, 'details' | 'names'>]: 'shown' };

/** The part of messages and reactions that a limited key sees, with the members that features add to their details. */
export interface ShownRows {
  readonly message: RowRules<Message>;
  readonly messageDetails: KeyRules<MessageDetails>;
  readonly reactionDetails: KeyRules<ReactionDetails>;
}

export function shownRows(added: AddedRules): ShownRows {
  const content = shownContent(added);
  const reactionDetails: KeyRules<ReactionDetails> = { ...content, sentence: 'shown', kind: 'shown' };
  const reaction = reactionWith(reactionDetails);
  const messageDetails: KeyRules<MessageDetails> = {
    ...content,
    service: 'shown',
    kind: 'shown',
    reply_to_guid: 'shown',
    sentence: 'shown',
    reply_to: (quoted, chats) => (chats.hasMessage(quoted.id) ? narrowed(quoted, REPLIED, chats) : null),
    edited_at: 'shown',
    retracted_at: 'shown',
    delivered_at: 'shown',
    read_at: 'shown',
    error: 'shown',
    attachments: { ...ATTACHMENT, ...added.file },
    reactions: (all, chats) => chats.rows(all, (one) => one).map((one) => narrowed(one, reaction, chats)),
    // Only the owner sees which key sent a message.
    origin: { by: 'shown', request_id: 'shown', idempotency_key: 'shown', key_id: 'hidden' },
    service_used: 'shown',
    service_reason: 'shown',
    part_of: (text, chats) => (chats.hasMessage(text.id) ? narrowed(text, NAMED, chats) : undefined),
    mirror: 'shown',
    late: 'shown',
    twin_of: (twin, chats) => (chats.hasMessage(twin.id) ? narrowed(twin, NAMED, chats) : undefined),
    filter: { action: 'shown', code: 'shown', sub_code: 'shown' },
  };
  return { message: messageWith(messageDetails), messageDetails, reactionDetails };
}

const NAMED = { id: 'shown', guid: 'shown' } as const;
const REPLIED: KeyRules<RepliedMessage> = { ...NAMED, sender: 'shown', body: 'shown' };

const ATTACHMENT = {
  n: 'shown',
  name: 'shown',
  mime_type: 'shown',
  folder: 'shown',
  bytes: 'shown',
  transfer: 'shown',
  state: 'shown',
  path: 'shown',
  guid: 'shown',
  transcript: 'shown',
  width: 'shown',
  height: 'shown',
} as const;

const reactionWith = (details: KeyRules<ReactionDetails>): RowRules<Reaction> => ({
  id: 'shown',
  guid: 'shown',
  conversation_id: 'shown',
  sender: 'shown',
  is_from_me: 'shown',
  reaction_type: 'shown',
  emoji: 'shown',
  message_id: 'shown',
  message_guid: 'shown',
  timestamp: 'shown',
  associated_message_type: 'shown',
  part: 'shown',
  balloon: 'shown',
  details_left_out: 'shown',
  details,
  // Names come from the key's own lookup.
  names: wholeDictionary,
});

const messageWith = (details: KeyRules<MessageDetails>): RowRules<Message> => ({
  id: 'shown',
  guid: 'shown',
  conversation_id: 'shown',
  sender: 'shown',
  body: 'shown',
  attachments: 'shown',
  timestamp: 'shown',
  is_from_me: 'shown',
  status: 'shown',
  details_left_out: 'shown',
  details,
  names: wholeDictionary,
});

const LAST_MESSAGE: KeyRules<LastMessage> = {
  id: 'shown',
  sender: 'shown',
  is_from_me: 'shown',
  status: 'shown',
  body: 'shown',
  sentence: 'shown',
  group_event: GROUP_EVENT,
  location_share: LOCATION_SHARE,
  timestamp: 'shown',
};

export const CONVERSATION: KeyRules<Conversation> = {
  id: 'shown',
  display_name: 'shown',
  participants: 'shown',
  last_message_at: 'shown',
  details: {
    chat_number: 'shown',
    other_ids: 'shown',
    unread_count: 'shown',
    is_group: 'shown',
    service: 'shown',
    filter: 'shown',
    last_message: (last, chats) => (chats.hasMessage(last.id) ? narrowed(last, LAST_MESSAGE, chats) : null),
  },
  names: wholeDictionary,
};
