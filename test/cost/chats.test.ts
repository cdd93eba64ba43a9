import { describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { MessagesDirectory } from '../../src/core/chatdb/lookups.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { processorMs, slowness, steepStep } from '../support/processor-time.ts';

const databases = chatDatabases();
const SIZES = [50, 500, 5000];
const ANA = '+15550100';
const include = includeSet(['details']);
const ALL = 1_000_000;
/** Milliseconds of processor time that the list of 5,000 conversations may cost. */
const LIST_MS = 1000;

/** What a hostile or broken chat.db may have: `count` groups, which one row or one identifier connects. */
const SHAPES: Readonly<Record<string, (fixture: ChatFixture, chats: readonly number[]) => void>> = {
  'one unread row in all chats': (fixture, chats) => {
    const row = fixture.message({
      handle_id: fixture.handle(ANA),
      text: 'everywhere',
      date: appleNs('2026-02-01T00:00:00Z'),
    });
    for (const chat of chats) fixture.join(chat, row, appleNs('2026-02-01T00:00:00Z'));
  },
  'all chats in one conversation': (fixture, chats) => {
    for (const chat of chats) fixture.insert('chat_lookup', { identifier: 'one', domain: `d${chat}`, chat });
  },
  'each chat joined to the next': (fixture, chats) => {
    for (const [at, chat] of chats.entries()) {
      for (const n of [at, at + 1]) fixture.insert('chat_lookup', { identifier: `id${n}`, domain: `d${chat}`, chat });
    }
  },
};

const files = new Map<string, string>();

/** Writes `count` groups of two people with a row each, and returns the path of their chat.db. */
function database(shape: string, count: number): string {
  const name = `${shape} ${count}`;
  const known = files.get(name);
  if (known !== undefined) return known;
  const { fixture } = databases.open();
  files.set(name, fixture.path);
  const handle_id = fixture.handle(ANA);
  fixture.transaction(() => {
    const chats = Array.from({ length: count }, (_, at) => {
      const chat = fixture.chat(`any;+;chat${at}`, [ANA, '+15550101']);
      fixture.message({ chat, handle_id, text: `row ${at}`, date: appleNs('2026-01-01T00:00:00Z') + BigInt(at) });
      return chat;
    });
    SHAPES[shape]?.(fixture, chats);
  });
  return fixture.path;
}

/** Reads a chat.db as a service does that has just started. */
function reading(path: string, read: (connection: Connection) => unknown): () => void {
  return () => {
    const connection = new Connection({
      ...{ path, home: '/Users/ada', log: collectingLog() },
      ...{ associatedRows: 'reactions', hidden: [] },
    });
    read(connection);
    connection.close();
  };
}

const READERS: Readonly<Record<string, (connection: Connection) => unknown>> = {
  'the list of conversations': (connection) =>
    new ListReader(connection).conversations({ limit: ALL, offset: 0, include }),
  'a list of messages': (connection) =>
    new ListReader(connection).messages({
      limit: 200,
      offset: 0,
      order: 'desc',
      conversationId: 'any;+;chat1',
      include,
    }),
  'the rights to rows': (connection) =>
    new MessagesDirectory(connection).chatsOfRows(Array.from({ length: 200 }, (_, at) => at + 1)),
  'the index of the search': (connection) =>
    new IndexReader(connection).messages(Array.from({ length: 200 }, (_, at) => at + 1)),
};

describe.each(Object.keys(SHAPES))('%s', (shape) => {
  test.each(Object.keys(READERS))('costs %s no more than its length', (name) => {
    const read = READERS[name] ?? never();
    expect(steepStep((count) => reading(database(shape, count), read), SIZES)).toBeUndefined();
  });

  test('delays the list of 5,000 conversations with their details by little', () => {
    const read = reading(database(shape, 5000), READERS['the list of conversations'] ?? never());
    let ms = Number.POSITIVE_INFINITY;
    for (let again = 0; again < 3 && ms > LIST_MS; again += 1) {
      const slower = slowness();
      const startMs = processorMs();
      read();
      ms = Math.min(ms, (processorMs() - startMs) / slower);
    }
    expect(ms).toBeLessThan(LIST_MS);
  });
});

function never(): never {
  throw new Error('there is no such reader');
}
