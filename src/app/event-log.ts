import { ChangeDetection } from '../changes/detection.ts';
import type { Connection } from '../chatdb/connection.ts';
import { Fingerprints } from '../chatdb/fingerprints.ts';
import type { ChatLog } from '../chatdb/message-log.ts';
import type { Config } from '../config.ts';
import { ChangeStream } from '../events/change-stream.ts';
import { Channel } from '../events/channel.ts';
import { Feed } from '../events/feed.ts';
import { Publisher } from '../events/publisher.ts';
import type { ThreadMethods } from '../reader-worker.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import type { ReaderThread } from '../runtime/reader-thread.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { changeStore } from '../state/changes.ts';
import { cursorStore } from '../state/cursor.ts';
import type { Host } from './host.ts';

interface EventLogParts {
  readonly config: Config;
  readonly host: Host;
  readonly closers: Cleanup;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly thread: ReaderThread<ThreadMethods> | undefined;
  readonly chatLog: ChatLog;
}

/** Creates what makes events of chat.db: new rows are published, changes of others detected, and both read from one feed. */
export function openEventLog({ config, host, closers, state, connection, thread, chatLog }: EventLogParts) {
  const { clock, log } = host;
  const channel = new Channel();
  const changeLog = changeStore(state);
  const stream = new ChangeStream({ log: changeLog, messages: chatLog });
  const publisher: Publisher = new Publisher({
    messages: chatLog,
    channel,
    cursor: cursorStore(state),
    changes: { stream, printsUpTo: (at) => detection.printsUpTo(at) },
    clock,
    log,
  });
  closers.add('publisher', () => publisher.close());
  const prints = new Fingerprints(connection);
  const detection: ChangeDetection = new ChangeDetection({
    // The index of search is kept up to date by changes.
    mode: config.changes.enabled === 'auto' && config.search.isEnabled ? true : config.changes.enabled,
    store: changeLog,
    prints,
    background: {
      range: async (...range) => thread?.call('range', ...range) ?? prints.range(...range),
      origins: async (...range) => thread?.call('origins', ...range) ?? prints.origins(...range),
    },
    cursor: () => publisher.cursor,
    stream,
    publish: () => publisher.publishPending(),
    clock,
    log,
  });
  closers.add('detection of changes', () => detection.close());
  const feed = new Feed({ channel, changes: { stream, control: detection }, messages: chatLog, clock, log });
  return { channel, publisher, detection, feed };
}
