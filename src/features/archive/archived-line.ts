import type { Message } from '../../core/model/message.ts';
import type { Reaction } from '../../core/model/reaction.ts';

/** One attachment in an archive; `n` is its number in `GET /messages/{id}/attachments/{n}`. */
export type ArchivedFile = StoredFile | MissingFile;

export interface StoredFile {
  readonly n: number;
  readonly sha256: string;
  /** Path of the stored file, relative to the archive's folder. */
  readonly file: string;
  readonly bytes: number;
  /** With `--attachments convert`: the copy in a form that every browser can show or play. */
  readonly converted?: { readonly sha256: string; readonly file: string; readonly bytes: number } | undefined;
}

/**
 * An attachment that was not stored. `missing` is the reason: `not_asked` (`--attachments none`), the state of the
 * attachment (`in_cloud`, `downloading`, `missing`), `not_readable` (outside the folder of Messages, or not permitted),
 * or `changed` while it was copied.
 */
export interface MissingFile {
  readonly n: number;
  readonly missing: 'not_asked' | 'in_cloud' | 'downloading' | 'missing' | 'not_readable' | 'changed';
}

/** A conversation, as it was when the line was written. */
export interface ArchivedConversation {
  readonly ids: readonly string[];
  readonly display_name: string | null;
  readonly is_group: boolean;
  readonly participants: readonly string[];
}

/** One line of an NDJSON file, with exactly one of `conversation`, `message`, `reaction` and `removed`. */
export interface ArchivedLine {
  readonly n: number;
  readonly seen_at: string;
  /** Number of the line that this one replaces: the previous line about the same row. */
  readonly replaces?: number;
  /**
   * Number of the first line about this message under its earlier guid. iCloud can assign an old message a new guid.
   */
  readonly twin_of?: number;
  readonly conversation?: ArchivedConversation;
  readonly message?: Message;
  readonly reaction?: Reaction;
  /** True if the row is gone from chat.db. */
  readonly removed?: true;
  /** The guid of a removed row. */
  readonly guid?: string;
  /** The attachments, if the message has any. */
  readonly files?: readonly ArchivedFile[];
}

export function isStored(file: ArchivedFile): file is StoredFile {
  return 'sha256' in file;
}

/** Returns the paths of an attachment's stored files. */
export function pathsOf(file: ArchivedFile): readonly string[] {
  if (!isStored(file)) return [];
  return file.converted === undefined ? [file.file] : [file.file, file.converted.file];
}

export function countMissing(files: readonly ArchivedFile[] | undefined): number {
  return files?.filter((file) => !isStored(file)).length ?? 0;
}

/**
 * Returns the key of a row: its guid, because row ids differ between two chat.db files. Returns `#` and the row id for
 * a row without a guid; only a damaged chat.db contains such rows.
 */
export function rowKey(guid: string, rowId: number | string): string {
  return guid === '' ? `#${rowId}` : guid;
}

/** Returns the key of the row that a line describes; undefined for a line that describes a conversation. */
export function keyOfLine({ message, reaction, removed, guid }: ArchivedLine): string | undefined {
  const row = message ?? reaction;
  if (row !== undefined) return rowKey(row.guid, row.id);
  return removed === true ? guid : undefined;
}

/** Returns the date of a message in seconds since 1970; null for anything else. */
export function secondsOf(message: Pick<Message, 'timestamp'> | undefined): number | null {
  return message === undefined ? null : Math.floor(Date.parse(message.timestamp) / 1000);
}

/**
 * Members that do not count as content. They can differ between two chat.db files, or from one moment to the next,
 * although nothing happened to the message.
 */
const VOLATILE = new Set(['id', 'message_id', 'conversation_id', 'path', 'state', 'transfer']);

/** Returns the content of a message or a reaction as text, for comparison with an earlier run. */
export function comparable(row: Message | Reaction): string {
  const own = 'attachments' in row ? { ...row, attachments: row.attachments.length } : row;
  return JSON.stringify(own, (name, value: unknown) => (VOLATILE.has(name) ? undefined : value));
}
