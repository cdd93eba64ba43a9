import { readFileSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';

export type Schema = 'macos-26' | 'macos-13' | 'macos-12' | 'macos-10.13' | 'bare';
type Value = string | number | bigint | null | Uint8Array;
type Columns = Readonly<Record<string, Value>>;

/** The least that decision B1 asks for: no index, no trigger, no WAL. */
const BARE = `
  CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, date INTEGER, is_from_me INTEGER, handle_id INTEGER);
  CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT);
  CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);
  CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);`;

export const EPOCH_S = 978_307_200;

/** Nanoseconds since 2001 of an instant, as chat.db stores it. */
export function appleNs(iso: string, nanos = 0): bigint {
  return BigInt(Date.parse(iso) / 1000 - EPOCH_S) * 1_000_000_000n + BigInt(nanos);
}

/** Writes a chat.db for tests as Messages would, through a connection of its own. */
export class ChatFixture {
  readonly path: string;
  readonly #database: Database.Database;
  readonly #isBare: boolean;
  #count = 0;

  constructor(path: string, schema: Schema = 'macos-26', options: { readonly wal?: boolean } = {}) {
    this.path = path;
    this.#isBare = schema === 'bare';
    this.#database = new Database(path);
    this.#database.pragma('synchronous = OFF');
    if (options.wal ?? !this.#isBare) this.#database.pragma('journal_mode = WAL');
    this.#database.exec(this.#isBare ? BARE : statementsOf(schema));
  }

  chat(guid: string, columns: Columns = {}): number {
    const [, style = '-', identifier = ''] = guid.split(';');
    const usual = this.#isBare ? {} : { style: style === '+' ? 43 : 45, chat_identifier: identifier };
    return this.insert('chat', { guid, ...usual, ...columns });
  }

  handle(id: string, columns: Columns = {}): number {
    return this.insert('handle', { id, ...(this.#isBare ? {} : { service: 'iMessage' }), ...columns });
  }

  participant(chatId: number, handleId: number): void {
    this.insert('chat_handle_join', { chat_id: chatId, handle_id: handleId });
  }

  /** A row of `message`, joined to `chat` when given, with its date beside the join as Messages does it. */
  message(columns: Columns & { readonly chat?: number | null } = {}): number {
    const { chat = null, ...own } = columns;
    this.#count += 1;
    const usual = { guid: `GUID-${this.#count}`, is_from_me: 0, handle_id: 0, date: appleNs('2026-01-01T00:00:00Z') };
    const row = { ...usual, ...(this.#isBare ? {} : { service: 'iMessage' }), ...own };
    const rowId = this.insert('message', row);
    if (typeof chat === 'number') this.join(chat, rowId, row.date ?? null);
    return rowId;
  }

  join(chatId: number, messageId: number, date?: Value): void {
    const dated = this.#isBare || date === undefined ? {} : { message_date: date };
    this.insert('chat_message_join', { chat_id: chatId, message_id: messageId, ...dated });
  }

  attachment(messageId: number, filename: string | null, columns: Columns = {}): number {
    this.#count += 1;
    const guids = { guid: `at_${this.#count}`, original_guid: `at_${this.#count}` };
    const rowId = this.insert('attachment', { ...guids, filename, ...columns });
    this.insert('message_attachment_join', { message_id: messageId, attachment_id: rowId });
    return rowId;
  }

  insert(table: string, columns: Columns): number {
    const names = Object.keys(columns);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    return Number(this.#database.prepare(sql).run(...Object.values(columns)).lastInsertRowid);
  }

  sql(text: string, ...values: readonly Value[]): void {
    if (values.length === 0) this.#database.exec(text);
    else this.#database.prepare(text).run(...values);
  }

  all(text: string): unknown[][] {
    return this.#database.prepare(text).raw().all() as unknown[][];
  }

  transaction(work: () => void): void {
    this.#database.transaction(work)();
  }

  close(): void {
    this.#database.close();
  }

  /** Closes and takes the files away. */
  remove(): void {
    this.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.path + suffix, { force: true });
  }
}

function statementsOf(schema: Schema): string {
  const file = new URL(`../../src/simulator/schemas/${schema}.sql`, import.meta.url);
  // The last section needs functions that exist in Apple's process alone.
  return readFileSync(file, 'utf8').split('-- @section triggers-needing-functions')[0] ?? '';
}

export interface TypedstreamOptions {
  readonly isMutable?: boolean;
  /** A class between the root and NSMutableAttributedString. */
  readonly extraClass?: string;
  /** Puts a dictionary before the string. */
  readonly leading?: boolean;
}

/** An attributedBody as Messages archives it, without runs. */
export function typedstream(text: string | Uint8Array, options: TypedstreamOptions = {}): Buffer {
  const { isMutable = true, extraClass, leading = false } = options;
  const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text);
  const name = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
  const named = (value: string, version: number): Buffer =>
    Buffer.concat([Buffer.from([0x84, 0x84]), name(value), Buffer.from([version])]);
  // Object numbers: 0 the root, then its classes; the string's own class chain ends at NSObject.
  const rootClasses = [
    ...(extraClass === undefined ? [] : [extraClass]),
    ...(isMutable ? ['NSMutableAttributedString'] : []),
    'NSAttributedString',
    'NSObject',
  ];
  const nsObject = 0x92 + rootClasses.length;
  const dictionary = leading
    ? [Buffer.from([0x92, 0x84]), named('NSDictionary', 0), Buffer.from([nsObject, 0x84, 1, 0x69, 0, 0x86])]
    : [];
  return Buffer.concat([
    Buffer.from('\x04\x0bstreamtyped\x81\xe8\x03\x84\x01\x40\x84', 'latin1'),
    ...rootClasses.map((value) => named(value, 0)),
    Buffer.from([0x85]),
    ...dictionary,
    Buffer.from([0x92, 0x84]),
    ...(isMutable ? [named('NSMutableString', 1)] : []),
    named('NSString', 1),
    Buffer.from([nsObject, 0x84, 1, 0x2b]),
    lengthOf(bytes.length),
    bytes,
    Buffer.from([0x86, 0x86]),
  ]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const wide = length > 0xffff;
  const bytes = Buffer.alloc(wide ? 5 : 3);
  bytes[0] = wide ? 0x82 : 0x81;
  if (wide) bytes.writeUInt32LE(length, 1);
  else bytes.writeUInt16LE(length, 1);
  return bytes;
}
