import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChangeStream } from '../../src/core/log/change-stream.ts';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { decodeOffset, encodeOffset } from '../../src/core/model/offset.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { changeStore } from '../../src/core/state/changes-store.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { ChangeDetection } from '../../src/features/changes/detection.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { fillUpgradedChat, PUBLISHED_ROWS } from '../support/upgraded-chat.ts';

const { open, folder } = chatDatabases();
const HOUR_MS = 3_600_000;
const closing: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** Opens the event log of the current version over the state.db and chat.db of the version with schema 24. */
function upgraded(name: string) {
  const path = join(folder, name);
  const old = openSqlite(path);
  old.exec(readFileSync(new URL('../support/state-version-24.sql', import.meta.url), 'utf8'));
  old.close();
  const { fixture, connection } = open();
  fillUpgradedChat(fixture);
  fixture.sqlite.exec('UPDATE message SET is_read = 1, date_read = 5 WHERE ROWID = 1');
  connection.check();
  const clock = new FakeClock(1_767_400_000_000);
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
  const kept = decodeOffset(encodeOffset({ rowId: PUBLISHED_ROWS, change: 1 }, 2));
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

test('an upgrade alone tells an open offset nothing but what it still lacked', async () => {
  const { commit, store } = upgraded('quiet.db');
  // Changes that the earlier version had logged after the offset: read, then unread again.
  expect(told(await commit())).toEqual(['12 message.updated read', '12 message.updated read']);
  expect(told(await commit())).toEqual([]);
  expect([store.generation(), store.newest()]).toEqual([2, 3]);
  expect(store.state().sweptAtMs).not.toBeNull();
});

test('after an upgrade what happens to the old rows is told as before', async () => {
  const { fixture, commit } = upgraded('changes.db');
  await commit();
  fixture.sqlite.exec('UPDATE message SET is_read = 1 WHERE ROWID = 5');
  fixture.sqlite.exec('DELETE FROM message WHERE ROWID = 7');
  fixture.message({ guid: 'NEW', text: 'new', chat: 1, handle_id: 1 });
  expect(told(await commit()).sort()).toEqual(
    [`${PUBLISHED_ROWS + 1} message.received`, '5 message.updated read', '7 message.removed'].sort(),
  );
});
