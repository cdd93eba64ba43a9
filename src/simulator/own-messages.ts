import { type ChatDatabase, OWN_ADDRESS } from './chat-database.ts';
import type { Behaviour } from './commands.ts';

interface Elsewhere {
  /** An address, or the guid of a chat. */
  readonly to: string;
  readonly text: string;
  readonly dateMs: number;
  readonly ownRows: Behaviour['ownRows'];
}

/** What the person writes on another device comes as one row, complete but for its mark. */
export function writeElsewhere(database: ChatDatabase, { to, text, dateMs, ownRows }: Elsewhere): number {
  const chat = to.includes(';') ? database.findChat(to) : database.directChat(to);
  if (chat === undefined) throw new Error(`there is no chat ${to}`);
  const columns = { is_sent: 1, is_delivered: 1, ...unmarkedColumns(database, chat, ownRows) };
  return database.joinedMessage(chat, { text, dateMs, columns });
}

/** What marks a row as an own one. */
export const MARKED = { is_from_me: 1, handle_id: 0 } as const;

/** The columns of an own row that is not marked as one yet. */
export function unmarkedColumns(
  database: ChatDatabase,
  chat: number,
  ownRows: Behaviour['ownRows'],
): Readonly<Record<string, number>> {
  if (ownRows === 'marked') return {};
  return { is_from_me: 0, handle_id: ownRows === 'with_handle' ? database.firstHandle(chat) : 0 };
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
