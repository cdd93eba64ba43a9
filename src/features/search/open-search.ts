import { join } from 'node:path';
import type { Connection } from '../../core/chatdb/connection.ts';
import { ChatIndexSource, IndexReader } from '../../core/chatdb/index-source.ts';
import type { ChatLog } from '../../core/chatdb/message-log.ts';
import type { Config } from '../../core/config/config.ts';
import type { Host } from '../../core/host.ts';
import { excludeFromBackups } from '../../core/mac/backup-exclusion.ts';
import type { RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { ReaderThread } from '../../core/runtime/reader-thread.ts';
import type { ThreadTargets } from '../../reader-worker.ts';
import { openSearch, type RunningSearch } from './index/open-search.ts';

interface SearchInputs {
  readonly config: Config;
  readonly host: Host;
  readonly connection: Connection;
  readonly thread: ReaderThread<ThreadTargets> | undefined;
  readonly feed: RowFeed;
  readonly messages: ChatLog;
}

/** Opens search. If there is a reader thread, it writes the index and runs the queries. */
export function openSearchIndex({
  config,
  host,
  connection,
  thread,
  feed,
  messages,
}: SearchInputs): Promise<RunningSearch> {
  const { clock, log } = host;
  return openSearch(config.search.isEnabled, {
    path: join(config.dir, 'search.db'),
    associatedRows: config.backend.associatedRows,
    source: new ChatIndexSource(connection, thread),
    work:
      thread === undefined
        ? new IndexReader(connection)
        : {
            find: (...args) => thread.call('finder', 'find', ...args),
            writer: {
              add: (...args) => thread.call('writer', 'add', ...args),
              put: (...args) => thread.call('writer', 'put', ...args),
              advance: (...args) => thread.call('writer', 'advance', ...args),
              merge: (...args) => thread.call('writer', 'merge', ...args),
            },
          },
    feed,
    messages,
    onOpened: host.platform === 'darwin' ? (path) => void excludeFromBackups(host.run, path) : undefined,
    clock,
    log,
  });
}
