import { earlierRows } from './chatdb/earlier-rows.ts';
import type { CoreBase, CoreMac } from './core.ts';
import { hiddenTexts } from './feature.ts';
import { ChangeStream } from './log/change-stream.ts';
import { Channel } from './log/channel.ts';
import { Feed } from './log/feed.ts';
import { Publisher } from './log/publisher.ts';
import { RowAges, type RowAgesParts } from './log/row-ages.ts';
import { RunningTime } from './log/running-time.ts';
import type { Message } from './model/message.ts';
import { Detecting } from './model/ports/changes-ports.ts';
import type { Log } from './model/ports/host-ports.ts';
import type { AwakeClock } from './runtime/awake-clock.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import type { Sqlite } from './runtime/sqlite.ts';
import { changeStore } from './state/changes-store.ts';
import { cursorStore } from './state/cursor-store.ts';
import { rowAgeStore } from './state/row-ages-store.ts';

/**
 * Connects chat.db with the event log: publishes new rows and the changes that are detected, as one feed. `isAwaited`
 * reports whether a row that looks like an incoming message may be a sent message that Messages has not marked as
 * outgoing yet.
 */
export function openEventLog(core: CoreBase & CoreMac, isAwaited: (message: Message) => boolean) {
  const { host, closers, state, connection, chatLog, awake, sentRows } = core;
  const { clock, log } = host;
  const channel = new Channel();
  const changeLog = changeStore(state);
  const cursor = cursorStore(state, [...host.features, { replaced: () => sentRows.confirmations.restart() }]);
  const published = cursor.load()?.offset.rowId;
  const { ages, noteHealth } = openRowAges({
    ...{ state, awake, closers, log, published },
    isFirstStart: published === undefined,
    earlier: earlierRows(connection),
  });
  const messages = ages.withAges(chatLog);
  const detecting = new Detecting();
  const changeStream = new ChangeStream({ log: changeLog, messages, isDetected: () => detecting.isPossible });
  const publisher = new Publisher({
    messages: chatLog,
    channel,
    cursor,
    changes: { stream: changeStream, printsUpTo: (at) => detecting.printsUpTo(at) },
    isAwaited: ({ event }) => event.type === 'message.received' && isAwaited(event.data),
    ages,
    // It stands still while the Mac sleeps, so that incomplete rows keep their full waiting time.
    clock: awake,
    log,
  });
  closers.add('publisher', {
    start() {
      detecting.start();
      publisher.start();
    },
    close: () => publisher.close(),
  });
  const hidesSome = hiddenTexts(core).length > 0;
  const feed = new Feed({
    channel,
    changes: { stream: changeStream, control: detecting },
    messages,
    replacedAt: () => cursor.replacedAt(),
    hidesSome,
    clock,
    log,
  });
  return { channel, publisher, changeLog, changeStream, detecting, feed, agedLog: messages, ages, noteHealth };
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
