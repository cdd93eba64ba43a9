import type { ConversationDetails } from './details.ts';
import type { Names } from './names.ts';

/** A conversation, with the members of the API's contract in the contract's order. */
export interface Conversation {
  /** Chat guid exactly as stored. */
  readonly id: string;
  /** null for one-to-one conversations and unnamed groups (decision B12). */
  readonly display_name: string | null;
  readonly participants: readonly string[];
  /** `YYYY-MM-DDTHH:MM:SSZ`; `2001-01-01T00:00:00Z` for a conversation without messages (decision B12). */
  readonly last_message_at: string;
  /** Only with `include=details` (decision K3). */
  readonly details?: ConversationDetails | undefined;
  /** Only with `include=contacts`. */
  readonly names?: Names | undefined;
}
