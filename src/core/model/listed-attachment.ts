import type { AttachmentDetails } from './details.ts';
import type { Message } from './message.ts';

/** An attachment in the list of its conversation. */
export interface ListedAttachment extends AttachmentDetails {
  readonly message_id: string;
  /** The `{n}` of this attachment in `GET /messages/{id}/attachments/{n}`. */
  readonly n: number;
  readonly sender: string;
  readonly is_from_me: boolean;
  /** When the message was written. */
  readonly timestamp: string;
}

/**
 * Returns the attachments of a message, in the message's order. Returns none for a message that was read without
 * `details`.
 */
export function listedAttachments({
  id,
  sender,
  is_from_me,
  timestamp,
  details,
}: Message): readonly ListedAttachment[] {
  const message = { message_id: id, sender, is_from_me, timestamp };
  return (details?.attachments ?? []).map((attachment, index) => ({
    ...message,
    ...attachment,
    n: attachment.n ?? index,
  }));
}
