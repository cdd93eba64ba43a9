import { type ChatDatabase, OWN_ADDRESS } from './chat-database.ts';

/** What the person writes on another device comes as one complete row. */
export function writeElsewhere(database: ChatDatabase, to: string, text: string, dateMs: number): number {
  return database.joinedMessage(database.directChat(to), { text, dateMs, columns: { is_sent: 1, is_delivered: 1 } });
}

/**
 * In the conversation with oneself Messages writes what was sent from this Mac once more, as an incoming message with a
 * guid of its own (reported of macOS 26.6.2, openclaw #135704).
 */
export function mirrorToSelf(database: ChatDatabase, chat: number, text: string | undefined, dateMs: number): void {
  if (text === undefined || chat !== database.findChat(database.chatGuid(OWN_ADDRESS, '-'))) return;
  database.joinedMessage(chat, { text, from: OWN_ADDRESS, dateMs });
}
