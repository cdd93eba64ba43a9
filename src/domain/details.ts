import type { ContactCard, LocationPin, Sticker } from './cards.ts';
import type { MessageContent } from './content.ts';
import type { Reaction } from './reaction.ts';
import type { ServiceReason } from './send-service.ts';

/** What a message is; `other` is what this version does not know. */
export const MESSAGE_KINDS = [
  'message',
  'link',
  'app',
  'poll',
  'handwriting',
  'digital_touch',
  'participant_change',
  'group_rename',
  'group_action',
  'location_share',
  'audio_kept',
  'shareplay',
  'other',
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Where macOS 27 filed a message; `other` is what this version does not know. */
export const FILTER_ACTIONS = ['allowed', 'junk', 'promotion', 'transaction', 'other'] as const;
export type FilterAction = (typeof FILTER_ACTIONS)[number];

export interface MessageFiling {
  readonly action: FilterAction;
  /** `filter_action` as stored. */
  readonly code: number;
  /** `filter_sub_action` as stored; its values are not known. */
  readonly sub_code: number | null;
}

/** How far the transfer of an attachment is. */
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

/** Where the file of an attachment is (decision K4). */
export const ATTACHMENT_STATES = ['available', 'downloading', 'in_cloud', 'missing'] as const;
export type AttachmentState = (typeof ATTACHMENT_STATES)[number];

export interface AttachmentDetails {
  /** Its number in `GET /messages/{id}/attachments/{n}`, where that is not its place in the list (decision U8). */
  readonly n?: number | undefined;
  readonly name: string;
  readonly mime_type: string | null;
  readonly bytes: number | null;
  /** null for a state that this version does not know. */
  readonly transfer: TransferState | null;
  readonly state: AttachmentState;
  readonly path: string;
  /** Names it in the runs of a part. */
  readonly guid?: string | undefined;
  readonly sticker?: Sticker | undefined;
  readonly contact?: ContactCard | undefined;
  readonly location?: LocationPin | undefined;
  /** Words of a voice message (Apple's own). */
  readonly transcript?: string | undefined;
  /** Size of a picture as it is shown. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** The message that a reply is to (decision K5). */
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
  /** At most 200 characters. */
  readonly body: string;
  readonly timestamp: string;
}

/** What `include=details` adds to a Conversation (decision K3). */
export interface ConversationDetails {
  /** Incoming messages that were not read; left out where the database cannot say. */
  readonly unread_count?: number | undefined;
  readonly is_group: boolean;
  /** As stored (`iMessage`, `SMS`, `RCS`), null when the conversation names none. */
  readonly service: string | null;
  /** null when there is none. */
  readonly last_message: LastMessage | null;
}

const BRIEF_CHARACTERS = 200;

/** The beginning of a text; no character is cut in two. */
export function brief(text: string): string {
  if (text.length <= BRIEF_CHARACTERS) return text;
  return Array.from(text.slice(0, 2 * BRIEF_CHARACTERS))
    .slice(0, BRIEF_CHARACTERS)
    .join('');
}

/** Where an own message was sent (decision I5). */
export type Origin =
  | { readonly by: 'gateway'; readonly request_id?: string | undefined; readonly idempotency_key?: string | undefined }
  | { readonly by: 'elsewhere' };

/** What `include=details` adds to a Message (decision H). Instants are `YYYY-MM-DDTHH:MM:SSZ`, null for never. */
export interface MessageDetails extends MessageContent {
  /** As stored (`iMessage`, `SMS`, `RCS`), null when the row names none. */
  readonly service: string | null;
  readonly kind: MessageKind;
  readonly reply_to_guid: string | null;
  /** null for no reply, and when that message is not in the database. */
  readonly reply_to: RepliedMessage | null;
  readonly edited_at: string | null;
  readonly retracted_at: string | null;
  readonly delivered_at: string | null;
  readonly read_at: string | null;
  /** Number that Messages gave a failure, null when there was none. */
  readonly error: number | null;
  /** Those of the Message, in the same order. */
  readonly attachments: readonly AttachmentDetails[];
  /** Those that were not taken back, oldest first. */
  readonly reactions: readonly Reaction[];
  /** Of an own message, where it is known. */
  readonly origin?: Origin | undefined;
  /** The row's service, where the send asked for one (decision X3). */
  readonly service_used?: string | null | undefined;
  /** Why it was sent by that service. */
  readonly service_reason?: ServiceReason | undefined;
  /** Of the link of a message that is two rows: the row with its text. */
  readonly part_of?: { readonly id: string; readonly guid: string } | undefined;
  /** An incoming row that repeats an own message in a conversation with oneself. */
  readonly mirror?: true | undefined;
  /** It came more than 30 minutes after it was written, with this service running and the Mac awake (decision U4). */
  readonly late?: true | undefined;
  /** Where macOS filed it; left out where it did not (decision V5). */
  readonly filter?: MessageFiling | undefined;
}
