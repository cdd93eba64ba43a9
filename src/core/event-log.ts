import { join } from 'node:path';
import { ChangeDetection } from '../features/changes/detection.ts';
import type { ThreadTargets } from '../reader-worker.ts';
import type { Connection } from './chatdb/connection.ts';
import { earlierRows } from './chatdb/earlier-rows.ts';
import { Fingerprints } from './chatdb/fingerprints.ts';
import type { ChatLog } from './chatdb/message-log.ts';
import type { Config } from './config/config.ts';
import { hiddenTexts } from './feature.ts';
import type { Host } from './host.ts';
import { ChangeStream } from './log/change-stream.ts';
import { Channel } from './log/channel.ts';
import { Feed } from './log/feed.ts';
import { Publisher } from './log/publisher.ts';
import { RowAges, type RowAgesParts } from './log/row-ages.ts';
import { RunningTime } from './log/running-time.ts';
import type { Message } from './model/message.ts';
import type { Log } from './model/ports/host-ports.ts';
import type { AwakeClock } from './runtime/awake-clock.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import type { ReaderThread } from './runtime/reader-thread.ts';
import type { Sqlite } from './runtime/sqlite.ts';
import { changeStore } from './state/changes-store.ts';
import { cursorStore } from './state/cursor-store.ts';
import { rowAgeStore } from './state/row-ages-store.ts';

/**
 * Number of blocks that change detection reads between two checkpoints of state.db. Each block writes four pages, so
 * this many blocks stay below 4,000 pages. At 4,000 pages, SQLite would checkpoint by itself, on the main thread.
 */
const BLOCKS_A_CHECKPOINT = 900;

interface EventLogParts {
  readonly config: Config;
  readonly host: Host;
  readonly closers: Cleanup;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly thread: ReaderThread<ThreadTargets> | undefined;
  readonly chatLog: ChatLog;
  /** A clock that stands still while the Mac sleeps, so that incomplete rows keep their full waiting time. */
  readonly awake: AwakeClock;
  /**
   * Reports whether a row that looks like an incoming message may be a sent message that Messages has not marked as
   * outgoing yet.
   */
  readonly isAwaited: (message: Message) => boolean;
}

/** Connects chat.db with the event log: publishes new rows, detects changes, and offers both as one feed. */
export function openEventLog(parts: EventLogParts) {
  const { config, host, closers, state, connection, thread, chatLog, awake, isAwaited } = parts;
  const { clock, log } = host;
  const channel = new Channel();
  const changeLog = changeStore(state);
  const cursor = cursorStore(state, host.features);
  const published = cursor.load()?.offset.rowId;
  const { ages, noteHealth } = openRowAges({
    ...{ state, awake, closers, log, published },
    isFirstStart: published === undefined,
    earlier: earlierRows(connection),
  });
  const messages = ages.withAges(chatLog);
  const stream = new ChangeStream({ log: changeLog, messages });
  const publisher: Publisher = new Publisher({
    messages: chatLog,
    channel,
    cursor,
    changes: { stream, printsUpTo: (at) => detection.printsUpTo(at) },
    isAwaited: ({ event }) => event.type === 'message.received' && isAwaited(event.data),
    ages,
    clock: awake,
    log,
  });
  const prints = new Fingerprints(connection);
  let blocks = 0;
  const detection: ChangeDetection = new ChangeDetection({
    // `auto` detects changes only while a client asks for them, but the search index always needs them.
    mode: config.changes.enabled === 'auto' && config.search.isEnabled ? true : config.changes.enabled,
    store: changeLog,
    prints,
    background: {
      range: async (...range) => {
        blocks += 1;
        if (blocks % BLOCKS_A_CHECKPOINT === 0) await checkpoint(join(config.dir, 'state.db'), { thread, log });
        return thread?.call('prints', 'range', ...range) ?? prints.range(...range);
      },
      origins: async (...range) => thread?.call('prints', 'origins', ...range) ?? prints.origins(...range),
    },
    cursor: () => publisher.cursor,
    stream,
    publish: () => publisher.publishPending(),
    clock,
    log,
  });
  closers.add('detection of changes', { start: () => detection.start(), close: () => detection.close() });
  closers.add('publisher', { start: () => publisher.start(), close: () => publisher.close() });
  const hidesSome = hiddenTexts(config, host.features).length > 0;
  const feed = new Feed({ channel, changes: { stream, control: detection }, messages, hidesSome, clock, log });
  return { channel, publisher, detection, feed, messages, ages, noteHealth };
}

/**
 * Makes a checkpoint in the reader thread, because checkpoints wait for the disk. If that fails, SQLite makes one at a
 * later commit.
 */
async function checkpoint(
  path: string,
  { thread, log }: Pick<EventLogParts, 'thread'> & { readonly log: Log },
): Promise<void> {
  try {
    await thread?.call('files', 'checkpoint', path);
  } catch (error) {
    log.debug('state.db-wal could not be copied into state.db', { error });
  }
}

interface OpenRowAgesParts extends Pick<RowAgesParts, 'earlier' | 'published'> {
  readonly state: Sqlite;
  readonly awake: AwakeClock;
  /** True if the service has never run. Rows from before its first start then do not count as late. */
  readonly isFirstStart: boolean;
  readonly closers: Cleanup;
  readonly log: Log;
}

/** Determines how old rows were when they arrived, and records when chat.db was watched. */
export function openRowAges({ state, awake, isFirstStart, closers, log, ...parts }: OpenRowAgesParts) {
  const store = rowAgeStore(state);
  const running = new RunningTime(awake, isFirstStart ? [{ fromMs: 0, toMs: awake.now() }] : store.spans());
  /**
   * Stores the periods in which chat.db was watched. After a crash, the time since the last save counts as unwatched.
   */
  const save = (): void => {
    try {
      store.saveSpans(running.spans);
    } catch (error) {
      log.error('could not store the periods in which chat.db was watched', { error });
    }
  };
  save();
  const ages = new RowAges({ ...parts, store, running, log });
  awake.onSleep((ms) => {
    running.noteSleep(ms);
    ages.noteSleep(awake.now() - ms, awake.now());
    save();
  });
  closers.add('row ages', () => {
    running.end();
    save();
  });
  return {
    ages,
    /** Records whether chat.db is readable. Rows that arrived while it was unreadable do not count as late. */
    noteHealth: (isConnected: boolean): void => {
      if (isConnected) running.begin();
      else running.end();
      save();
    },
  };
}
