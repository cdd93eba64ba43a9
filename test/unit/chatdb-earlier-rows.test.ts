import { expect, test } from '@jest/globals';
import { earlierRows } from '../../src/core/chatdb/earlier-rows.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const ANA = '+15550100000';
type Columns = Parameters<ChatFixture['message']>[0];

function conversation() {
  const { fixture, connection } = databases.open('macos-26');
  const chat = fixture.chat(`any;-;${ANA}`, [ANA]);
  const handle_id = fixture.handle(ANA);
  const at = (time: string, columns: Columns = {}): number =>
    fixture.message({ chat, handle_id, text: 'ok', date: appleNs(`2026-01-01T${time}Z`), ...columns });
  return { fixture, at, earlier: earlierRows(connection) };
}

test('a row that is written again has the row before it as its twin, and the first has none', () => {
  const { at, earlier } = conversation();
  const first = at('22:45:00.400', { guid: 'FIRST' });
  at('22:50:00');
  const again = at('22:45:00');
  expect(earlier.twinOf(again)).toEqual({ id: String(first), guid: 'FIRST' });
  expect(earlier.twinOf(first)).toBeUndefined();
});

test.each([
  ['another text', { text: 'no' }],
  ['a date two seconds later', { date: appleNs('2026-01-01T22:45:02Z') }],
  ['another direction', { is_from_me: 1 }],
  ['another conversation', { chat: null }],
  ['no date', { date: 0 }],
] as const)('a row with %s is no twin', (_, columns) => {
  const { at, earlier } = conversation();
  at('22:45:00', columns);
  expect(earlier.twinOf(at('22:45:00'))).toBeUndefined();
});

test('neither a row from somebody else nor one that overtook it is a twin', () => {
  const { fixture, at, earlier } = conversation();
  const other = at('22:45:00', { handle_id: fixture.handle('+15550111111') });
  const row = at('22:44:59');
  expect([earlier.twinOf(row), earlier.hasLater(row, other)]).toEqual([undefined, false]);
});

test('rows of groups that are one conversation are compared as of one', () => {
  const { fixture, earlier } = conversation();
  const handle_id = fixture.handle(ANA);
  const group = (name: string) => fixture.chat(`any;+;${name}`, [ANA]);
  const [older, newer, other] = [group('chat100'), group('chat200'), group('chat300')];
  for (const chat of [older, newer]) fixture.insert('chat_lookup', { identifier: 'one', domain: `d${chat}`, chat });
  const at = (chat: number, time: string): number =>
    fixture.message({ chat, handle_id, text: 'ok', date: appleNs(`2026-01-01T${time}Z`) });
  const first = at(older, '22:45:00');
  const again = at(newer, '22:45:00');
  const last = at(newer, '22:50:00');
  const elsewhere = at(other, '22:45:00');
  expect(earlier.twinOf(again)).toMatchObject({ id: String(first) });
  expect(earlier.twinOf(elsewhere)).toBeUndefined();
  expect([first, again, elsewhere].map((row) => earlier.hasLater(row, last))).toEqual([true, true, false]);
});

test('a row that is in no chat was not overtaken', () => {
  const { at, earlier } = conversation();
  const row = at('22:45:00', { chat: null });
  const later = at('22:50:00', { chat: null });
  expect(earlier.hasLater(row, later)).toBe(false);
});

test('a row was overtaken by a later one of its conversation and sender, up to a row id', () => {
  const { at, earlier } = conversation();
  at('22:40:00');
  const later = at('22:50:00');
  const row = at('22:45:00');
  expect([later, later - 1].map((upTo) => earlier.hasLater(row, upTo))).toEqual([true, false]);
});

test('a row that the owner sent again from another address has a twin, a row of minutes later in seconds has none', () => {
  const { at, earlier } = conversation();
  const first = at('22:45:00', { is_from_me: 1, destination_caller_id: 'me@example.com' });
  const again = at('22:45:00', { is_from_me: 1, destination_caller_id: '+15550199999' });
  expect(earlier.twinOf(again)).toMatchObject({ id: String(first) });
  at('22:45:00', { date: 500_000_000 });
  expect(earlier.twinOf(at('22:45:00', { date: 500_000_300 }))).toBeUndefined();
});
