import { describe, expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const LINK = 'com.apple.messages.URLBalloonProvider';
type Columns = Parameters<ChatFixture['message']>[0];

/** Writes a text and the row after it, which refers to it. */
function pair(text: Columns, second: Columns) {
  const { fixture, connection } = databases.open();
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  const common = { chat, handle_id: fixture.handle('+15550100'), date: appleNs('2026-01-01T10:00:00Z') };
  const textRow = fixture.message({ ...common, guid: 'TEXT', text: 'look', ...text });
  const balloon = { text: 'https://example.com', balloon_bundle_id: LINK, reply_to_guid: 'TEXT' };
  const row = fixture.message({ ...common, guid: 'LINK', ...balloon, ...second });
  const reader = new ListReader(connection);
  const partOf = (rowId: number): unknown =>
    reader.message(String(rowId), { include: includeSet(['details']) })?.details?.part_of;
  return { textRow, row, partOf, connection };
}

describe('the link of a text', () => {
  test('names the row of the text', () => {
    const { textRow, row, partOf } = pair({}, {});
    expect(partOf(row)).toEqual({ id: String(textRow), guid: 'TEXT' });
    expect(partOf(textRow)).toBeUndefined();
  });

  test('names it among the rows that a send may have', () => {
    const { connection } = pair({ is_from_me: 1 }, { is_from_me: 1 });
    const rows = chatSendLookup(connection).ownRowsAbove(0, 0);
    expect(rows.map(({ guid, textGuid }) => [guid, textGuid])).toEqual([
      ['TEXT', undefined],
      ['LINK', 'TEXT'],
    ]);
  });
});

test.each([
  ['an ordinary message', {}, { balloon_bundle_id: null }],
  ['the balloon of an app', {}, { balloon_bundle_id: 'com.example.app' }],
  ['a link in a thread', {}, { thread_originator_guid: 'TEXT' }],
  ['a link that names nothing', {}, { reply_to_guid: '' }],
  ['a link that names a message that is gone', {}, { reply_to_guid: 'GONE' }],
  ['a link that names a message from long before', { date: appleNs('2026-01-01T09:58:59Z') }, {}],
  ['a link that names a message of the other side', { is_from_me: 1 }, {}],
  ['a link that names a message elsewhere', { chat: null }, {}],
] as const)('%s is no part of another one', (_, text, second) => {
  const { row, partOf } = pair(text, second);
  expect(partOf(row)).toBeUndefined();
});
