import type { Reaction } from './reaction.ts';

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

export interface AttachmentDetails {
  readonly name: string;
  readonly mime_type: string | null;
  readonly bytes: number | null;
  /** null for a state that this version does not know. */
  readonly transfer: TransferState | null;
  readonly path: string;
}

/** What `include=details` adds to a Message (decision H). Instants are `YYYY-MM-DDTHH:MM:SSZ`, null for never. */
export interface MessageDetails {
  /** As stored (`iMessage`, `SMS`, `RCS`), null when the row names none. */
  readonly service: string | null;
  readonly kind: MessageKind;
  readonly reply_to_guid: string | null;
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
}
