import type { Cursor, LogIdentity } from '../../../src/core/model/cursor.ts';
import type { PendingRow, RowEntry } from '../../../src/core/model/event.ts';
import { additionOf, FLAGS, type Print, REACTION_PRINT } from '../../../src/core/model/fingerprint.ts';
import type { Message } from '../../../src/core/model/message.ts';
import { type Offset, rowOffset } from '../../../src/core/model/offset.ts';
import type { PrintReader, PrintsRead, RowOrigin } from '../../../src/core/model/ports/changes-ports.ts';
import type { MessageLog } from '../../../src/core/model/ports/feed-ports.ts';
import { problem } from '../../../src/core/model/problems.ts';
import type { Reaction } from '../../../src/core/model/reaction.ts';

/** One row of the model; `version` counts its edits. */
export interface ModelRow {
  readonly rowId: number;
  readonly guid: string;
  isOwn: boolean;
  readonly isReaction: boolean;
  version: number;
  isUnsent: boolean;
  isRead: boolean;
  isDelivered: boolean;
  isFailed: boolean;
  isDeleted: boolean;
  isComplete: boolean;
  files: number;
}

/** An in-memory chat.db: what the service reads of it, and what Messages does to it. */
export class ModelChat implements MessageLog {
  /** Called before each read. */
  onRead: () => void = () => {};
  isAway = false;
  rows = new Map<number, ModelRow>();
  /** The commits that changed an existing row, by row id. */
  readonly mutations = new Map<number, number>();
  #highest = 0;
  #inode = 1;
  #deletions = 0;

  insert(options: Partial<ModelRow> = {}, gap = 0): number {
    this.#highest += 1 + gap;
    const rowId = this.#highest;
    this.rows.set(rowId, {
      rowId,
      guid: `${this.#inode}-${rowId}`,
      isOwn: false,
      isReaction: false,
      version: 1,
      isUnsent: false,
      isRead: false,
      isDelivered: false,
      isFailed: false,
      isDeleted: false,
      isComplete: true,
      files: 0,
      ...options,
    });
    return rowId;
  }

  change(rowId: number, change: (row: ModelRow) => void): void {
    const row = this.rows.get(rowId);
    if (row === undefined) return;
    this.#noteMutation(rowId);
    change(row);
  }

  remove(rowId: number): void {
    if (!this.rows.delete(rowId)) return;
    this.#noteMutation(rowId);
    this.#deletions += 1;
  }

  /** Replaces the database: other rows have the same row ids. */
  replace(rows: number): void {
    this.#inode += 1;
    this.rows = new Map();
    this.#highest = 0;
    for (let row = 0; row < rows; row += 1) this.insert();
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[] {
    this.#read();
    return this.#sorted()
      .filter(({ rowId }) => rowId > after.rowId && rowId <= upTo.rowId)
      .slice(0, limit)
      .map((row) => entryOf(row));
  }

  pendingRows(after: Offset, limit: number, hasPrints = false): readonly PendingRow[] {
    this.#read();
    return this.#sorted()
      .filter(({ rowId }) => rowId > after.rowId)
      .slice(0, limit)
      .map((row) => ({
        ...entryOf(row),
        datedMs: Number.MAX_SAFE_INTEGER,
        isIncomplete: !row.isComplete,
        isUnsent: false,
        lacksHandle: false,
        ...(hasPrints && { print: printOfRow(row) }),
      }));
  }

  /** Different for each database. */
  get id(): string {
    return String(this.#inode);
  }

  /** The highest row id so far. */
  get highest(): number {
    return this.#highest;
  }

  newestRow(): ModelRow | undefined {
    return this.#sorted().at(-1);
  }

  newest(): Cursor {
    this.#read();
    const row = this.newestRow();
    return { offset: rowOffset(row?.rowId ?? 0), guid: row?.guid ?? null, inode: String(this.#inode) };
  }

  identity(at: Offset): LogIdentity {
    this.#read();
    return this.#identity(at);
  }

  readonly prints: PrintReader = {
    newest: (at, upTo, count) => {
      this.#read();
      const rows = this.#sorted().filter(({ rowId }) => rowId <= upTo);
      const from = rows.length < count ? 1 : (rows.at(-count)?.rowId ?? 1);
      return { ...this.#prints(at, (rowId) => rowId >= from && rowId <= upTo), from };
    },
    differing: (at, upTo, count) => {
      const newest = this.prints.newest(at, upTo, count);
      return { ...newest, ranges: [[newest.from, upTo]] };
    },
    rows: (at, rowIds) => {
      this.#read();
      return this.#prints(at, (rowId) => rowIds.includes(rowId));
    },
    range: (at, from, to) => {
      this.#read();
      const next = this.#sorted().find(({ rowId }) => rowId > to)?.rowId;
      return { ...this.#prints(at, (rowId) => rowId >= from && rowId <= to), next };
    },
    watched: () => {
      this.#read();
      const set = (is: (row: ModelRow) => boolean): number[] =>
        this.#sorted()
          .filter(is)
          .slice(-3)
          .map(({ rowId }) => rowId);
      return [
        set((row) => !row.isOwn && !row.isRead),
        set((row) => row.isOwn && !row.isDelivered),
        set((row) => row.isDeleted),
      ];
    },
    deletions: () => {
      this.#read();
      return this.#deletions;
    },
    origins: (from, to) => {
      this.#read();
      return this.#sorted()
        .filter(({ rowId }) => rowId >= from && rowId <= to)
        .map(({ rowId, guid }): RowOrigin => ({ rowId, guid, conversationId: 'any;-;1' }));
    },
  };

  #prints(at: Offset, isIn: (rowId: number) => boolean): PrintsRead {
    const prints = new Map<number, Print>();
    for (const row of this.rows.values()) if (isIn(row.rowId)) prints.set(row.rowId, printOfRow(row));
    return { identity: this.#identity(at), prints };
  }

  #identity({ rowId }: Offset): LogIdentity {
    return {
      inode: String(this.#inode),
      guidAtCursor: this.rows.get(rowId)?.guid ?? null,
      highestRowId: this.#highest,
    };
  }

  #sorted(): ModelRow[] {
    return [...this.rows.values()];
  }

  #noteMutation(rowId: number): void {
    this.mutations.set(rowId, (this.mutations.get(rowId) ?? 0) + 1);
  }

  #read(): void {
    this.onRead();
    if (this.isAway) throw problem('chat_db_missing');
  }
}

/** Returns a row as a client sees it. */
export function messageOf(row: ModelRow): Message {
  const marks = [row.isUnsent ? 'unsent' : `text ${row.version}`, row.isDeleted ? 'deleted' : ''];
  const read = row.isRead ? 'read' : undefined;
  const own = row.isFailed ? 'failed' : (read ?? (row.isDelivered ? 'delivered' : 'sent'));
  return {
    id: String(row.rowId),
    guid: row.guid,
    conversation_id: 'any;-;1',
    sender: '+15550100',
    body: marks.join(' '),
    attachments: Array.from({ length: row.files }, (_, at) => `/${at}`),
    timestamp: '2026-01-01T00:00:00Z',
    is_from_me: row.isOwn,
    status: row.isOwn ? own : (read ?? 'delivered'),
  };
}

function entryOf(row: ModelRow): RowEntry {
  const { rowId, guid } = row;
  const data = messageOf(row);
  const common = { offset: rowOffset(rowId), rowId, guid };
  if (!row.isReaction) return { ...common, event: { type: row.isOwn ? 'message.sent' : 'message.received', data } };
  const reaction: Reaction = {
    id: data.id,
    guid,
    conversation_id: data.conversation_id,
    sender: data.sender,
    is_from_me: row.isOwn,
    timestamp: data.timestamp,
    reaction_type: 'love',
    emoji: null,
    message_id: '',
    message_guid: '',
    associated_message_type: 2000,
  };
  return { ...common, event: { type: 'reaction.added', data: reaction } };
}

function printOfRow(row: ModelRow): Print {
  if (row.isReaction) return REACTION_PRINT;
  const flags: readonly (readonly [boolean, number])[] = [
    [row.isOwn, FLAGS.own],
    [row.isRead, FLAGS.read],
    [row.isDelivered, FLAGS.delivered],
    [row.isFailed, FLAGS.failed],
    [row.version > 1, FLAGS.edited],
    [row.isUnsent, FLAGS.unsent],
  ];
  const bits = flags.reduce((sum, [isSet, bit]) => sum + (isSet ? bit : 0), 0);
  return bits + row.version + additionOf({ attachments: row.files, isDeleted: row.isDeleted }) || 1;
}
