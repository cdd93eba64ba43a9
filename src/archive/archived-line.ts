import type { Message } from '../domain/message.ts';
import type { Reaction } from '../domain/reaction.ts';

/** One attachment in an archive; `n` is its number in `GET /messages/{id}/attachments/{n}`. */
export type ArchivedFile = StoredFile | MissingFile;

export interface StoredFile {
  readonly n: number;
  readonly sha256: string;
  /** Its path in the archive. */
  readonly file: string;
  readonly bytes: number;
  /** A copy in a form that every browser shows or plays, with `--attachments convert`. */
  readonly converted?: { readonly sha256: string; readonly file: string; readonly bytes: number } | undefined;
}

/**
 * Why a file is not there: `not_asked` (`--attachments none`), the state of the attachment (`in_cloud`, `downloading`,
 * `missing`), `not_readable` (it is outside the folder of Messages, or may not be read), or `changed` while it was copied.
 */
export interface MissingFile {
  readonly n: number;
  readonly missing: 'not_asked' | 'in_cloud' | 'downloading' | 'missing' | 'not_readable' | 'changed';
}

/** A conversation as it was when its next line was written. */
export interface ArchivedConversation {
  readonly ids: readonly string[];
  readonly display_name: string | null;
  readonly is_group: boolean;
  readonly participants: readonly string[];
}

/** One line of an NDJSON file: exactly one of `conversation`, `message`, `reaction` and `removed`. */
export interface ArchivedLine {
  readonly n: number;
  readonly seen_at: string;
  /** The earlier line of the same row. */
  readonly replaces?: number;
  /** The first line of the same message under another guid: iCloud may give an old message a new one. */
  readonly twin_of?: number;
  readonly conversation?: ArchivedConversation;
  readonly message?: Message;
  readonly reaction?: Reaction;
  /** Its row is gone from chat.db. */
  readonly removed?: true;
  /** The guid of a removed row. */
  readonly guid?: string;
  /** The attachments of a message that has any. */
  readonly files?: readonly ArchivedFile[];
}

export function isStored(file: ArchivedFile): file is StoredFile {
  return 'sha256' in file;
}

export function countMissing(files: readonly ArchivedFile[] | undefined): number {
  return files?.filter((file) => !isStored(file)).length ?? 0;
}

/** Returns the key of a row, the same in every later chat.db. Only a damaged database has rows without a guid. */
export function rowKey(guid: string, rowId: number | string): string {
  return guid === '' ? `#${rowId}` : guid;
}

/** The row that a line is of; undefined for one that describes a conversation. */
export function keyOfLine({ message, reaction, removed, guid }: ArchivedLine): string | undefined {
  const row = message ?? reaction;
  if (row !== undefined) return rowKey(row.guid, row.id);
  return removed === true ? guid : undefined;
}

/** The date of a message in seconds since 1970; null for anything else. */
export function secondsOf(message: Pick<Message, 'timestamp'> | undefined): number | null {
  return message === undefined ? null : Math.floor(Date.parse(message.timestamp) / 1000);
}

/** These members differ from one chat.db to the next, or from one moment to the next, with nothing having happened to a message. */
const VOLATILE = new Set(['id', 'message_id', 'conversation_id', 'path', 'state', 'transfer']);

/** The content of a message or a reaction as text, to compare it with what it was at an earlier run. */
export function comparable(row: Message | Reaction): string {
  const own = 'attachments' in row ? { ...row, attachments: row.attachments.length } : row;
  return JSON.stringify(own, (name, value: unknown) => (VOLATILE.has(name) ? undefined : value));
}
