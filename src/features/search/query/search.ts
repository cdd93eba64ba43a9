import type { SearchHit } from '../../../client/search-types.ts';
import { errorCode, isAppError, isChatDbAway } from '../../../core/model/errors.ts';
import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { Page } from '../../../core/model/ports/reading-ports.ts';
import type { Sqlite } from '../../../core/runtime/sqlite.ts';
import { isoOfSecond } from '../index/document.ts';
import { missingFullText } from '../index/index-database.ts';
import { deleteIndex } from '../index/index-file.ts';
import type { RunningSearch } from '../index/open-search.ts';
import { Pace } from '../index/pace.ts';
import { REPLACED, Session, type SessionParts } from '../index/session.ts';
import type { SearchPage } from '../ports.ts';
import { searchProblem } from '../problems.ts';
import type { SearchQuery, SearchStatus } from '../types.ts';

const RETRY_MS = 1000;
/**
 * Delay before another attempt after a lasting failure, such as a full disk. Also the minimum time between rebuilds.
 */
const SLOW_RETRY_MS = 60_000;

export interface SearchParts extends SessionParts {
  /**
   * Opens an empty database. Search creates a full-text table in it, to check whether SQLite supports the index.
   * Default: a database in memory.
   */
  readonly openProbe?: () => Sqlite;
}

/** The error with which a session ends when search.db was deleted. */
const LOST = new Error('search.db was deleted');

/** How to handle a failure: whether to rebuild the file, how long to wait, and the reason to show to the user. */
interface Failure {
  readonly isDamaged: boolean;
  readonly retryMs: number;
  readonly problem?: string;
}

/** The search service: keeps the index up to date while the service runs, whatever happens to the index. */
export class Search implements RunningSearch {
  readonly #parts: SearchParts;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pace: Pace;
  #session: Session | undefined;
  #ended: Promise<void> = Promise.resolve();
  #problem: string | undefined;
  #totalRows = 0;
  #madeAgainAtMs = Number.NEGATIVE_INFINITY;
  /** Makes the running session end with this error. Does nothing before the first session. */
  #discard: (error: unknown) => void = () => undefined;

  constructor(parts: SearchParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#pace = new Pace(parts.clock);
  }

  start(): void {
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#pace.stop();
    this.#discard(undefined);
    await this.#ended;
  }

  status(): SearchStatus {
    const progress = this.#progress();
    const { reached = null, isComplete = false, docs = 0, skipped = [] } = progress ?? {};
    return {
      isEnabled: true,
      isComplete,
      ...(!isComplete && reached !== null && { indexedFrom: isoOfSecond(reached) }),
      indexedRows: docs,
      totalRows: Math.max(docs, this.#totalRows),
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...(skipped.length > 0 && { skippedRows: skipped }),
    };
  }

  async search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>> {
    const { path, work } = this.#parts;
    try {
      const { stale, ...found } = await work.find(path, query, page);
      this.#session?.repair(stale);
      return found;
    } catch (error) {
      if (isAppError(error)) throw error;
      const isLost = errorCode(error) === 'ENOENT';
      if (this.#session !== undefined && (isLost || failureOf(error).isDamaged)) this.#discard(isLost ? LOST : error);
      const reason = this.#problem ?? 'the index is being built';
      throw searchProblem('search_unavailable', { reason }, { cause: error });
    }
  }

  #progress() {
    try {
      return this.#session?.progress();
    } catch {
      return undefined; // the next write will notice the failure and handle it
    }
  }

  async #run(): Promise<void> {
    const missing = missingFullText(this.#parts.openProbe);
    if (missing !== undefined) {
      this.#problem = missing;
      this.#log.warn('search does not work here', { reason: missing });
      return;
    }
    while (!this.#pace.isStopped) {
      try {
        await this.#runSession();
      } catch (error) {
        if (!this.#pace.isStopped) await this.#recover(error);
      }
    }
  }

  async #runSession(): Promise<void> {
    const session = new Session(this.#parts);
    const discarded = new Promise<never>((_resolve, reject) => {
      this.#discard = reject;
    });
    const ended = session.run();
    this.#session = session;
    this.#problem = undefined;
    try {
      const isOver = Promise.race([ended, discarded]);
      const counted = this.#parts.source.count().then((rows) => {
        this.#totalRows = rows;
      });
      await Promise.all([isOver, counted]);
    } finally {
      this.#session = undefined;
      await session.close(ended);
    }
  }

  async #recover(error: unknown): Promise<void> {
    const { isDamaged, retryMs, problem: reason } = failureOf(error);
    const { path } = this.#parts;
    if (reason !== this.#problem && reason !== undefined) {
      this.#log.warn('the search index is not kept up to date', { reason, error });
    }
    this.#problem = reason;
    if (isDamaged) {
      if (error !== REPLACED) this.#log.warn('rebuilding the search index', { error });
      const sinceMs = this.#clock.monotonic() - this.#madeAgainAtMs;
      if (sinceMs < SLOW_RETRY_MS) await this.#pace.sleep(SLOW_RETRY_MS - sinceMs);
      this.#madeAgainAtMs = this.#clock.monotonic();
      deleteIndex(path);
    } else await this.#pace.sleep(retryMs);
  }
}

function failureOf(error: unknown): Failure {
  if (error === REPLACED || error === LOST) return { isDamaged: true, retryMs: 0 };
  if (isChatDbAway(error)) return { isDamaged: false, retryMs: RETRY_MS };
  const code = errorCode(error) ?? '';
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return { isDamaged: false, retryMs: RETRY_MS };
  if (/^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)) {
    return { isDamaged: false, retryMs: SLOW_RETRY_MS, problem: 'the disk is full, and the index cannot grow' };
  }
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN|PERM)|^E[A-Z]+$/.test(code)) {
    return { isDamaged: false, retryMs: SLOW_RETRY_MS, problem: `search.db cannot be written (${code})` };
  }
  if (code.startsWith('SQLITE_')) return { isDamaged: true, retryMs: 0 };
  return {
    isDamaged: false,
    retryMs: SLOW_RETRY_MS,
    problem: 'the index cannot be kept up to date; the log has the cause',
  };
}
