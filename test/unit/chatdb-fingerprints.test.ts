import { describe, expect, test } from '@jest/globals';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import {
  ADDED,
  ADDED_KINDS,
  changesBetween,
  NO_PRINT,
  type Print,
  REACTION_PRINT,
} from '../../src/core/model/fingerprint.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { encodeBinaryPlist } from '../../src/features/simulator/binary-plist.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { type ChatFixture, isSince13, MACOS_SCHEMAS } from '../support/chat-fixture.ts';

const { open } = chatDatabases();
const NOWHERE = rowOffset(0);

/** Writes a message of each kind, with its print, and returns how changes of it are named. */
function watch(schema: Parameters<typeof open>[0]) {
  const { fixture, connection } = open(schema);
  const reader = new Fingerprints(connection);
  const print = (rowId: number): Print => {
    connection.check();
    return reader.rows(NOWHERE, [rowId]).prints.get(rowId) ?? NO_PRINT;
  };
  const named = (rowId: number, change: (fixture: ChatFixture) => void): readonly string[] => {
    const before = print(rowId);
    change(fixture);
    return changesBetween(before, print(rowId));
  };
  return { fixture, connection, reader, print, named };
}

const set = (rowId: number, columns: string) => (fixture: ChatFixture) =>
  fixture.sqlite.exec(`UPDATE message SET ${columns} WHERE ROWID = ${rowId}`);

describe.each(MACOS_SCHEMAS)('on the %s schema', (schema) => {
  const { fixture, named, reader, connection, print } = watch(schema);
  const chat = fixture.chat('iMessage;-;+15550100');
  const hasEdits = isSince13(schema);

  test('receipts, failures and attachments are named', () => {
    const own = fixture.message({ chat, is_from_me: 1, is_sent: 0, text: 'hello' });
    expect(named(own, set(own, 'is_sent = 1'))).toEqual(['sent']);
    expect(named(own, set(own, 'is_delivered = 1, date_delivered = 5'))).toEqual(['delivered']);
    expect(named(own, set(own, 'is_read = 1, date_read = 6'))).toEqual(['read']);
    expect(named(own, set(own, 'date_read = 7'))).toEqual([]);
    expect(named(own, set(own, 'error = 22'))).toEqual(['failed']);
    expect(named(own, set(own, 'error = 0'))).toEqual(['failed']);
    const incoming = fixture.message({ chat, text: 'photo' });
    expect(named(incoming, set(incoming, 'is_delivered = 1, is_sent = 1'))).toEqual([]);
    let file = 0;
    expect(
      named(incoming, () => {
        file = fixture.attach(incoming, null, { transfer_state: 0 });
      }),
    ).toEqual(['attachment']);
    const state = (columns: string) => () =>
      fixture.sqlite.exec(`UPDATE attachment SET ${columns} WHERE ROWID = ${file}`);
    expect(named(incoming, state('transfer_state = 3'))).toEqual(['attachment']);
    expect(named(incoming, state("filename = '/a', transfer_state = 5"))).toEqual(['attachment']);
    expect(named(incoming, state('transfer_state = 0'))).toEqual(['attachment']);
  });

  test('edits and unsends are named, also a second edit of the same length', () => {
    const row = fixture.message({ chat, text: 'one' });
    expect(named(row, set(row, "text = 'three'"))).toEqual(['edited']);
    if (!hasEdits) return;
    expect(named(row, set(row, "text = 'seven', date_edited = 700000000000000000"))).toEqual(['edited']);
    expect(named(row, set(row, "text = 'eight', date_edited = 700000001000000000"))).toEqual(['edited']);
    expect(named(row, set(row, 'text = NULL, date_retracted = 700000002000000000'))).toEqual(['unsent']);
    const undone = fixture.message({ chat, text: 'one', part_count: 1, date_edited: 700000000000000000 });
    expect(named(undone, set(undone, 'text = NULL, part_count = 0, date_edited = 700000001000000000'))).toEqual([
      'unsent',
    ]);
    const body = fixture.message({ chat, text: null, attributedBody: encodeAttributedBody('a') });
    expect(named(body, () => fixture.update('message', body, { attributedBody: encodeAttributedBody('ab') }))).toEqual([
      'edited',
    ]);
  });

  test('a part that is unsent is named, and each further one', () => {
    if (!isSince13(schema)) return;
    const row = fixture.message({ chat, text: 'one', part_count: 3 });
    const unsend =
      (parts: readonly bigint[], columns = {}) =>
      () =>
        fixture.update('message', row, {
          date_edited: 700000000000000000,
          message_summary_info: encodeBinaryPlist({ otr: {}, rp: parts }),
          ...columns,
        });
    expect(named(row, unsend([0n]))).toEqual(['unsent']);
    expect(named(row, unsend([0n, 1n]))).toEqual(['unsent']);
    expect(named(row, unsend([0n, 1n, 2n], { text: null, part_count: 0 }))).toEqual(['unsent']);
  });

  test('a row that turns out to be one’s own is named sent', () => {
    const row = fixture.message({ chat, text: 'mine', is_sent: 0, is_delivered: 0 });
    expect(named(row, set(row, 'is_from_me = 1'))).toEqual(['sent']);
    expect(named(row, set(row, 'is_sent = 1'))).toEqual(['sent']);
  });

  test('the preview of a link is named, and each new one', () => {
    const row = fixture.message({ chat, text: 'https://example.com' });
    const payload = (length: number) => () =>
      fixture.update('message', row, { payload_data: Buffer.alloc(length, 'p') });
    for (const length of [400, 401, 4400]) expect(named(row, payload(length))).toEqual(['preview']);
  });

  test('a transcript of a voice message is named, wherever it comes', () => {
    const body = encodeAttributedBody('\uFFFC');
    const row = fixture.message({ chat, text: null, attributedBody: body, is_audio_message: 1 });
    const file = fixture.attach(row, '/voice.caf', { mime_type: 'audio/x-caf', user_info: Buffer.alloc(100) });
    const transcript = (key: string) => Buffer.concat([Buffer.from(body), Buffer.from(key)]);
    expect(
      named(row, () => fixture.update('message', row, { attributedBody: transcript('IMAudioTranscription hello') })),
    ).toEqual(['transcript']);
    expect(named(row, () => fixture.update('attachment', file, { user_info: Buffer.alloc(101) }))).toEqual([]);
    expect(
      named(row, () => fixture.update('attachment', file, { user_info: Buffer.from('..audio-transcription hello') })),
    ).toEqual(['transcript']);
  });

  test('each vote in a poll is named, also one that takes the place of another', () => {
    const bundle = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.messages.Polls';
    const poll = fixture.message({ chat, balloon_bundle_id: bundle, payload_data: Buffer.alloc(200) });
    const guid = fixture.guid(poll);
    const vote =
      (columns: Readonly<Record<string, string | number>> = {}) =>
      () =>
        fixture.message({ chat, associated_message_type: 4000, associated_message_guid: guid, ...columns });
    expect(named(poll, vote())).toEqual(['poll']);
    expect(named(poll, vote({ associated_message_guid: `p:0/${guid}` }))).toEqual(['poll']);
    expect(named(poll, vote({ associated_message_type: 2 }))).toEqual(['poll']);
    expect(named(poll, vote({ associated_message_type: 2001 }))).toEqual([]);
    const old = vote()();
    expect(
      named(poll, () =>
        fixture.transaction(() => {
          fixture.sqlite.exec(`DELETE FROM message WHERE ROWID = ${old}`);
          vote()();
        }),
      ),
    ).toEqual(['poll']);
  });

  test('a deletion that can be taken back, and its end', () => {
    const row = fixture.message({ chat, text: 'gone' });
    if (isSince13(schema)) {
      // Messages moves the join; the row stays for weeks (macOS 13 and later).
      expect(
        named(row, () =>
          fixture.transaction(() => {
            fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: row, delete_date: 1 });
            fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${row}`);
          }),
        ),
      ).toEqual(['deleted']);
      expect(reader.watched().some((rowIds) => rowIds.includes(row))).toBe(true);
      expect(named(row, () => fixture.join(chat, row))).toEqual(['restored']);
    }
    const deletions = reader.deletions();
    fixture.sqlite.exec(`DELETE FROM message WHERE ROWID = ${row}`);
    expect(print(row)).toBe(NO_PRINT);
    expect(reader.deletions()).toBe(deletions + 1);
  });

  test('a reaction has the print of every reaction', () => {
    const row = fixture.message({ chat, associated_message_type: 2000, associated_message_guid: 'p:0/GUID-1' });
    expect(print(row)).toBe(REACTION_PRINT);
    expect(named(row, set(row, 'is_read = 1'))).toEqual([]);
  });

  test('the watched sets hold unread, failed and undelivered rows, and leave them', () => {
    const unread = fixture.message({ chat, is_read: 0, is_finished: 1 });
    const failed = fixture.message({ chat, is_from_me: 1, is_finished: 1, error: 22 });
    connection.check();
    const sets = reader.watched();
    expect(sets.some((rowIds) => rowIds.includes(unread))).toBe(true);
    expect(sets.some((rowIds) => rowIds.includes(failed))).toBe(true);
    fixture.sqlite.exec(`UPDATE message SET is_read = 1 WHERE ROWID = ${unread}`);
    connection.check();
    expect(reader.watched().some((rowIds) => rowIds.includes(unread))).toBe(false);
  });

  test('the same rows have the same prints, however they are asked for', () => {
    connection.check();
    const highest = reader.newest(NOWHERE, Number.MAX_SAFE_INTEGER, 1).from;
    const { prints, from } = reader.newest(NOWHERE, highest, 3);
    expect(prints.size).toBe(3);
    expect(new Map([...reader.range(NOWHERE, from, highest).prints])).toEqual(prints);
    expect(reader.rows(NOWHERE, [...prints.keys()]).prints).toEqual(prints);
    expect(reader.range(NOWHERE, 1, from - 1).next).toBe(from);
    expect(reader.origins(from, highest).map(({ rowId }) => rowId)).toEqual([...prints.keys()]);
  });
});

test('only ranges with a change are read row by row, whatever the change is', () => {
  const { fixture, reader, connection } = watch('macos-26');
  const chat = fixture.chat('any;-;+15550100');
  fixture.transaction(() => {
    for (let n = 0; n < 400; n += 1) {
      const text = n % 50 === 0 ? null : `text ${n}`;
      const row = fixture.message({ chat, text, is_read: 0, is_from_me: n % 3 === 0 ? 1 : 0 });
      if (n % 40 === 0) fixture.attach(row, '/a', { transfer_state: 5 });
      if (n % 90 === 7) set(row, 'associated_message_type = 2000')(fixture);
      if (n % 100 !== 9) continue;
      fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: row, delete_date: 1 });
      fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${row}`);
    }
  });
  const known = new Map<number, Print>();
  const at = { of: (rowId: number): Print => known.get(rowId) ?? NO_PRINT };
  const look = (upTo = 400) => {
    connection.check();
    const { prints, ranges, from } = reader.differing(NOWHERE, upTo, 300, at);
    const looked = ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, n) => first + n));
    const rows = looked.filter((rowId) => (prints.get(rowId) ?? NO_PRINT) !== at.of(rowId));
    for (const rowId of rows) known.set(rowId, prints.get(rowId) ?? NO_PRINT);
    return { rows, from, looked: looked.length };
  };
  expect(look().rows).toHaveLength(300);
  expect(new Map(reader.newest(NOWHERE, 400, 300).prints)).toEqual(new Map([...known].sort(([a], [b]) => a - b)));
  expect(look()).toEqual({ rows: [], from: 101, looked: 0 });
  const changes: readonly (readonly [string, readonly number[]])[] = [
    ['UPDATE message SET is_read = 1 WHERE ROWID = 103', [103]],
    ["UPDATE message SET text = 'edited', date_edited = 5 WHERE ROWID IN (164, 165)", [164, 165]],
    ['UPDATE message SET is_read = 1 - is_read WHERE ROWID IN (103, 104)', [103, 104]],
    ['UPDATE attachment SET transfer_state = 0 WHERE ROWID = 5', [161]],
    ['DELETE FROM chat_recoverable_message_join WHERE message_id = 210', [210]],
    ['DELETE FROM message WHERE ROWID = 300', [300]],
    ['UPDATE message SET is_read = 1 WHERE ROWID = 98', []],
  ];
  for (const [sql, rows] of changes) {
    fixture.sqlite.exec(sql);
    const found = look();
    // When a row is removed, an older one becomes one of the newest.
    expect(found.rows.filter((rowId) => rowId > 100)).toEqual(rows);
    expect(found.looked).toBeLessThanOrEqual(64 * found.rows.length);
  }
  // Row ids with wide gaps.
  const far = fixture.message({ ROWID: 1_000_000, chat, text: 'far' });
  expect(look(far).rows).toEqual([far]);
  expect(look(far).rows).toEqual([]);
});

test('the least schema gives prints of the text, and no sets', () => {
  const { fixture, named, reader } = watch('bare');
  const row = fixture.message({ text: 'one' });
  expect(named(row, set(row, "text = 'three'"))).toEqual(['edited']);
  expect(reader.watched()).toEqual([]);
  expect(reader.deletions()).toBe(0);
  expect(named(row, () => fixture.sqlite.exec('DELETE FROM message'))).toEqual(['edited']);
});

test('another text behind a NUL character is another print: what counts is bytes, which SQLite knows without reading', () => {
  const { fixture, named } = watch('macos-26');
  const row = fixture.message({ text: 'one\0two' });
  expect(named(row, set(row, "text = 'one' || char(0) || 'three'"))).toEqual(['edited']);
});

test('a hostile value in any column still gives a print', () => {
  const { fixture, reader, connection } = watch('macos-26');
  const chat = fixture.chat('any;-;+15550100');
  const row = fixture.message({ chat, text: 'x' });
  const file = fixture.attach(row, '/a');
  const values = [
    "'text'",
    "x'00ff80'",
    '1e300',
    '-1e300',
    '9223372036854775807',
    '-9223372036854775808',
    "''",
    'NULL',
    '0.5',
  ];
  const columns =
    'text attributedBody message_summary_info payload_data balloon_bundle_id is_audio_message date date_read date_delivered date_edited date_retracted is_read is_delivered is_sent error is_from_me associated_message_type handle_id item_type';
  for (const column of columns.split(' ')) {
    for (const value of values) {
      fixture.sqlite.exec(`UPDATE message SET ${column} = ${value} WHERE ROWID = ${row}`);
      connection.check();
      const print = reader.rows(NOWHERE, [row]).prints.get(row) ?? -1;
      expect(Number.isSafeInteger(print) && print > 0).toBe(true);
      reader.watched();
    }
    fixture.sqlite.exec(`UPDATE message SET ${column} = 0 WHERE ROWID = ${row}`);
  }
  for (const column of ['transfer_state', 'filename', 'hide_attachment', 'mime_type', 'user_info']) {
    for (const value of values) {
      fixture.sqlite.exec(`UPDATE attachment SET ${column} = ${value} WHERE ROWID = ${file}`);
      connection.check();
      const print = reader.rows(NOWHERE, [row]).prints.get(row) ?? -1;
      expect(Number.isSafeInteger(print) && print > 0).toBe(true);
    }
  }
});

test('a preview that Messages takes away again is a change of the preview, and nothing that was unsent', () => {
  expect(changesBetween(ADDED_KINDS.preview + 5 * ADDED + 1, 1)).toEqual(['preview']);
});
