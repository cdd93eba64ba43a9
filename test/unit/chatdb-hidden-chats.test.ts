import { describe, expect, test } from '@jest/globals';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { skippedAs } from '../../src/core/model/narrowing.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { MACOS_SCHEMAS, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const include = includeSet(['details']);

/** What `is_filtered` and `is_blackholed` say, and whether Messages hides the chat. */
const FILED = [
  [{ is_filtered: 0 }, 'known', false],
  [{ is_filtered: 1 }, 'unknown', false],
  [{ is_filtered: 2 }, 'spam', true],
  [{ is_filtered: 3 }, 'promotion', true],
  [{ is_filtered: 4 }, 'transaction', true],
  [{ is_filtered: 36 }, 'transaction', true],
  [{ is_filtered: 52 }, 'transaction', true],
  [{ is_filtered: 68 }, 'transaction', true],
  [{ is_filtered: 5 }, 'hidden', true],
  [{ is_filtered: 20 }, 'hidden', true],
  [{ is_filtered: 84 }, 'hidden', true],
  [{ is_filtered: -1 }, 'known', false],
  [{ is_filtered: 'two' }, 'known', false],
  [{ is_filtered: 0, is_blackholed: 1 }, 'hidden', true],
  [{ is_filtered: 1, is_blackholed: 1 }, 'hidden', true],
  [{ is_filtered: 3, is_blackholed: 1 }, 'promotion', true],
  [{ is_filtered: 0, is_blackholed: 0 }, 'known', false],
] as const;

function open(schema?: Schema) {
  const { fixture, connection } = databases.open(schema);
  const reader = new ChatReader(connection);
  const log = new ChatLog(connection);
  return {
    fixture,
    reader,
    /** Returns the ids of the conversations, and of the rows, that a reader without junk skips. */
    skipped: (read?: '*' | []) => {
      const key = read === undefined ? undefined : { read };
      const ids = fixture.sqlite.prepare('SELECT guid FROM chat ORDER BY ROWID').all().map(String);
      const marks = reader.marks('conversations', ids);
      const entries = log.entries(rowOffset(0), rowOffset(1000), 1000);
      const rows = entries.map(({ rowId }) => String(rowId));
      const ofRows = reader.marks('messages', rows);
      const isJunk = (mark: Parameters<typeof skippedAs>[1]): boolean =>
        skippedAs({ junk: false }, mark, key) === 'junk';
      // Events and lists mark the same rows.
      expect(entries.map(({ marks: own }) => own)).toEqual(rows.map((id) => ofRows.get(id)));
      return [ids.filter((id) => isJunk(marks.get(id))), rows.filter((id) => isJunk(ofRows.get(id))).map(Number)];
    },
  };
}

describe.each(MACOS_SCHEMAS)('on the %s schema', (schema) => {
  test('a conversation says how Messages files it, and is junk if Messages does not show it', async () => {
    const { fixture, reader, skipped } = open(schema);
    const possible = FILED.filter(([columns]) => Object.keys(columns).every((name) => fixture.hasColumn('chat', name)));
    const rows = possible.map(([columns], at) => {
      const chat = fixture.chat(`any;-;+1555010${at}`, [`+1555010${at}`], columns);
      return fixture.message({ chat, text: 'Your code is 774411', handle_id: 1 });
    });
    const found = await Promise.all(
      possible.map(async (_, at) => reader.conversation(`any;-;+1555010${at}`, { include })),
    );
    expect(found.map((one) => one?.details?.filter)).toEqual(possible.map(([, filter]) => filter));
    const hidden = possible.flatMap(([, , isHidden], at) => (isHidden ? [at] : []));
    expect(hidden.length).toBeGreaterThan(0);
    expect(skipped()).toEqual([hidden.map((at) => `any;-;+1555010${at}`), hidden.map((at) => rows[at])]);
  });

  test('a conversation is not junk to a key whose list names it, but to one that may read everything', () => {
    const { fixture, skipped } = open(schema);
    const chat = fixture.chat('any;-;1', ['1'], { is_filtered: 2 });
    const row = fixture.message({ chat });
    expect(skipped([])).toEqual([[], []]);
    expect(skipped('*')).toEqual([['any;-;1'], [row]]);
  });

  test('a conversation is no junk any more once the owner has written in it', () => {
    const { fixture, skipped } = open(schema);
    const chat = fixture.chat('any;-;1', ['1'], { is_filtered: 2 });
    const row = fixture.message({ chat, handle_id: 1 });
    const system = fixture.message({ chat, is_from_me: 1, item_type: 1 });
    expect(skipped()).toEqual([['any;-;1'], [row, system]]);
    fixture.message({ chat, is_from_me: 1, text: 'Who is this?' });
    expect(skipped()).toEqual([[], []]);
    fixture.message({ chat, handle_id: 1 });
    expect(skipped()).toEqual([[], []]);
  });

  test('a row that Messages marks as outgoing only later counts as written by the owner', () => {
    const { fixture, skipped } = open(schema);
    const chat = fixture.chat('any;-;1', ['1'], { is_filtered: 2 });
    const row = fixture.message({ chat, handle_id: 0 });
    expect(skipped()).toEqual([['any;-;1'], [row]]);
    fixture.sqlite.exec(`UPDATE message SET is_from_me = 1 WHERE ROWID = ${row}`);
    expect(skipped()).toEqual([[], []]);
  });
});

test('a conversation is as before where chat.db does not say how Messages files it', async () => {
  const { fixture, reader } = open('bare');
  const chat = fixture.chat('any;-;1');
  fixture.message({ chat });
  expect((await reader.conversation('any;-;1', { include }))?.details).not.toHaveProperty('filter');
  expect(reader.marks('conversations', ['any;-;1']).size).toBe(0);
});

test('a conversation whose newest message macOS 27 filed as junk is junk, one with an older such message is not', () => {
  const { fixture, skipped } = open('macos-27');
  const [one, other] = [fixture.chat('any;-;1', ['1']), fixture.chat('any;-;2', ['2'])];
  const date = 1_000_000_000_000_000_000n;
  const first = fixture.message({ chat: one, filter_action: 2, handle_id: 1, date });
  const second = fixture.message({ chat: other, filter_action: 2, handle_id: 2, date });
  fixture.message({ chat: other, handle_id: 2, date: date + 1n });
  expect(skipped()).toEqual([['any;-;1'], [first, second]]);
  // The list of a key opens the conversation, and not what macOS filed in it.
  expect(skipped([])).toEqual([[], [first, second]]);
});
