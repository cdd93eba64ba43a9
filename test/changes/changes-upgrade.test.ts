import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChangeStream } from '../../src/core/log/change-stream.ts';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { decodeOffset, encodeOffset, rowOffset } from '../../src/core/model/offset.ts';
import { changeStore } from '../../src/core/state/changes-store.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { ChangeDetection } from '../../src/features/changes/detection.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';

const { open, folder } = chatDatabases();
const HOUR_MS = 3_600_000;
const PUBLISHED_ROWS = 12;
const STARTED_MS = 1_767_400_000_000;
const closing: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** Writes the state.db of a version that computed fingerprints differently, with three changes of the newest row. */
function writeOlderState(path: string): void {
  const state = openStateDatabase(path);
  const store = changeStore(state);
  const rows = Array.from({ length: PUBLISHED_ROWS }, (_, index) => index + 1);
  store.begin(STARTED_MS, new Map(rows.map((row) => [row, row])));
  const read = { kind: 'updated', rowId: PUBLISHED_ROWS, changes: ['read'] } as const;
  store.record([read, read, read], new Map(), STARTED_MS);
  cursorStore(state).save({ offset: rowOffset(PUBLISHED_ROWS), guid: `ROW-${PUBLISHED_ROWS}`, inode: '7' });
  state.exec('UPDATE change_detection SET prints_version = 0');
  state.close();
}

/** Opens the event log of the current version over that state, and over a chat.db with the same rows. */
function upgraded(name: string) {
  const path = join(folder, name);
  writeOlderState(path);
  const { fixture, connection } = open();
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  const handle = fixture.handle('+15550100');
  for (let row = 1; row <= PUBLISHED_ROWS; row += 1) {
    fixture.message({ chat, guid: `ROW-${row}`, handle_id: handle, text: `text ${row}` });
  }
  connection.check();
  const clock = new FakeClock(STARTED_MS);
  const log = collectingLog();
  const state = openStateDatabase(path);
  const store = changeStore(state);
  const messages = new ChatLog(connection);
  const prints = new Fingerprints(connection);
  const stream = new ChangeStream({ log: store, messages });
  const channel = new Channel();
  const publisher: Publisher = new Publisher({
    messages,
    channel,
    cursor: cursorStore(state),
    changes: { stream, printsUpTo: (at) => detection.printsUpTo(at) },
    clock,
    log,
  });
  const detection: ChangeDetection = new ChangeDetection({
    mode: 'auto',
    store,
    prints,
    background: {
      range: async (...range) => prints.range(...range),
      origins: async (...range) => prints.origins(...range),
    },
    cursor: () => publisher.cursor,
    stream,
    publish: () => publisher.publishPending(),
    clock,
    log,
  });
  const feed = new Feed({ channel, changes: { stream, control: detection }, messages, clock, log });
  closing.push(
    () => state.close(),
    () => publisher.close(),
    () => detection.close(),
  );
  detection.start();
  publisher.start();
  const entries: LogEntry[] = [];
  // An offset after the first of three changes, as a client stores it.
  const kept = decodeOffset(encodeOffset({ rowId: PUBLISHED_ROWS, change: 1 }, store.generation()));
  const reader = feed.resume(feed.resolve(kept, { changes: true }), () => {}, { changes: true });
  const commit = async (): Promise<readonly LogEntry[]> => {
    connection.check();
    publisher.publishPending();
    detection.noteCommit();
    await clock.advance(HOUR_MS);
    for (;;) {
      const batch = reader.take(100);
      entries.push(...batch.entries);
      if (batch.entries.length === 0) return entries.splice(0);
    }
  };
  return { fixture, store, commit, feed };
}

const told = (entries: readonly LogEntry[]): string[] =>
  entries.map(({ rowId, event }) => `${rowId} ${event.type}${'changes' in event ? ` ${event.changes.join()}` : ''}`);

test('an upgrade alone brings an open offset only the changes that it still lacked', async () => {
  const { commit, store } = upgraded('quiet.db');
  // Changes that the earlier version had logged after the offset.
  expect(told(await commit())).toEqual(['12 message.updated read', '12 message.updated read']);
  expect(told(await commit())).toEqual([]);
  expect([store.generation(), store.newest()]).toEqual([1, 3]);
  expect(store.state().sweptAtMs).not.toBeNull();
});

test('changes of old rows are reported after an upgrade as before', async () => {
  const { fixture, commit } = upgraded('changes.db');
  await commit();
  fixture.sqlite.exec('UPDATE message SET is_read = 1 WHERE ROWID = 5');
  fixture.sqlite.exec('DELETE FROM message WHERE ROWID = 7');
  fixture.message({ guid: 'NEW', text: 'new', chat: 1, handle_id: 1 });
  expect(told(await commit()).sort()).toEqual(
    [`${PUBLISHED_ROWS + 1} message.received`, '5 message.updated read', '7 message.removed'].sort(),
  );
});
