import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MessageDetails } from '../../core/model/details.ts';
import type { Message } from '../../core/model/message.ts';
import type { Reaction } from '../../core/model/reaction.ts';
import { openSqlite, type Sqlite, type Statement } from '../../core/runtime/sqlite.ts';
import type { ArchiveSource } from './archive-source.ts';
import { type ArchivedLine, keyOfLine, rowKey } from './archived-line.ts';

/** The result of comparing the messages and reactions of an archive with a chat.db. */
export interface Comparison {
  readonly same: number;
  /** Number of rows that only chat.db contains. */
  readonly not_archived: number;
  /** Number of rows that only the archive contains: deleted from Messages, or archived from another chat.db. */
  readonly gone: number;
  /** Number of rows whose content differs, for example because of an edit after the last run. */
  readonly differs: number;
  /** The guids of the first rows that differ, at most `MAX_DIFFERING`. */
  readonly differing: readonly string[];
}

export interface CompareParts {
  readonly source: ArchiveSource;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

const ROWS_AT_ONCE = 500;
const MAX_DIFFERING = 100;
const REMOVED = 'removed';

/**
 * Compares the archive's latest line about each row with chat.db. Writes to neither. Keeps hashes of the lines in a
 * temporary database, which SQLite removes by itself.
 */
export class ArchiveComparison {
  readonly #sqlite: Sqlite;
  readonly #put: Statement;
  readonly #get: Statement;
  readonly #delete: Statement;

  constructor() {
    this.#sqlite = openSqlite('');
    this.#sqlite.exec('CREATE TABLE line (guid TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID; BEGIN');
    this.#put = this.#sqlite.prepare('INSERT OR REPLACE INTO line VALUES (?, ?)');
    this.#get = this.#sqlite.prepare('SELECT content FROM line WHERE guid = ?');
    this.#delete = this.#sqlite.prepare('DELETE FROM line WHERE guid = ?');
  }

  /** Adds a line of the archive. Later lines about a row replace earlier ones, so add each file's lines in order. */
  add(line: ArchivedLine): void {
    const guid = keyOfLine(line);
    const row = line.message ?? line.reaction;
    if (guid !== undefined) this.#put.run(guid, row === undefined ? REMOVED : contentOf(row));
  }

  async with({ source, signal, onProgress }: CompareParts): Promise<Comparison> {
    const total = source.count();
    const upTo = source.highestRowId();
    const differing: string[] = [];
    let [same, notArchived, differs, done] = [0, 0, 0, 0];
    for (let after = 0; !signal.aborted; ) {
      const rows = source.rows(after, upTo, ROWS_AT_ONCE);
      const last = rows.at(-1);
      if (last === undefined) break;
      for (const { rowId, guid, event } of [...source.entries(rows)].flat()) {
        const key = rowKey(guid, rowId);
        const archived = this.#get.get(key)?.[0];
        this.#delete.run(key);
        if (archived === undefined) notArchived += 1;
        else if (archived === contentOf(event.data)) same += 1;
        else {
          differs += 1;
          if (differing.length < MAX_DIFFERING) differing.push(key);
        }
      }
      after = last.rowId;
      done += rows.length;
      onProgress(done, total);
      await nextTurn();
    }
    const gone = Number(this.#sqlite.prepare('SELECT count(*) FROM line').get()?.[0] ?? 0);
    return { same, not_archived: notArchived, gone, differs, differing };
  }

  close(): void {
    this.#sqlite.close();
  }
}

/**
 * Returns a hash of the content that people see. Leaves out receipts, and ids that differ between two chat.db files.
 */
function contentOf(row: Message | Reaction): string {
  const { guid, sender, timestamp } = row;
  const content =
    'message_guid' in row
      ? [row.message_guid, row.reaction_type, row.emoji]
      : [row.body, row.details?.retracted_at, ...partsOf(row.details)];
  return hash('sha256', JSON.stringify([guid, sender, timestamp, ...content]), 'hex').slice(0, 32);
}

function partsOf(details: MessageDetails | undefined): readonly unknown[] {
  return [details?.edits, details?.unsent_parts, details?.attachments.map(({ name, bytes }) => [name, bytes])];
}
