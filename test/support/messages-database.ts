import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { openSqlite, type Sqlite, type SqlValue } from '../../src/runtime/sqlite.ts';

const APPLE_EPOCH_MS = 978_307_200_000;

/** Nanoseconds since 2001, as chat.db keeps dates. */
export function appleDate(isoOrMs: string | number): bigint {
  const ms = typeof isoOrMs === 'number' ? isoOrMs : Date.parse(isoOrMs);
  return BigInt(ms - APPLE_EPOCH_MS) * 1_000_000n;
}

type Values = Readonly<Record<string, SqlValue>>;

/**
 * A chat.db written row by row, column by column, by a second connection: for tests that must say exactly what
 * stands in the database. Real schema with its indexes and triggers; plain SQL, nothing shared with the product.
 */
export class MessagesDatabase {
  readonly path: string;
  readonly sqlite: Sqlite;

  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    this.sqlite = openSqlite(path);
    this.sqlite.exec('PRAGMA journal_mode = WAL');
    const schema = readFileSync(new URL('../../src/simulator/schemas/macos-26.sql', import.meta.url), 'utf8');
    this.sqlite.exec(schema.split('-- @section triggers-needing-functions')[0] ?? '');
  }

  /** Inserts one row and gives its row id. */
  insert(table: string, values: Values): number {
    const names = Object.keys(values);
    this.sqlite
      .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
      .run(...Object.values(values));
    return Number(this.sqlite.prepare('SELECT last_insert_rowid()').get()?.[0]);
  }

  handle(address: string, service = 'iMessage'): number {
    const known = this.sqlite.prepare('SELECT ROWID FROM handle WHERE id = ? AND service = ?').get(address, service);
    return known === undefined ? this.insert('handle', { id: address, service }) : Number(known[0]);
  }

  chat(guid: string, participants: readonly string[], values: Values = {}): number {
    const [, style = '-', identifier = guid] = guid.split(';');
    const chat = this.insert('chat', {
      guid,
      style: style === '+' ? 43 : 45,
      chat_identifier: identifier,
      service_name: 'iMessage',
      ...values,
    });
    for (const address of participants) {
      this.insert('chat_handle_join', { chat_id: chat, handle_id: this.handle(address) });
    }
    return chat;
  }

  /** A message with its join, in one transaction; incoming, delivered and complete unless said otherwise. */
  message(chat: number | null, text: string, values: Values = {}): number {
    return this.sqlite.transaction(() => {
      const date = values.date ?? appleDate('2026-01-02T03:04:05Z');
      const row = this.insert('message', {
        guid: randomUUID().toUpperCase(),
        text,
        date,
        service: 'iMessage',
        is_finished: 1,
        is_delivered: 1,
        is_sent: values.is_from_me === 1 ? 1 : 0,
        ...values,
      });
      if (chat !== null) this.insert('chat_message_join', { chat_id: chat, message_id: row, message_date: date });
      return row;
    });
  }

  attach(message: number, filename: string | null, values: Values = {}): number {
    const guid = randomUUID();
    const attachment = this.insert('attachment', { guid, original_guid: guid, filename, transfer_state: 5, ...values });
    this.insert('message_attachment_join', { message_id: message, attachment_id: attachment });
    return attachment;
  }

  guid(row: number): string {
    return String(this.sqlite.prepare('SELECT guid FROM message WHERE ROWID = ?').get(row)?.[0]);
  }

  close(): void {
    this.sqlite.close();
  }
}
