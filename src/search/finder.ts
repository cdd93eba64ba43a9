import { statSync } from 'node:fs';
import type { IndexSource, SearchPage } from '../domain/ports/search.ts';
import { problem } from '../domain/problems.ts';
import type { SearchHit, SearchQuery } from '../domain/search.ts';
import type { Sqlite, SqlValue } from '../runtime/sqlite.ts';
import { openIndexForReading } from './database.ts';
import { secondOfMs } from './document.ts';
import { Documents, LAST_ID, type Place } from './documents.ts';
import { expressionOf, isAsked } from './expression.ts';
import { conversationFilter, matcherOf } from './matcher.ts';

/** Documents looked at for one page at most: with a filter that the index cannot answer, more pages come. */
const MAX_CANDIDATES = 20_000;

type FinderSource = Pick<IndexSource, 'messages' | 'conversations'>;

export interface Found {
  readonly items: readonly SearchHit[];
  readonly next?: string;
  /** Documents that are not what their messages are. */
  readonly stale: readonly Place[];
}

/** Answers queries from the index and chat.db, however long it takes. It runs in the reader thread where there is one. */
export class Finder {
  readonly #source: FinderSource;
  #open: { readonly path: string; readonly file: string; readonly sqlite: Sqlite } | undefined;

  constructor(source: FinderSource) {
    this.#source = source;
  }

  /** Throws SQLite's error when the index cannot be read. */
  find(path: string, query: SearchQuery, { limit, cursor }: SearchPage): Found {
    const sqlite = this.#sqlite(path);
    const matches = matcherOf(query);
    const items: SearchHit[] = [];
    const stale: Place[] = [];
    const seen = new Set<number>();
    const { from, before } = boundsOf(sqlite, query);
    let end = cursor === undefined ? before : Math.min(before, idOf(cursor));
    let shown = end;
    for (let looked = 0; looked < MAX_CANDIDATES; ) {
      const candidates = candidatesOf(sqlite, query, from, end, limit + 1);
      const meant = this.#inConversations(query, candidates);
      const messages = this.#source.messages(meant.map(({ row }) => row));
      for (const [at, { id, row }] of meant.entries()) {
        const message = messages[at];
        end = id;
        const match = message === undefined || !Documents.isPlaceOf(id, row, message) ? 'stale' : matches(message);
        if (match === 'stale') stale.push({ id, row });
        else if (match !== 'other' && message !== undefined && !seen.has(row)) {
          if (items.length === limit) return { items, next: String(shown), stale };
          seen.add(row);
          items.push({ message, highlights: match.highlights });
          shown = id;
        }
      }
      if (candidates.length <= limit) return { items, stale };
      end = candidates.at(-1)?.id ?? end;
      looked += candidates.length;
    }
    return { items, next: String(end), stale };
  }

  /** Where a list of conversations was too long to ask the index for, those of the candidates that are in them. */
  #inConversations(query: SearchQuery, candidates: readonly Place[]): readonly Place[] {
    if (query.conversations.every(isAsked)) return candidates;
    const isMeant = conversationFilter(query);
    const conversations = this.#source.conversations(candidates.map(({ row }) => row));
    // A row that is gone is looked at, and found stale.
    return candidates.filter((_place, at) => isMeant(conversations[at] ?? '') || conversations[at] === undefined);
  }

  close(): void {
    this.#open?.sqlite.close();
    this.#open = undefined;
  }

  /** The file may have been made again since. */
  #sqlite(path: string): Sqlite {
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    const file = `${ino}:${birthtimeNs}`;
    if (this.#open?.path !== path || this.#open.file !== file) {
      this.close();
      this.#open = { path, file, sqlite: openIndexForReading(path) };
    }
    return this.#open.sqlite;
  }
}

/** The ids between which the documents are: a document may stand behind its second, by as much as `shift`. */
function boundsOf(
  sqlite: Sqlite,
  { fromMs, beforeMs }: SearchQuery,
): { readonly from: number; readonly before: number } {
  const shift = Number(sqlite.prepare('SELECT shift FROM about').get()?.[0] ?? 0);
  return {
    from: fromMs === undefined ? 0 : Math.max(0, secondOfMs(fromMs)),
    before: beforeMs === undefined ? LAST_ID : Math.max(0, secondOfMs(beforeMs)) + shift,
  };
}

/** Newest first. Bounds are bound as BigInt: FTS5 passes over everything newer when it is given a double. */
function candidatesOf(
  sqlite: Sqlite,
  query: SearchQuery,
  from: number,
  before: number,
  limit: number,
): readonly Place[] {
  const expression = expressionOf(query);
  const bounds: SqlValue[] = [BigInt(before), BigInt(from), BigInt(limit)];
  const rows =
    expression === undefined
      ? sqlite
          .prepare('SELECT id, row FROM doc WHERE id < ? AND id >= ? AND row IS NOT NULL ORDER BY id DESC LIMIT ?')
          .all(...bounds)
      : sqlite
          .prepare(
            `SELECT ft.rowid, d.row FROM ft JOIN doc d ON d.id = ft.rowid
             WHERE ft MATCH ? AND ft.rowid < ? AND ft.rowid >= ? AND d.row IS NOT NULL ORDER BY ft.rowid DESC LIMIT ?`,
          )
          .all(expression, ...bounds);
  return rows.map(([id, row]) => ({ id: id as number, row: row as number }));
}

function idOf(cursor: string): number {
  if (!/^\d{1,13}$/.test(cursor)) throw problem('invalid_cursor');
  return Number(cursor);
}
