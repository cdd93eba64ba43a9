import { describe, expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { encodeBinaryPlist } from '../../src/features/simulator/binary-plist.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const EDITED = { date_edited: appleNs('2026-01-01T10:01:00Z'), date_retracted: 0 };
/** What Undo Send leaves behind: each part with its range, marked as retracted. */
const RETRACTED = encodeBinaryPlist({ otr: { '0': { lo: 0n, le: 5n } }, rp: [0n] });
const RECEIPTS = encodeBinaryPlist({ amc: 1n, ust: true });

/** Returns when a row was edited and unsent, according to its details. */
function timesOf(columns: Parameters<ChatFixture['message']>[0], schema: Schema = 'macos-26') {
  const { fixture, connection } = databases.open(schema);
  const chat = fixture.chat('any;-;+15550100');
  const row = fixture.message({ chat, ...columns });
  const details = new ListReader(connection).message(String(row), { include: includeSet(['details']) })?.details;
  return { edited: details?.edited_at, unsent: details?.retracted_at };
}

const UNSENT = { edited: null, unsent: '2026-01-01T10:01:00Z' };
const ONLY_EDITED = { edited: '2026-01-01T10:01:00Z', unsent: null };

describe('an unsent message is not shown as edited', () => {
  test.each([
    ['no part is left', { part_count: 0 }],
    ['its part is retracted', { part_count: 1, message_summary_info: RETRACTED }],
    ['the number of parts is unknown', { message_summary_info: RETRACTED }],
    ['text and body are empty instead of missing', { part_count: 0, text: '', attributedBody: Buffer.alloc(0) }],
    ['date_retracted is set', { part_count: 1, text: 'left', date_edited: 0, date_retracted: EDITED.date_edited }],
    [
      'it was edited before and date_retracted is set',
      { date_edited: appleNs('2026-01-01T10:00:30Z'), date_retracted: EDITED.date_edited },
    ],
  ])('when %s', (_, columns) => {
    expect(timesOf({ ...EDITED, ...columns })).toEqual(UNSENT);
  });

  test.each(['macos-13', 'macos-26'] as const)('on %s', (schema) => {
    expect(timesOf({ ...EDITED, part_count: 0, message_summary_info: RETRACTED }, schema)).toEqual(UNSENT);
  });
});

test('the files of an unsent message are not listed, and those of an edited one are', () => {
  const { fixture, connection } = databases.open();
  const reader = new ListReader(connection);
  const attachments = (columns: Parameters<ChatFixture['message']>[0]): unknown => {
    const row = fixture.message({ ...columns, cache_has_attachments: 1 });
    fixture.attach(row, '/photos/one.jpg');
    const message = reader.message(String(row), { include: includeSet(['details']) });
    return [message?.attachments.length, message?.details?.attachments.length];
  };
  expect(attachments({ ...EDITED, part_count: 0, message_summary_info: RETRACTED })).toEqual([0, 0]);
  expect(attachments({ ...EDITED, part_count: 1, text: 'left' })).toEqual([1, 1]);
  expect(attachments({})).toEqual([1, 1]);
});

describe('an edited message is not shown as unsent', () => {
  test.each([
    ['has a text', { text: 'left', part_count: 0 }],
    ['has a body', { attributedBody: encodeAttributedBody('left'), part_count: 0 }],
    ['has lost its text and says nothing of parts', { part_count: 1 }],
    ['has lost its text with another summary', { part_count: 1, message_summary_info: RECEIPTS }],
    // One part is unsent and another is left; the body shows which.
    [
      'has a part left',
      { attributedBody: encodeAttributedBody('left'), part_count: 2, message_summary_info: RETRACTED },
    ],
  ])('when it %s', (_, columns) => {
    expect(timesOf({ ...EDITED, ...columns })).toEqual(ONLY_EDITED);
  });

  test('when its database has no column for it', () => {
    expect(timesOf({}, 'macos-12')).toEqual({ edited: null, unsent: null });
    expect(timesOf({}, 'bare')).toEqual({ edited: null, unsent: null });
  });

  test('when one of its parts is unsent, which `unsent_parts` names and whose attachment is not listed', () => {
    const { fixture, connection } = databases.open();
    const photo = (guid: string, part: number) => ({
      length: 1,
      attributes: { __kIMFileTransferGUIDAttributeName: guid, __kIMMessagePartAttributeName: part },
    });
    const attributedBody = encodeAttributedBody('left\uFFFC', [
      { length: 4, attributes: { __kIMMessagePartAttributeName: 1 } },
      photo('left', 2),
    ]);
    const otr = Object.fromEntries(['0', '1', '2'].map((part) => [part, { lo: BigInt(part), le: 1n }]));
    const message_summary_info = encodeBinaryPlist({ otr, rp: [0n] });
    const columns = { ...EDITED, part_count: 3, cache_has_attachments: 1, message_summary_info };
    const row = fixture.message({ ...columns, attributedBody });
    fixture.attach(row, '/photos/unsent.jpg', { guid: 'unsent' });
    fixture.attach(row, '/photos/left.jpg', { guid: 'left' });
    const reader = new ListReader(connection);
    const message = reader.message(String(row), { include: includeSet(['details']) });
    expect(message).toMatchObject({ body: 'left', attachments: ['/photos/left.jpg'] });
    expect(message?.details).toMatchObject({
      edited_at: '2026-01-01T10:01:00Z',
      retracted_at: null,
      unsent_parts: [0],
      parts: [
        { part: 0, text: '', unsent: true },
        { part: 1, text: 'left' },
        { part: 2, text: '\uFFFC', runs: [{ start: 0, end: 1, attachment_guid: 'left' }] },
      ],
      // The other attachment keeps its number.
      attachments: [{ n: 1, path: '/photos/left.jpg', guid: 'left' }],
    });
  });
});
