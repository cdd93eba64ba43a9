import type { MessageDetails } from './details.ts';
import type { Names } from './names.ts';

/** Delivery statuses (decision B7). Incoming messages are `delivered` or `read`. */
export const MESSAGE_STATUSES = ['pending', 'sent', 'delivered', 'read', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** A message, in exactly the contract's shape and field order. Serialised unchanged. */
export interface Message {
  /** Row id in chat.db as a string; "" in the answer to a send whose row was not found yet (decision D6). */
  readonly id: string;
  readonly guid: string;
  /** Chat guid exactly as stored; "" when the row belongs to no chat (decision B4). */
  readonly conversation_id: string;
  readonly sender: string;
  readonly body: string;
  /** Absolute paths on this machine, in stored order (decision B5). */
  readonly attachments: readonly string[];
  /** `YYYY-MM-DDTHH:MM:SSZ`, truncated to the second (decision B6). */
  readonly timestamp: string;
  readonly is_from_me: boolean;
  readonly status: MessageStatus;
  /** Present only if the client asked to include `details` (decision H). */
  readonly details?: MessageDetails | undefined;
  /** Present if `details` were left out because the list had reached 16 MB. Reading the message alone returns them. */
  readonly details_left_out?: true | undefined;
  /** Present only if the client asked to include `contacts`. */
  readonly names?: Names | undefined;
}
