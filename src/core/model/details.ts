import type { AddedToFile, MessageContent } from './content.ts';
import type { MessageStatus } from './message.ts';
import type { Reaction } from './reaction.ts';
import type { ServiceReason } from './send-service.ts';

/**
 * The kinds of messages that report an event, such as a new group name, in the order of the column `item_type` from 1
 * on. They are shown as a line in the middle.
 */
export const EVENT_KINDS = [
  'participant_change',
  'group_rename',
  'group_action',
  'location_share',
  'audio_kept',
  'shareplay',
] as const;

/** The kinds of messages. `other`: a kind that this version does not know. */
export const MESSAGE_KINDS = [
  'message',
  'link',
  'app',
  'poll',
  'handwriting',
  'digital_touch',
  ...EVENT_KINDS,
  'other',
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Reports whether a message of this kind reports an event. */
export function isEventKind(kind: string): boolean {
  return (EVENT_KINDS as readonly string[]).includes(kind);
}

/** The categories into which macOS 27 sorts messages. `other`: a category that this version does not know. */
export const FILTER_ACTIONS = ['allowed', 'junk', 'promotion', 'transaction', 'other'] as const;
export type FilterAction = (typeof FILTER_ACTIONS)[number];

/** How Messages files a conversation. Only those of `known` and `unknown` are in its lists. */
export const CONVERSATION_FILTERS = ['known', 'unknown', 'spam', 'promotion', 'transaction', 'hidden'] as const;
export type ConversationFilter = (typeof CONVERSATION_FILTERS)[number];

/** Reports whether Messages hides a conversation that it files like this. */
export function isHiddenFilter(filter: ConversationFilter | undefined): boolean {
  return filter !== undefined && filter !== 'known' && filter !== 'unknown';
}

export interface MessageFiling {
  readonly action: FilterAction;
  /** `filter_action` as stored. */
  readonly code: number;
  /** `filter_sub_action` as stored; its values are undocumented. */
  readonly sub_code: number | null;
}

export const TRANSFER_STATES = [
  'archiving',
  'waiting',
  'accepted',
  'preparing',
  'transferring',
  'finalizing',
  'finished',
  'failed',
  'recoverable_error',
] as const;
export type TransferState = (typeof TRANSFER_STATES)[number];

/** The states of an attachment's file. */
export const ATTACHMENT_STATES = ['available', 'downloading', 'in_cloud', 'missing'] as const;
export type AttachmentState = (typeof ATTACHMENT_STATES)[number];

export interface AttachmentDetails extends AddedToFile {
  /**
   * The attachment's number in `GET /messages/{id}/attachments/{n}`, if it differs from the index in this list
   * (decision U8).
   */
  readonly n?: number | undefined;
  readonly name: string;
  readonly mime_type: string | null;
  readonly bytes: number | null;
  /** Null for a state that this version does not know. */
  readonly transfer: TransferState | null;
  readonly state: AttachmentState;
  /** True for a folder, such as a package of Pages. Its bytes are a tar of the folder. */
  readonly folder?: true | undefined;
  /** Null if chat.db names no file, for example because the file is only in iCloud. */
  readonly path: string | null;
  /** The text runs of a part refer to the attachment by this guid. */
  readonly guid?: string | undefined;
  /** Apple's transcript of a voice message. */
  readonly transcript?: string | undefined;
  /** `width` and `height` are the size at which Messages displays a picture. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** The message that a reply refers to (decision K5). */
export interface RepliedMessage {
  readonly id: string;
  readonly guid: string;
  readonly sender: string;
  /** At most 200 characters. */
  readonly body: string;
}

/** The beginning of a conversation's newest message. */
export interface LastMessage {
  readonly id: string;
  readonly sender: string;
  readonly is_from_me: boolean;
  /** Earlier versions of a Mac omit it. */
  readonly status?: MessageStatus | undefined;
  /** At most 200 characters. */
  readonly body: string;
  /** The message's `sentence` from its details, for lists that also show messages without text. */
  readonly sentence?: string | undefined;
  /** The change that `sentence` describes, if the newest message is a change of the conversation. */
  readonly group_event?: MessageContent['group_event'];
  readonly location_share?: MessageContent['location_share'];
  readonly timestamp: string;
}

/** The `details` of a Conversation with `include=details` (decision K3). */
export interface ConversationDetails {
  /** Row id of the chat in chat.db, for programs that can identify a conversation only by a number. */
  readonly chat_number: number;
  /** The ids of the other chats that are this one group; absent if there are none (decision AB7). */
  readonly other_ids?: readonly string[] | undefined;
  /** Number of unread incoming messages; absent if the database does not record which messages were read. */
  readonly unread_count?: number | undefined;
  readonly is_group: boolean;
  /** The conversation's service as stored (`iMessage`, `SMS`, `RCS`); null if none is stored. */
  readonly service: string | null;
  /** How Messages files the conversation; absent if the database does not say (decision AB4). */
  readonly filter?: ConversationFilter | undefined;
  /** Null if the conversation has no messages. */
  readonly last_message: LastMessage | null;
}

const BRIEF_CHARACTERS = 200;

/** Returns the first 200 characters of a text. Never splits a character. */
export function brief(text: string): string {
  if (text.length <= BRIEF_CHARACTERS) return text;
  return Array.from(text.slice(0, 2 * BRIEF_CHARACTERS))
    .slice(0, BRIEF_CHARACTERS)
    .join('');
}

/** The origin of an outgoing message: sent by this gateway, or elsewhere (decision I5). */
export type Origin =
  | {
      readonly by: 'gateway';
      readonly request_id?: string | undefined;
      readonly idempotency_key?: string | undefined;
      /** Id of the limited key that sent the message; shown only to the owner. */
      readonly key_id?: string | undefined;
    }
  | { readonly by: 'elsewhere' };

/**
 * The `details` of a Message (decision H). Times are `YYYY-MM-DDTHH:MM:SSZ`; the time of an event that has not happened
 * is null.
 */
export interface MessageDetails extends MessageContent {
  /** The message's service as stored (`iMessage`, `SMS`, `RCS`); null if none is stored. */
  readonly service: string | null;
  readonly kind: MessageKind;
  readonly reply_to_guid: string | null;
  /** One sentence for people; absent if it would repeat the text. */
  readonly sentence?: string | undefined;
  /** Null if the message is not a reply, or if the message it replies to is not in the database. */
  readonly reply_to: RepliedMessage | null;
  readonly edited_at: string | null;
  readonly retracted_at: string | null;
  readonly delivered_at: string | null;
  readonly read_at: string | null;
  /** Messages' error number; null if the message did not fail. */
  readonly error: number | null;
  /** One entry for each of the message's `attachments`, in the same order. */
  readonly attachments: readonly AttachmentDetails[];
  /** Current reactions, oldest first. */
  readonly reactions: readonly Reaction[];
  /** Only for an outgoing message, if known. */
  readonly origin?: Origin | undefined;
  /** The service that Messages wrote into the row; only if the send request chose a service (decision X3). */
  readonly service_used?: string | null | undefined;
  /** Why the service in `service_used` was chosen. */
  readonly service_reason?: ServiceReason | undefined;
  /**
   * On the row of a link's balloon: the row with the text of the same message. Messages stores a text with a link as
   * two rows.
   */
  readonly part_of?: { readonly id: string; readonly guid: string } | undefined;
  /** True for an incoming row that repeats an outgoing message: Messages stores a message to oneself as two rows. */
  readonly mirror?: true | undefined;
  /**
   * True if the row appeared in chat.db more than 30 minutes after its date, counting only time in which the service
   * ran and the Mac was awake, unless the row repeats an earlier one (decisions U4, AB6).
   */
  readonly late?: true | undefined;
  /** For a late message: the earlier row with the same conversation, sender, date and content (decision AB6). */
  readonly twin_of?: { readonly id: string; readonly guid: string } | undefined;
  /** The category in which macOS filed the message; absent if macOS did not file it (decision V5). */
  readonly filter?: MessageFiling | undefined;
}
