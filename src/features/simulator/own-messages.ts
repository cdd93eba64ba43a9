import { type ChatDatabase, OWN_ADDRESS } from './chat-database.ts';
import type { Behaviour } from './commands.ts';

interface Elsewhere {
  /** An address, or the guid of a chat. */
  readonly to: string;
  readonly text: string;
  readonly dateMs: number;
  readonly ownRows: Behaviour['ownRows'];
}

/**
 * Writes a message that the owner sent from another device, with its chat join. Unless `ownRows` is `marked`, the row
 * is not marked as outgoing yet.
 */
export function writeElsewhere(database: ChatDatabase, { to, text, dateMs, ownRows }: Elsewhere): number {
  const chat = to.includes(';') ? database.findChat(to) : database.directChat(to);
  if (chat === undefined) throw new Error(`there is no chat ${to}`);
  const columns = { is_sent: 1, is_delivered: 1, ...unmarkedColumns(database, chat, ownRows) };
  return database.joinedMessage(chat, { text, dateMs, columns });
}

/** The columns that mark a row as outgoing. */
export const MARKED = { is_from_me: 1, handle_id: 0 } as const;

/** Returns the columns that make an outgoing row look incoming until it is marked; none if `ownRows` is `marked`. */
export function unmarkedColumns(
  database: ChatDatabase,
  chat: number,
  ownRows: Behaviour['ownRows'],
): Readonly<Record<string, number>> {
  if (ownRows === 'marked') return {};
  return { is_from_me: 0, handle_id: ownRows === 'with_handle' ? database.firstHandle(chat) : 0 };
}

/** Reports whether `chat` is the conversation with oneself. */
export function isSelfChat(database: ChatDatabase, chat: number): boolean {
  return chat === database.findChat(database.chatGuid(OWN_ADDRESS, '-'));
}

/**
 * Writes a message to oneself once more as an incoming one with a new guid. Messages does so for sends from this Mac
 * (reported for macOS 26.6.2, openclaw #135704), but not always (claude-plugins #4251).
 */
export function mirrorToSelf(
  database: ChatDatabase,
  { chat, text, dateMs }: { readonly chat: number; readonly text: string | undefined; readonly dateMs: number },
  selfChat: Behaviour['selfChat'],
): void {
  if (text === undefined || selfChat === 'single' || !isSelfChat(database, chat)) return;
  database.joinedMessage(chat, { text, from: OWN_ADDRESS, dateMs });
}
