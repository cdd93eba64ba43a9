import type { SqlValue } from '../../core/runtime/sqlite.ts';
import { encodeBinaryPlist } from './binary-plist.ts';
import { appleDate, type ChatDatabase } from './chat-database.ts';
import type { Command } from './commands.ts';
import { CONTENT_ROWS, type SimulatedContent, VOTE_PAYLOAD } from './content-rows.ts';
import { isSince26 } from './macos-versions.ts';
import { encodeAttributedBody } from './typedstream.ts';

const APP = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000';
const LINK_BALLOON = 'com.apple.messages.URLBalloonProvider';
export const POLLS = `${APP}:com.apple.messages.Polls`;
/** The text of a balloon is one placeholder. */
const BALLOON_TEXT = '\uFFFC';

/** Commands that change rows, or write rows of apps, polls, links, groups and scheduled messages. */
export type RowCommand = Extract<
  Command,
  {
    do:
      | 'react'
      | 'edit'
      | 'unsend'
      | 'app'
      | 'contents'
      | 'poll'
      | 'add_option'
      | 'vote'
      | 'link'
      | 'write_to_self'
      | 'schedule'
      | 'group'
      | 'also_in'
      | 'group_picture'
      | 'rename_group'
      | 'change_address';
  }
>;

/** Performs a command: writes to chat.db as the real Messages was seen to write. */
export function changeRow(database: ChatDatabase, command: RowCommand, nowMs: number): unknown {
  switch (command.do) {
    case 'react': {
      const { from, to, type, emoji, on } = command;
      const message = {
        dateMs: nowMs,
        type,
        ...(from !== undefined && { from }),
        ...(emoji !== undefined && { emoji }),
        ...(on !== undefined && { on }),
      };
      return { row: database.reaction(chatOf(database, to), to, message) };
    }
    case 'edit':
      database.update('message', command.row, {
        ...(command.leavesText !== true && { text: isSince26(database.version) ? null : command.text }),
        attributedBody: encodeAttributedBody(command.text),
        date_edited: appleDate(nowMs),
      });
      return {};
    case 'unsend':
      unsend(database, command, nowMs);
      return {};
    case 'app': {
      const { from, text, type, session } = command;
      const columns = {
        associated_message_type: type,
        associated_message_guid: session === undefined ? null : database.guid(session),
        balloon_bundle_id: `${APP}:com.example.games.ext`,
      };
      return { row: database.joinedMessage(database.directChat(from), { text, from, dateMs: nowMs, columns }) };
    }
    case 'contents':
      return writeContents(database, command.from, nowMs);
    case 'poll': {
      const message = { text: BALLOON_TEXT, from: command.from, dateMs: nowMs, columns: { balloon_bundle_id: POLLS } };
      return { row: database.joinedMessage(database.directChat(command.from), message) };
    }
    case 'add_option':
      return { row: ofPoll(database, command.poll, { type: 2, from: command.from }, nowMs) };
    case 'vote':
      return { row: ofPoll(database, command.poll, { type: 4000, from: command.from }, nowMs) };
    case 'link': {
      const chat = database.directChat(command.from);
      const row = database.joinedMessage(chat, { text: command.text, from: command.from, dateMs: nowMs });
      return { row, balloon: linkBalloon(database, { chat, row, from: command.from, url: command.url }, nowMs) };
    }
    case 'schedule': {
      const row = database.joinedMessage(database.directChat(command.to), {
        text: command.text,
        dateMs: nowMs + command.inMs,
        columns: { schedule_type: 2, schedule_state: 2, is_finished: 0 },
      });
      return { row };
    }
    case 'group': {
      const guid = database.chatGuid(command.identifier, '+');
      const chat =
        database.findChat(guid) ?? database.chat(guid, command.participants, { display_name: command.name ?? '' });
      if (command.joins !== undefined) joinGroups(database, chatNamed(database, command.joins), chat);
      return { chat, guid };
    }
    case 'also_in': {
      // One row in a person's chat and in a group, reported up to 145 times in one chat.db (imessage-exporter #243,
      // #474).
      const chat = chatNamed(database, command.chat);
      database.join(chat, command.row);
      // A trigger of Messages has just written the names of all groups of the row.
      const named = command.named === true ? (command.chat.split(';').at(-1) ?? null) : null;
      database.update('message', command.row, { cache_roomnames: named });
      return { row: command.row };
    }
    case 'group_picture': {
      // Messages names the group in the row and joins the row to no chat (decision U8).
      chatNamed(database, command.chat);
      const columns = { item_type: 3, group_action_type: 1, text: null, attributedBody: null };
      const row = database.message({ text: '', from: command.by, dateMs: nowMs, columns });
      database.update('message', row, { cache_roomnames: command.chat.split(';').at(-1) ?? null });
      return { row };
    }
    case 'change_address': {
      const { from, to } = command;
      const chat = chatNamed(database, command.chat);
      const event = (action: number, other: string): number =>
        database.joinedMessage(chat, {
          ...{ text: '', from: to, dateMs: nowMs },
          columns: { text: null, item_type: 1, group_action_type: action, other_handle: database.handle(other) },
        });
      return { rows: [event(1, from), event(0, to)] };
    }
    case 'rename_group': {
      const chat = chatNamed(database, command.chat);
      database.update('chat', chat, { display_name: command.name });
      const columns = { item_type: 2, group_title: command.name, attributedBody: null, text: null };
      return { row: database.joinedMessage(chat, { text: '', from: command.by, dateMs: nowMs, columns }) };
    }
    default: {
      // `write_to_self`: a message to oneself is two rows. On macOS 26 they were about five minutes apart, the incoming
      // one first (KiroCrew #5255).
      const chat = database.directChat(command.address);
      const { text, isIncoming, address } = command;
      const sent = { is_sent: 1, is_delivered: 1 };
      const message = { text, dateMs: nowMs, ...(isIncoming ? { from: address } : { columns: sent }) };
      return { row: database.joinedMessage(chat, message) };
    }
  }
}

function chatNamed(database: ChatDatabase, guid: string): number {
  const chat = database.findChat(guid);
  if (chat === undefined) throw new Error(`there is no chat ${guid}`);
  return chat;
}

/**
 * Gives two groups one identifier in `chat_lookup`, as macOS 26 does for a group that was MMS and became RCS or
 * iMessage (imessage-exporter #581, #628). The domains are invented: only their difference counts.
 */
function joinGroups(database: ChatDatabase, older: number, newer: number): void {
  if (!isSince26(database.version)) throw new Error('chat_lookup is new in macOS 26');
  const identifier = `joined-${older}`;
  const has = database.sqlite.prepare('SELECT 1 FROM chat_lookup WHERE identifier = ? AND chat = ?');
  for (const chat of [older, newer]) {
    if (has.get(identifier, chat) !== undefined) continue;
    database.insert('chat_lookup', { identifier, domain: `${database.serviceOf(chat)}-${chat}`, chat });
  }
}

/**
 * Unsends a whole message as Undo Send does. Sets `date_edited`, removes text and body, lists each part under `rp` in
 * `message_summary_info`, and leaves `date_retracted` 0 (nixfred/blip, pull request 32: 33,600 rows on macOS 26). Sets
 * `part_count` to 0 (mautrix/imessage, pull request 199). Keeps the rows of attachments.
 */
function unsend(
  database: ChatDatabase,
  { row, leavesText = false }: Extract<RowCommand, { readonly do: 'unsend' }>,
  nowMs: number,
): void {
  database.update('message', row, {
    ...(!leavesText && { text: null, attributedBody: null }),
    is_empty: 1,
    part_count: 0,
    date_edited: appleDate(nowMs),
    date_retracted: 0,
    message_summary_info: encodeBinaryPlist({ otr: { '0': { lo: 0n, le: 1n } }, rp: [0n], ust: true }),
  });
}

/**
 * Inserts a vote or an added option. Both are rows of the app Polls and refer to the poll by its bare guid (imsg, pull
 * requests 125 and 162).
 */
function ofPoll(
  database: ChatDatabase,
  poll: number,
  { type, from }: { readonly type: number; readonly from: string },
  dateMs: number,
): number {
  const columns = {
    associated_message_type: type,
    associated_message_guid: database.guid(poll),
    balloon_bundle_id: POLLS,
  };
  return database.joinedMessage(chatOf(database, poll), { text: BALLOON_TEXT, from, dateMs, columns });
}

/**
 * Inserts the row of a link's balloon, for a message that has both text and a link. The row refers to the text's row by
 * `reply_to_guid`, and is in no thread. The text's row lacks the URL (imsg, pull request 181, macOS 26.4.1).
 */
export function linkBalloon(
  database: ChatDatabase,
  link: { readonly chat: number; readonly row: number; readonly from?: string; readonly url: string },
  dateMs: number,
): number {
  const { chat, row, from, url } = link;
  const columns = {
    balloon_bundle_id: LINK_BALLOON,
    reply_to_guid: database.guid(row),
    is_sent: from === undefined ? 1 : 0,
  };
  return database.joinedMessage(chat, { text: url, dateMs, ...(from !== undefined && { from }), columns });
}

const LINK = /^https?:\/\/\S+$/;

/**
 * Splits a message into its text and the link at its start or end. Returns undefined if it has no such link, or no text
 * besides the link.
 */
export function textAndLink(body: string): { readonly text: string; readonly url: string } | undefined {
  const words = body.trim().split(/(\s+)/);
  const [first = '', last = ''] = [words[0], words.at(-1)];
  if (words.length < 3) return undefined;
  if (LINK.test(last)) return { text: words.slice(0, -2).join(''), url: last };
  return LINK.test(first) ? { text: words.slice(2).join(''), url: first } : undefined;
}

function chatOf(database: ChatDatabase, row: number): number {
  const chat = database.chatOf(row);
  if (chat === undefined) throw new Error(`there is no row ${row} in any chat`);
  return chat;
}

/** Key: the name of a content. Value: the id of the row that was written with it. */
export type WrittenContents = Readonly<Record<string, number>>;

/**
 * Writes one message of each kind of content, a second apart, in the one-to-one conversation with `from`. Another
 * person votes in the poll.
 */
function writeContents(database: ChatDatabase, from: string, nowMs: number): WrittenContents {
  const chat = database.directChat(from);
  const rows: Record<string, number> = {};
  for (const [index, content] of CONTENT_ROWS.entries()) {
    const dateMs = nowMs + index * 1000;
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
    if (content.columns.balloon_bundle_id?.toString().endsWith('.Polls') === true) {
      vote(database, chat, row, dateMs + 500);
    }
  }
  return rows;
}

/** Returns the columns for the two people of a group event: the one who acts, and the one who was added or removed. */
function participants(database: ChatDatabase, from: string): Readonly<Record<string, SqlValue>> {
  return { handle_id: database.handle(from), other_handle: database.handle('+15550101') };
}

function vote(database: ChatDatabase, chat: number, poll: number, dateMs: number): void {
  database.joinedMessage(chat, { text: '', from: '+15550101', dateMs, columns: voteColumns(database, poll) });
}

/** Returns the columns of a vote for the first option of the poll in `contentColumns('poll with a title')`. */
export function voteColumns(database: ChatDatabase, poll: number): Readonly<Record<string, SqlValue>> {
  return {
    associated_message_type: 4000,
    associated_message_guid: database.guid(poll),
    balloon_bundle_id: POLLS,
    payload_data: Buffer.from(VOTE_PAYLOAD, 'base64'),
    text: null,
    attributedBody: null,
  };
}

/**
 * Returns the columns that give a new row the content with this name. `text` and `attributedBody` are null unless the
 * content sets them.
 */
export function contentColumns(name: string): Readonly<Record<string, SqlValue>> {
  const content = CONTENT_ROWS.find((row) => row.name === name);
  if (content === undefined) throw new Error(`no simulated content is named "${name}"`);
  return { text: null, attributedBody: null, ...columnsOf(content) };
}

function columnsOf({
  columns,
  blobs,
}: Pick<SimulatedContent, 'columns' | 'blobs'>): Readonly<Record<string, SqlValue>> {
  const decoded = Object.entries(blobs).map(([name, base64]) => [name, Buffer.from(base64, 'base64')] as const);
  return { ...columns, ...Object.fromEntries(decoded) };
}
