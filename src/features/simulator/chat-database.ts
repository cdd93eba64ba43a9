import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { APPLE_EPOCH_S } from '../../core/model/durations.ts';
import { utiOf } from '../../core/model/media-types.ts';
import type { SqlValue } from '../../core/runtime/sqlite.ts';
import { isSince26, loadableSchema, type MacosVersion } from './macos-versions.ts';
import { Tables } from './tables.ts';
import { encodeAttributedBody, type Run } from './typedstream.ts';

/** The simulated owner's address. */
export const OWN_ADDRESS = 'me@example.com';

const APPLE_EPOCH_MS = APPLE_EPOCH_S * 1000;

/** Converts to nanoseconds since 2001-01-01, the unit of dates in chat.db. */
export function appleDate(unixMs: number): bigint {
  return BigInt(Math.round(unixMs) - APPLE_EPOCH_MS) * 1_000_000n;
}

export interface NewMessage {
  readonly text: string;
  readonly dateMs: number;
  /** Address of the sender; absent for an outgoing message. */
  readonly from?: string;
  readonly service?: string;
  readonly runs?: readonly Run[];
  /** More columns of `message`. They override the default values of a new row. */
  readonly columns?: Readonly<Record<string, SqlValue>>;
}

export interface NewAttachment {
  /** The stored path, absolute or beginning with `~`; null during the transfer. */
  readonly filename: string | null;
  readonly mimeType?: string;
  readonly bytes?: number;
  readonly name?: string;
  readonly isOutgoing?: boolean;
  readonly isHidden?: boolean;
  /** IMFileTransferState: 0 waiting, 3 transferring, 5 finished, 6 error. */
  readonly transferState?: number;
}

/** chat.db as Messages writes it: real schema, indexes and triggers, WAL, row ids that are never reused. */
export class ChatDatabase extends Tables {
  readonly version: MacosVersion;

  private constructor(path: string, version: MacosVersion) {
    super(path);
    this.version = version;
  }

  /** Opens the database at `path`. Creates it with the schema of `version` if it is missing. */
  static open(path: string, version: MacosVersion): ChatDatabase {
    const isNew = !existsSync(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const database = new ChatDatabase(path, version);
    if (isNew) {
      database.transaction(() => database.sqlite.exec(loadableSchema(version)));
    }
    return database;
  }

  /** Closes this database and replaces it as a restored backup does: with `rows` other rows, under a new inode. */
  replaced(path: string, dateMs: number, rows: number): ChatDatabase {
    const fresh = `${path}.fresh`;
    const other = ChatDatabase.open(fresh, this.version);
    const chat = other.directChat('+15550199');
    for (let row = 0; row < rows; row += 1) other.joinedMessage(chat, { text: 'restored', from: '+15550199', dateMs });
    other.close();
    this.close();
    for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
    renameSync(fresh, path);
    return ChatDatabase.open(path, this.version);
  }

  /** Returns the row id in `handle` of an address and service. Creates the row if it is missing. */
  handle(address: string, service = 'iMessage'): number {
    const known = this.sqlite.prepare('SELECT ROWID FROM handle WHERE id = ? AND service = ?').get(address, service);
    return known === undefined ? this.insert('handle', { id: address, service, country: 'us' }) : Number(known[0]);
  }

  /** Returns the row id of the chat with this guid; undefined if there is none. */
  findChat(guid: string): number | undefined {
    const row = this.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(guid);
    return row === undefined ? undefined : Number(row[0]);
  }

  guids(): readonly string[] {
    return this.sqlite
      .prepare('SELECT guid FROM chat ORDER BY ROWID')
      .all()
      .map(([guid]) => String(guid));
  }

  serviceOf(chat: number): string {
    const row = this.sqlite.prepare('SELECT service_name FROM chat WHERE ROWID = ?').get(chat);
    return String(row?.[0] ?? 'iMessage');
  }

  /** Returns the guid that macOS gives a chat. Since macOS 26, the guid's prefix no longer names the service. */
  chatGuid(identifier: string, style: '-' | '+', service = 'iMessage'): string {
    return `${isSince26(this.version) ? 'any' : service};${style};${identifier}`;
  }

  /** Returns the row id of the one-to-one chat with an address. Creates the chat if it is missing. */
  directChat(address: string, service = 'iMessage'): number {
    const guid = this.chatGuid(address, '-', service);
    return this.findChat(guid) ?? this.chat(guid, [address], { service_name: service });
  }

  chat(guid: string, participants: readonly string[], columns: Readonly<Record<string, SqlValue>> = {}): number {
    const [, style = '-', identifier = guid] = guid.split(';');
    const isGroup = style === '+';
    const service = typeof columns.service_name === 'string' ? columns.service_name : 'iMessage';
    return this.transaction(() => {
      const chat = this.insert('chat', {
        guid,
        style: isGroup ? 43 : 45,
        state: 3,
        account_id: 'ACCOUNT-1',
        chat_identifier: identifier,
        service_name: service,
        room_name: isGroup ? identifier : null,
        account_login: `E:${OWN_ADDRESS}`,
        last_addressed_handle: OWN_ADDRESS,
        display_name: '',
        group_id: randomUUID().toUpperCase(),
        is_filtered: 0,
        ...columns,
      });
      for (const address of participants) {
        this.insert('chat_handle_join', { chat_id: chat, handle_id: this.handle(address, service) });
      }
      return chat;
    });
  }

  /**
   * Inserts a row of `message` without its chat join, which Messages writes a moment later. Since macOS 26 the text is
   * only in `attributedBody`. In earlier versions it is also in `text`.
   */
  message({ text, dateMs, from, service = 'iMessage', runs, columns = {} }: NewMessage): number {
    const isOwn = from === undefined;
    return this.insert('message', {
      guid: randomUUID().toUpperCase(),
      text: isSince26(this.version) ? null : text,
      attributedBody: encodeAttributedBody(text, runs),
      handle_id: isOwn ? 0 : this.handle(from, service),
      version: 10,
      service,
      account: `E:${OWN_ADDRESS}`,
      account_guid: 'ACCOUNT-1',
      date: appleDate(dateMs),
      is_from_me: isOwn ? 1 : 0,
      is_finished: 1,
      is_delivered: isOwn ? 0 : 1,
      is_sent: 0,
      destination_caller_id: OWN_ADDRESS,
      part_count: 1,
      ...columns,
    });
  }

  /** Joins a row to a chat, as Messages does once it has found the chat. */
  join(chat: number, message: number): void {
    const date =
      this.sqlite.prepare('SELECT CAST(date AS TEXT) FROM message WHERE ROWID = ?').get(message)?.[0] ?? null;
    this.insert('chat_message_join', {
      chat_id: chat,
      message_id: message,
      message_date: date === null ? 0 : BigInt(String(date)),
    });
  }

  /** Inserts a complete message of a chat in one transaction. */
  joinedMessage(chat: number, message: NewMessage): number {
    return this.transaction(() => {
      const row = this.message(message);
      this.join(chat, row);
      return row;
    });
  }

  attach(message: number, attachment: NewAttachment): number {
    const guid = `at_0_${this.guid(message)}_${randomUUID()}`;
    const { filename, name = filename?.split('/').at(-1) ?? 'file', mimeType: type = null } = attachment;
    return this.transaction(() => {
      const row = this.insert('attachment', {
        guid,
        original_guid: guid,
        created_date: appleDate(APPLE_EPOCH_MS) + 1n,
        filename,
        uti: utiOf(type),
        mime_type: type === 'audio/x-caf' ? null : type, // As iPhones store it (imessage-exporter, issue 155).
        transfer_state: attachment.transferState ?? 5,
        is_outgoing: attachment.isOutgoing === true ? 1 : 0,
        transfer_name: name,
        total_bytes: attachment.bytes ?? 0,
        hide_attachment: attachment.isHidden === true ? 1 : 0,
      });
      this.insert('message_attachment_join', { message_id: message, attachment_id: row });
      return row;
    });
  }

  /** Inserts a reaction's row. First deletes the person's earlier reaction to the target, leaving a gap in row ids. */
  reaction(
    chat: number,
    target: number,
    {
      type,
      emoji = null,
      on = 0,
      ...message
    }: Omit<NewMessage, 'text'> & {
      readonly type: number;
      readonly emoji?: string | null;
      readonly on?: number | 'balloon';
    },
  ): number {
    // A vote names its target by the bare guid. A reaction names a part of its target, or its balloon.
    const prefix = on === 'balloon' ? 'bp:' : `p:${on}/`;
    const guid = `${type === 4000 ? '' : prefix}${this.guid(target)}`;
    const isOwn = message.from === undefined ? 1 : 0;
    const handle = message.from === undefined ? 0 : this.handle(message.from, message.service);
    return this.transaction(() => {
      this.sqlite
        .prepare(
          'DELETE FROM message WHERE associated_message_guid = ? AND is_from_me = ? AND handle_id = ? AND associated_message_type >= 2000',
        )
        .run(guid, isOwn, handle);
      return this.joinedMessage(chat, {
        ...message,
        text: emoji === null ? 'Reacted to a message' : `Reacted ${emoji} to a message`,
        columns: {
          associated_message_type: type,
          associated_message_guid: guid,
          associated_message_emoji: emoji,
          associated_message_range_length: 1,
          is_sent: isOwn,
          ...message.columns,
        },
      });
    });
  }

  /** Moves a message to Recently Deleted, as when the user deletes it in Messages. */
  deleteToRecoverable(message: number, nowMs: number): void {
    this.transaction(() => {
      const chats = this.sqlite.prepare('SELECT chat_id FROM chat_message_join WHERE message_id = ?').all(message);
      for (const [chat] of chats) {
        this.insert('chat_recoverable_message_join', {
          chat_id: chat ?? null,
          message_id: message,
          delete_date: appleDate(nowMs),
        });
      }
      this.sqlite.prepare('DELETE FROM chat_message_join WHERE message_id = ?').run(message);
    });
  }

  /** Recovers a message that `deleteToRecoverable` deleted. */
  recover(message: number): void {
    this.transaction(() => {
      const chats = this.sqlite.prepare('SELECT chat_id FROM chat_recoverable_message_join WHERE message_id = ?');
      for (const [chat] of chats.all(message)) this.join(Number(chat), message);
      this.sqlite.prepare('DELETE FROM chat_recoverable_message_join WHERE message_id = ?').run(message);
    });
  }

  /** Marks the incoming messages of a chat as read. */
  readChat(guid: string, nowMs: number): void {
    const chat = this.findChat(guid);
    if (chat === undefined) throw new Error(`there is no chat ${guid}`);
    const sql = `UPDATE message SET is_read = 1, date_read = ? WHERE is_from_me = 0 AND is_read = 0
      AND ROWID IN (SELECT message_id FROM chat_message_join WHERE chat_id = ?)`;
    this.sqlite.prepare(sql).run(appleDate(nowMs), chat);
  }

  /** Moves the read mark of a chat to now, and leaves its rows as they are. */
  markRead(guid: string, nowMs: number): void {
    const chat = this.findChat(guid);
    if (chat === undefined) throw new Error(`there is no chat ${guid}`);
    this.update('chat', chat, { last_read_message_timestamp: appleDate(nowMs) });
  }

  deleteMessage(message: number): void {
    this.sqlite.prepare('DELETE FROM message WHERE ROWID = ?').run(message);
  }

  guid(message: number): string {
    return String(this.sqlite.prepare('SELECT guid FROM message WHERE ROWID = ?').get(message)?.[0] ?? '');
  }

  chatOf(message: number): number | undefined {
    const row = this.sqlite.prepare('SELECT min(chat_id) FROM chat_message_join WHERE message_id = ?').get(message);
    return typeof row?.[0] === 'number' ? row[0] : undefined;
  }

  isDirect(chat: number): boolean {
    return this.number(`SELECT count(*) FROM chat WHERE ROWID = ${chat} AND style = 45`) === 1;
  }

  /** Returns the lowest row id in `handle` among a chat's participants; 0 if the chat has none. */
  firstHandle(chat: number): number {
    const row = this.sqlite.prepare('SELECT min(handle_id) FROM chat_handle_join WHERE chat_id = ?').get(chat);
    return Number(row?.[0] ?? 0);
  }

  newestRow(): number {
    return this.number('SELECT ifnull(max(ROWID), 0) FROM message');
  }

  /** Writes SQLite's statistics, which steer its planner. Every chat.db on a Mac has them. */
  analyze(): void {
    this.sqlite.exec('ANALYZE');
  }
}
