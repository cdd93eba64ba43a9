import type { MessageContent } from './content.ts';
import type { Names } from './names.ts';

/**
 * Names of the reactions (decision C8), in the order of Messages' numbers from 2000 on. `sticker` and `other` cover
 * types that the contract's table does not list.
 */
export const REACTION_TYPES = [
  'love',
  'thumbs_up',
  'thumbs_down',
  'haha',
  'exclamation',
  'question',
  'emoji',
  'sticker',
  'other',
] as const;
export type ReactionType = (typeof REACTION_TYPES)[number];

/** The characters with which Messages shows the reactions that are no emoji. */
export const REACTION_SIGNS: Readonly<Partial<Record<ReactionType, string>>> = {
  love: '❤️',
  thumbs_up: '👍',
  thumbs_down: '👎',
  haha: '😂',
  exclamation: '‼️',
  question: '❓',
};

/**
 * Kinds of associated rows besides tapbacks and stickers (decision U5): a message of an app, a vote in a poll, or an
 * option added to a poll.
 */
export const ASSOCIATED_KINDS = ['app', 'poll_vote', 'poll_update'] as const;

/** The `details` of a reaction event with `include=details`. */
export interface ReactionDetails extends MessageContent {
  /** Describes the row in one sentence for people to read (decision V1). */
  readonly sentence: string;
  readonly kind: (typeof ASSOCIATED_KINDS)[number];
}

/** `data` of a reaction event (decision C8). */
export interface Reaction {
  readonly id: string;
  readonly guid: string;
  readonly conversation_id: string;
  readonly sender: string;
  readonly is_from_me: boolean;
  readonly reaction_type: ReactionType;
  /** The character of an emoji reaction (2006/3006), else null. */
  readonly emoji: string | null;
  /** Row id of the message reacted to; "" if that message is not in chat.db. */
  readonly message_id: string;
  /** The guid of the message reacted to, without the `p:N/` or `bp:` prefix. */
  readonly message_guid: string;
  readonly timestamp: string;
  readonly associated_message_type: number;
  /** Number of the message part reacted to, counted from 0; left out for the message as a whole (decision AB2). */
  readonly part?: number | undefined;
  /** True for the balloon of a link or an app. */
  readonly balloon?: true | undefined;
  /** Only in events with details, for a row that is neither a tapback nor a sticker. */
  readonly details?: ReactionDetails | undefined;
  /** Present if `details` were left out because the list had reached 16 MB. */
  readonly details_left_out?: true | undefined;
  /** The names of the people in the reaction. Only in events, and only if the client requested names. */
  readonly names?: Names | undefined;
}
