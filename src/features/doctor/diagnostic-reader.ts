import { type FSWatcher, watch } from 'node:fs';
import {
  type AttachmentLocation,
  type ChangeDiagnostics,
  type DataShapes,
  GUID_PREFIXES,
  type GuidPrefix,
  type NewRow,
  type PrefixCounts,
  type SqliteDiagnostics,
} from '../../client/diagnostics-types.ts';
import { APPLE_EPOCH_S } from '../../core/model/durations.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { openSqlite, type Sqlite } from '../../core/runtime/sqlite.ts';
import { chatShapes, numberOf, selfShape } from './chat-shapes.ts';
import { dataShapes, sqliteDiagnostics } from './data-shapes.ts';

/** Interval in milliseconds at which `watch` looks for commits that no file event announces. */
const POLL_MS = 100;
/** For this many milliseconds after a file event, `watch` looks for a commit every millisecond. */
const AFTER_EVENT_MS = 250;
const MAX_ROWS = 50;
const MAX_DELAYS = 100;
const MAX_ADDRESSES = 20;
/** The owner's addresses are taken from this many of the newest rows. */
const RECENT_ROWS = 2000;

interface SeenRow {
  readonly first: { readonly isFromMe: boolean; readonly hasHandle: boolean; readonly ageS: number | null };
  readonly seenMs: number;
  readonly joinDelayMs: number | null;
}

/**
 * Returns the prefix of a chat guid, such as `iMessage;-;`. Returns `other` if the prefix is not in `GUID_PREFIXES`.
 */
export function prefixOf(guid: string): GuidPrefix {
  const found = /^(any|imessage|sms|rcs);([-+]);/i.exec(guid);
  const prefix = GUID_PREFIXES.find((known) => known.toLowerCase() === found?.[0].toLowerCase());
  return prefix ?? 'other';
}

export function prefixCounts(guids: readonly string[]): PrefixCounts {
  const counts: Partial<Record<GuidPrefix, number>> = {};
  for (const guid of guids) counts[prefixOf(guid)] = (counts[prefixOf(guid)] ?? 0) + 1;
  return counts;
}

/**
 * Examines the structure of chat.db, and how chat.db changes, for a report. Opens its own connection. Reads no content
 * of messages.
 */
export class DiagnosticReader {
  readonly #path: string;
  readonly #sqlite: Sqlite;
  readonly #columns: readonly string[];

  /** Throws SQLite's error if chat.db is unreadable. */
  constructor(path: string) {
    this.#path = path;
    this.#sqlite = openSqlite(path, { readonly: true, busyTimeoutMs: 100 });
    this.#columns = this.#strings("SELECT name FROM pragma_table_info('message')");
  }

  chatGuids(): readonly string[] {
    return this.#strings('SELECT guid FROM chat WHERE guid IS NOT NULL');
  }

  /**
   * Returns the owner's addresses, most recently used first. Removes the prefix of a stored account, such as
   * `E:me@example.org` or `P:+15550100`.
   */
  ownAddresses(): readonly string[] {
    const sources = ['destination_caller_id', 'account'].filter((name) => this.#columns.includes(name));
    const selects = sources.map(
      (name) =>
        `SELECT ${name} AS address, ROWID AS row FROM message WHERE ROWID > (SELECT max(ROWID) FROM message) - ${RECENT_ROWS}`,
    );
    if (selects.length === 0) return [];
    const found = this.#strings(
      `SELECT address FROM (${selects.join(' UNION ALL ')}) WHERE address <> '' GROUP BY address ORDER BY max(row) DESC`,
    );
    const addresses = found.map((address) => address.replace(/^[EP]:/i, '')).filter(isAddress);
    return [...new Set(addresses)].slice(0, MAX_ADDRESSES);
  }

  /**
   * Watches chat.db and its -wal until `isEnough` returns true; asks it every `POLL_MS`. Rejects if chat.db becomes
   * unreadable.
   */
  watch(isEnough: () => boolean, clock: Clock): Promise<ChangeDiagnostics> {
    const startMs = clock.monotonic();
    const since = (ms: number): number => Math.round((clock.monotonic() - ms) * 10) / 10;
    const walEvents = { change: 0, rename: 0 };
    const delays: number[] = [];
    const seen = new Map<number, SeenRow>();
    const firstRow = this.#highestRow();
    let version = this.#version();
    let changes = 0;
    let eventMs: number | undefined;
    let isOver = false;

    /** Reports whether there was a commit since the last call. */
    const look = (): boolean => {
      const now = this.#version();
      if (now === version) return false;
      version = now;
      changes += 1;
      if (eventMs !== undefined && delays.length < MAX_DELAYS) delays.push(since(eventMs));
      eventMs = undefined;
      for (const row of this.#rowsAbove(firstRow)) {
        const { seenMs, joinDelayMs } = seen.get(row) ?? { seenMs: since(startMs), joinDelayMs: null };
        const first = seen.get(row)?.first ?? this.#firstSight(row, clock.now());
        const isJoinedNow = joinDelayMs === null && this.#isJoined(row);
        seen.set(row, { first, seenMs, joinDelayMs: isJoinedNow ? Math.max(0, since(startMs + seenMs)) : joinDelayMs });
      }
      return true;
    };

    return new Promise((resolve, reject) => {
      const watcher = watchFile(`${this.#path}-wal`, (kind) => {
        walEvents[kind] += 1;
        if (eventMs !== undefined || isOver) return;
        eventMs = clock.monotonic();
        attempt(lookAfterEvent);
      });
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        watcher?.close();
        resolve({
          seconds: Math.round(since(startMs) / 1000),
          data_version_changes: changes,
          wal_events: watcher === undefined ? null : walEvents,
          event_to_row_ms: delays,
          rows: this.#newRows(seen),
        });
      };
      const attempt = (work: () => void): void => {
        try {
          if (!isOver) work();
        } catch (error) {
          isOver = true;
          watcher?.close();
          reject(new Error('chat.db cannot be read any more', { cause: error }));
        }
      };
      const lookAfterEvent = (): void => {
        if (eventMs === undefined || look()) return;
        if (since(eventMs) > AFTER_EVENT_MS) eventMs = undefined;
        else clock.after(1, () => attempt(lookAfterEvent));
      };
      const poll = (): void => {
        look();
        if (isEnough()) end();
        else clock.after(POLL_MS, () => attempt(poll));
      };
      attempt(poll);
    });
  }

  close(): void {
    this.#sqlite.close();
  }

  dataShapes(): DataShapes {
    return { ...dataShapes(this.#sqlite, this.#columns), chats: chatShapes(this.#sqlite) };
  }

  sqlite(): SqliteDiagnostics {
    return sqliteDiagnostics(this.#sqlite);
  }

  #firstSight(row: number, nowMs: number): SeenRow['first'] {
    const [isFromMe, handle, date] =
      this.#sqlite.prepare('SELECT is_from_me, handle_id, date / 1 FROM message WHERE ROWID = ?').get(row) ?? [];
    const ageS = Math.round(nowMs / 1000 - APPLE_EPOCH_S - appleSeconds(Number(date ?? 0)));
    return { isFromMe: Number(isFromMe) === 1, hasHandle: Number(handle ?? 0) !== 0, ageS: ageS < 0 ? null : ageS };
  }

  #newRows(seen: ReadonlyMap<number, SeenRow>): readonly NewRow[] {
    const own = new Set(this.ownAddresses());
    const [chats, handles] = [new Map<number, number>(), new Map<number, number>()];
    return [...seen].map(([row, times]) => {
      const { chat, handle, isSelf, isDelivered } = selfShape(this.#sqlite, this.#columns, row, own);
      const numbers = { chat: numberOf(chat, chats), handle: numberOf(handle, handles) };
      return { ...this.#newRow(row, times), is_self: isSelf, delivered: isDelivered, ...numbers };
    });
  }

  #newRow(row: number, { first, seenMs, joinDelayMs }: SeenRow): NewRow {
    const tests = this.#columns.map((name) => `"${name}" IS NOT NULL AND "${name}" NOT IN (0, '')`);
    const [isFromMe, error, ...set] =
      this.#sqlite.prepare(`SELECT is_from_me, error, ${tests.join(', ')} FROM message WHERE ROWID = ?`).get(row) ?? [];
    return {
      row_id: row,
      is_from_me: Number(isFromMe) === 1,
      seen_ms: seenMs,
      join_delay_ms: joinDelayMs,
      columns: this.#columns.filter((_name, index) => Number(set[index]) === 1),
      error: Number(error ?? 0),
      age_s: first.ageS,
      flipped: first.isFromMe !== (Number(isFromMe) === 1),
      had_handle: first.hasHandle,
      attachments: this.#locations(row),
    };
  }

  #locations(row: number): readonly AttachmentLocation[] {
    return this.#strings(
      `SELECT ifnull(a.filename, '') FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
       WHERE j.message_id = ?`,
      row,
    ).map((path) => {
      if (path === '') return 'none';
      if (path.includes('/Attachments/Postern/')) return 'staged';
      return path.includes('/Library/Messages/') ? 'messages' : 'elsewhere';
    });
  }

  #version(): number {
    return Number(this.#sqlite.prepare('PRAGMA data_version').get()?.[0]);
  }

  #highestRow(): number {
    return Number(this.#sqlite.prepare('SELECT max(ROWID) FROM message').get()?.[0] ?? 0);
  }

  #rowsAbove(row: number): readonly number[] {
    const found = this.#sqlite
      .prepare('SELECT ROWID FROM message WHERE ROWID > ? ORDER BY ROWID LIMIT ?')
      .all(row, MAX_ROWS);
    return found.map(([id]) => Number(id));
  }

  #isJoined(row: number): boolean {
    return this.#sqlite.prepare('SELECT 1 FROM chat_message_join WHERE message_id = ?').get(row) !== undefined;
  }

  #strings(sql: string, ...parameters: number[]): readonly string[] {
    return this.#sqlite
      .prepare(sql)
      .all(...parameters)
      .map(([value]) => String(value ?? ''));
  }
}

/** Converts a stored date, in seconds or nanoseconds since 2001, to seconds since 2001. */
function appleSeconds(date: number): number {
  return Math.abs(date) > 1e10 ? date / 1e9 : date;
}

function isAddress(text: string): boolean {
  return /^\+?\d{5,}$/.test(text) || /^[^@\s;]+@[^@\s;]+$/.test(text);
}

function watchFile(path: string, onEvent: (kind: 'change' | 'rename') => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, onEvent);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined; // there is no -wal
  }
}
