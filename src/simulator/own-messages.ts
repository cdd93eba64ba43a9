import { type ChatDatabase, OWN_ADDRESS } from './chat-database.ts';
import type { Behaviour } from './commands.ts';

/** What the person writes on another device comes as one complete row. */
export function writeElsewhere(database: ChatDatabase, to: string, text: string, dateMs: number): number {
  const chat = to.includes(';') ? database.findChat(to) : database.directChat(to);
  if (chat === undefined) throw new Error(`there is no chat ${to}`);
  return database.joinedMessage(chat, { text, dateMs, columns: { is_sent: 1, is_delivered: 1 } });
}

/** Whether it is the conversation with oneself. */
export function isSelfChat(database: ChatDatabase, chat: number): boolean {
  return chat === database.findChat(database.chatGuid(OWN_ADDRESS, '-'));
}

/**
 * In the conversation with oneself Messages writes what was sent from this Mac once more, as an incoming message with a
 * guid of its own (reported of macOS 26.6.2, openclaw #135704), and at other times does not (claude-plugins #4251).
 */
export function mirrorToSelf(
  database: ChatDatabase,
  { chat, text, dateMs }: { readonly chat: number; readonly text: string | undefined; readonly dateMs: number },
  selfChat: Behaviour['selfChat'],
): void {
  if (text === undefined || selfChat === 'single' || !isSelfChat(database, chat)) return;
  database.joinedMessage(chat, { text, from: OWN_ADDRESS, dateMs });
}
