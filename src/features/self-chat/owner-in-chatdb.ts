import {
  type Connection,
  currentReactions,
  DETAIL_COLUMNS,
  messageOf,
  type Snapshot,
  toText,
} from '../../core/chatdb/public.ts';
import type { Message } from '../../core/model/message.ts';
import type { ReactionType } from '../../core/model/reaction.ts';

/** A message, and the owner's current tapback on the message; undefined if there is none. */
export interface TapbackOn {
  readonly message: Message;
  readonly tapback:
    | { readonly type: ReactionType; readonly conversationId: string; readonly isIMessage: boolean }
    | undefined;
}

/**
 * The owner's messages and tapbacks in chat.db. Every method throws `chat_db_unavailable` while chat.db is unreadable.
 */
export interface OwnerInChatDb {
  /**
   * Returns the owner's addresses: those that recent messages were sent from or arrived at, and the address that the
   * owner last used in each chat.
   */
  addresses(): readonly string[];
  /** Returns the message with this guid and the owner's tapback on it; undefined if there is no such message. */
  tapbackOn(guid: string): TapbackOn | undefined;
}

/** Finds the owner's addresses and tapbacks in chat.db. */
export function chatDbOwner(connection: Connection): OwnerInChatDb {
  return {
    addresses: () => connection.read(({ ownAddresses }) => [...ownAddresses]),
    tapbackOn: (guid) =>
      connection.read((snapshot) => {
        const rowId = snapshot.rowIdOf(guid);
        const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
        return message && { message, tapback: ownTapback(snapshot, message) };
      }),
  };
}

/** Returns the owner's latest tapback on a message; undefined if there is none, or no index finds reactions. */
function ownTapback(snapshot: Snapshot, message: Message): TapbackOn['tapback'] {
  const tapback = currentReactions(snapshot, message).findLast(
    ({ is_from_me: isOwn, associated_message_type: code }) => isOwn && code >= 2000 && code < 3000,
  );
  if (tapback === undefined) return undefined;
  const details = snapshot.database.get(snapshot.queries.details, Number(tapback.id));
  const isIMessage = toText(details?.[DETAIL_COLUMNS.at.service]) === 'iMessage';
  return { type: tapback.reaction_type, conversationId: tapback.conversation_id, isIMessage };
}
