import { join } from 'node:path';
import { chatDbNames } from '../../core/chatdb/public.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import type { Gauge } from '../../core/http/metrics/handlers.ts';
import type { StatusWarning } from '../../core/model/status.ts';
import { excludeFromBackups } from './backup-exclusion.ts';
import { ChatIndexSource, IndexReader } from './index/index-source.ts';
import { openSearch } from './index/open-search.ts';
import { SEARCH } from './port.ts';
import type { SearchIndex, SearchReport } from './ports.ts';
import type { SearchTargets } from './rows.ts';

/** Maximum number of skipped messages that the status names. */
const NAMED = 20;

/** Opens search. If there is a reader thread, it writes the index and runs the queries. */
export async function openSearchIndex(core: Core, isEnabled: boolean): Promise<Running> {
  const { config, host, connection, feed, chatLog: messages } = core;
  const { clock, log } = host;
  const thread = core.thread?.with<SearchTargets>();
  // The index always needs changes.
  if (isEnabled) core.detecting.isAlwaysWanted = true;
  const index = await openSearch(isEnabled, {
    path: join(config.dir, 'search.db'),
    associatedRows: config.backend.associatedRows,
    source: new ChatIndexSource(connection, thread),
    work:
      thread === undefined
        ? new IndexReader(connection)
        : {
            find: (...args) => thread.call('finder', 'find', ...args),
            add: (...args) => thread.call('writer', 'add', ...args),
            put: (...args) => thread.call('writer', 'put', ...args),
            advance: (...args) => thread.call('writer', 'advance', ...args),
            merge: (...args) => thread.call('writer', 'merge', ...args),
          },
    feed,
    messages,
    onOpened: host.platform === 'darwin' ? (path) => void excludeFromBackups(host.run, path) : undefined,
    clock,
    log,
  });
  core.ports.provide(SEARCH, {
    status: () => index.status(),
    search: (query, page) => index.search(query, page),
    chats: chatDbNames(connection),
  });
  return {
    start: () => index.start(),
    close: () => index.close(),
    status: () => reported(index),
    warning: () => warningOf(index),
    metrics: (gauge) => measured(index, gauge),
  };
}

function reported(index: SearchIndex): SearchReport | undefined {
  const { isEnabled, isComplete, indexedRows, totalRows, indexedFrom, problem, skippedRows } = index.status();
  if (!isEnabled) return undefined;
  return {
    state: problem !== undefined ? 'failing' : isComplete ? 'complete' : 'building',
    indexed_rows: indexedRows,
    total_rows: totalRows,
    indexed_from: indexedFrom ?? null,
    problem: problem ?? null,
    ...(skippedRows && { skipped_rows: skippedRows.length, skipped_ids: skippedRows.slice(0, NAMED).map(String) }),
  };
}

function warningOf(index: SearchIndex): StatusWarning | undefined {
  const { problem } = index.status();
  if (problem === undefined) return undefined;
  return {
    code: 'search_failing',
    text: `Search does not work as it should: ${problem}.`,
    tone: 'warn',
    title: 'Search is not working',
    clause: 'search is not working',
  };
}

function measured(index: SearchIndex, gauge: Gauge): void {
  const { isEnabled, isComplete, problem, indexedRows } = index.status();
  if (!isEnabled) return;
  gauge('postern_search_complete', 'Whether every message can be found by search.', isComplete ? 1 : 0);
  gauge(
    'postern_search_failing',
    'Whether the search index has stopped following new messages.',
    problem === undefined ? 0 : 1,
  );
  gauge('postern_search_indexed_messages', 'Messages in the search index.', indexedRows);
}
