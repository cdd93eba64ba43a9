import type { SqlValue } from '../runtime/sqlite.ts';
import type { ChatDatabase } from './chat-database.ts';
import { CONTENT_ROWS, type SimulatedContent, VOTE_PAYLOAD } from './content-rows.ts';

/** Row id of each row that was written, by the name of its content. */
export type WrittenContents = Readonly<Record<string, number>>;

/**
 * Writes one message of each kind of content, in a conversation with a person, a second apart; another person votes in
 * the poll.
 */
export function writeContents(database: ChatDatabase, from: string, nowMs: number): WrittenContents {
  const chat = database.directChat(from);
  const rows: Record<string, number> = {};
  for (const [place, content] of CONTENT_ROWS.entries()) {
    const dateMs = nowMs + place * 1000;
    const isEvent = content.columns.item_type !== undefined;
    const columns = {
      text: null,
      attributedBody: null,
      ...columnsOf(content),
      ...(isEvent && participants(database, from)),
    };
    const row = database.joinedMessage(chat, { text: '', from, dateMs, columns });
    if (content.attachment !== undefined) {
      const attachment = database.attach(row, { filename: `~/Library/Messages/Attachments/${row}`, name: `${row}` });
      database.update('attachment', attachment, columnsOf(content.attachment));
    }
    rows[content.name] = row;
    if (content.columns.balloon_bundle_id?.toString().endsWith('.Polls') === true)
      vote(database, chat, row, dateMs + 500);
  }
  return rows;
}

/** The person who was added or removed. */
function participants(database: ChatDatabase, from: string): Readonly<Record<string, SqlValue>> {
  return { handle_id: database.handle(from), other_handle: database.handle('+15550101') };
}

function vote(database: ChatDatabase, chat: number, poll: number, dateMs: number): void {
  const columns = {
    associated_message_type: 4000,
    associated_message_guid: database.guid(poll),
    balloon_bundle_id: 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.messages.Polls',
    payload_data: Buffer.from(VOTE_PAYLOAD, 'base64'),
    text: null,
    attributedBody: null,
  };
  database.joinedMessage(chat, { text: '', from: '+15550101', dateMs, columns });
}

function columnsOf({
  columns,
  blobs,
}: Pick<SimulatedContent, 'columns' | 'blobs'>): Readonly<Record<string, SqlValue>> {
  const decoded = Object.entries(blobs).map(([name, base64]) => [name, Buffer.from(base64, 'base64')] as const);
  return { ...columns, ...Object.fromEntries(decoded) };
}
