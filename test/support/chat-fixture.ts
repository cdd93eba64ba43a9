import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openSqlite, type SqlValue } from '../../src/core/runtime/sqlite.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { loadableSchema, MACOS_VERSIONS, type MacosVersion } from '../../src/features/simulator/macos-versions.ts';
import { Tables } from '../../src/features/simulator/tables.ts';

/** `utf-16` is macOS 26 in a database of UTF-16, which imessage-exporter has met. */
export type Schema = `macos-${MacosVersion}` | 'bare' | 'utf-16';
export const MACOS_SCHEMAS = [...MACOS_VERSIONS.map((version) => `macos-${version}` as const), 'utf-16'] as const;

/** Reports whether Messages can edit, unsend and recover on this schema. */
export function isSince13(schema: Schema): boolean {
  return schema !== 'bare' && Number(versionOf(schema)) >= 13;
}

function versionOf(schema: Exclude<Schema, 'bare'>): MacosVersion {
  return schema === 'utf-16' ? '26' : (schema.slice('macos-'.length) as MacosVersion);
}

type Columns = Readonly<Record<string, SqlValue>>;

/** The minimum that decision B1 requires: no index, no trigger, no WAL. */
const BARE = `
  CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, date INTEGER, is_from_me INTEGER, handle_id INTEGER);
  CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT);
  CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);
  CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);`;

/**
 * Files of empty databases: copying one is much quicker than executing its hundred statements. They outlive the test
 * file, which has its own copy of this module.
 */
const held = globalThis as { emptyDatabases?: Map<Schema, Buffer> };
held.emptyDatabases ??= new Map();
const { emptyDatabases } = held;

function emptyDatabase(schema: Schema): Buffer {
  let bytes = emptyDatabases.get(schema);
  if (bytes === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'postern-schema-'));
    const path = join(folder, 'chat.db');
    if (schema === 'utf-16') {
      const sqlite = openSqlite(path);
      // The encoding is final once the file has a table.
      sqlite.exec("PRAGMA encoding = 'UTF-16le'; CREATE TABLE first (id); DROP TABLE first");
      sqlite.close();
    }
    const tables = new Tables(path);
    const sql = schema === 'bare' ? BARE : loadableSchema(versionOf(schema));
    tables.transaction(() => tables.sqlite.exec(sql));
    tables.close();
    bytes = readFileSync(tables.path);
    rmSync(folder, { recursive: true });
    emptyDatabases.set(schema, bytes);
  }
  return bytes;
}

/** Converts an instant into nanoseconds since 2001, as chat.db stores it. */
export function appleNs(iso: string, nanos = 0): bigint {
  return appleDate(Date.parse(iso)) + BigInt(nanos);
}

/**
 * A chat.db that a test writes row by row, through its own connection. Columns that a test names must exist; defaults
 * are left out where the schema lacks their columns.
 */
export class ChatFixture extends Tables {
  constructor(path: string, schema: Schema = 'macos-26', { wal = schema !== 'bare', isThere = false } = {}) {
    mkdirSync(dirname(path), { recursive: true });
    if (existsSync(path) !== isThere) throw new Error(`${path} is ${isThere ? 'not there' : 'there already'}.`);
    if (!isThere) writeFileSync(path, emptyDatabase(schema));
    super(path);
    this.sqlite.exec('PRAGMA synchronous = OFF');
    if (!wal) this.sqlite.exec('PRAGMA journal_mode = DELETE');
  }

  /** Inserts one row and returns its row id. */
  override insert(table: string, columns: Columns, defaults: Columns = {}): number {
    const unknown = Object.keys(columns).filter((name) => !this.hasColumn(table, name));
    if (unknown.length > 0) throw new Error(`${table} has no column ${unknown.join(', ')}`);
    return super.insert(table, { ...defaults, ...columns });
  }

  /** Returns the handle of an address: one row for each service. */
  handle(address: string, service = 'iMessage'): number {
    const own = this.hasColumn('handle', 'service') ? `service = '${service}'` : 'true';
    const known = this.sqlite.prepare(`SELECT ROWID FROM handle WHERE id = ? AND ${own}`).get(address);
    return known === undefined ? this.insert('handle', { id: address }, { service }) : Number(known[0]);
  }

  chat(guid: string, participants: readonly string[] = [], columns: Columns = {}): number {
    const [, style = '-', identifier = guid] = guid.split(';');
    const defaults = { style: style === '+' ? 43 : 45, chat_identifier: identifier, service_name: 'iMessage' };
    const chat = this.insert('chat', { guid, ...columns }, defaults);
    for (const address of participants) this.participant(chat, this.handle(address));
    return chat;
  }

  participant(chat: number, handle: number): void {
    this.insert('chat_handle_join', { chat_id: chat, handle_id: handle });
  }

  /**
   * Writes a complete row of `message` in one transaction, joined to `chat` if given. A row of Send Later waits to be
   * sent, unless the columns say otherwise.
   */
  message({ chat = null, ...columns }: Columns & { readonly chat?: number | null } = {}): number {
    const isScheduled = columns.schedule_type === 2;
    const defaults = {
      handle_id: 0,
      service: 'iMessage',
      is_finished: 1,
      is_delivered: columns.is_from_me ? 0 : 1,
      is_sent: isScheduled ? 0 : (columns.is_from_me ?? 0),
      ...(isScheduled && { schedule_state: 2 }),
    };
    const row = { guid: randomUUID().toUpperCase(), is_from_me: 0, date: appleNs('2026-01-01T00:00:00Z'), ...columns };
    return this.transaction(() => {
      const message = this.insert('message', row, defaults);
      if (chat !== null) this.join(chat, message, row.date);
      return message;
    });
  }

  /** Joins a row to a chat, and stores its date in the join as Messages does. */
  join(chat: number, message: number, date?: SqlValue): void {
    const defaults = date === undefined ? {} : { message_date: date };
    this.insert('chat_message_join', { chat_id: chat, message_id: message }, defaults);
  }

  attach(message: number, filename: string | null, columns: Columns = {}): number {
    const guid = randomUUID();
    const defaults = { guid, original_guid: guid, transfer_state: 5 };
    const attachment = this.insert('attachment', { filename, ...columns }, defaults);
    this.insert('message_attachment_join', { message_id: message, attachment_id: attachment });
    return attachment;
  }

  guid(message: number): string {
    return String(this.sqlite.prepare('SELECT guid FROM message WHERE ROWID = ?').get(message)?.[0]);
  }

  /** Closes the database and removes its files. */
  remove(): void {
    this.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.path + suffix, { force: true });
  }
}
