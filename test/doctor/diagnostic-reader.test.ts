import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DiagnosticReader, prefixCounts } from '../../src/features/doctor/diagnostic-reader.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
let chat: number;
beforeAll(() => {
  chat = database.chat('any;-;+15550100', ['+15550100']);
  database.chat('iMessage;+;chat42', ['+15550100']);
  database.message({ chat, text: 'before' });
});
const reader = new DiagnosticReader(database.path);
afterAll(() => {
  reader.close();
  database.close();
});

describe('while chat.db is watched', () => {
  test('a row is reported with its delays and its columns, never with a value', async () => {
    const clock = new FakeClock();
    const watched = reader.watch(() => clock.monotonic() >= 30_000, clock);
    await clock.advance(1000);
    const row = database.message({ text: 'Meet Jane at noon', is_from_me: 1, destination_caller_id: 'me@example.org' });
    await clock.advance(500);
    database.insert('chat_message_join', { chat_id: chat, message_id: row, message_date: 1 });
    database.attach(row, join(folder, 'Library/Messages/Attachments/Postern/1/photo.png'));
    database.attach(row, '~/Library/Messages/Attachments/1f/photo.png');
    database.attach(row, '/tmp/photo.png');
    database.attach(row, null);
    database.sqlite.prepare('UPDATE message SET error = 22 WHERE ROWID = ?').run(row);
    await clock.advance(30_000);
    const changes = await watched;
    expect(changes.rows).toEqual([
      {
        row_id: row,
        is_from_me: true,
        flipped: false,
        had_handle: false,
        is_self: false,
        delivered: false,
        chat: 1,
        handle: null,
        age_s: expect.any(Number),
        seen_ms: expect.any(Number),
        join_delay_ms: expect.any(Number),
        columns: expect.arrayContaining(['guid', 'text', 'date', 'error', 'is_from_me', 'destination_caller_id']),
        error: 22,
        attachments: ['staged', 'messages', 'elsewhere', 'none'],
      },
    ]);
    const [seen] = changes.rows;
    expect(seen?.columns).not.toContain('date_edited');
    expect(seen?.seen_ms).toBeGreaterThanOrEqual(1000);
    expect(seen?.join_delay_ms).toBeGreaterThanOrEqual(400);
    expect(changes).toMatchObject({ seconds: 30, data_version_changes: expect.any(Number) });
    expect(JSON.stringify(changes)).not.toMatch(/Jane|example/);
  });

  test('messages to oneself show direction, chat, address and delivery as numbers', async () => {
    const path = join(folder, 'self.db');
    const own = new ChatFixture(path);
    const me = { destination_caller_id: '+15550177', date_delivered: 0 };
    const byNumber = own.chat('any;-;+15550177', ['+15550177']);
    const byMail = own.chat('any;-;me@example.org', ['me@example.org']);
    const other = own.chat('any;-;+15550100', ['+15550100']);
    own.message({ chat: other, text: 'before', ...me });
    own.message({ chat: other, text: 'before', destination_caller_id: 'me@example.org' });
    const watching = new DiagnosticReader(path);
    const clock = new FakeClock();
    const watched = watching.watch(() => clock.monotonic() >= 2000, clock);
    own.message({ chat: byNumber, text: 'a', is_from_me: 1, ...me, handle_id: 0, date_delivered: 5 });
    own.message({ chat: byMail, text: 'a', ...me, handle_id: own.handle('me@example.org') });
    own.message({ chat: byMail, text: 'b', ...me, handle_id: own.handle('me@example.org') });
    own.message({ chat: other, text: 'c', ...me });
    await clock.advance(5000);
    const { rows } = await watched;
    watching.close();
    own.close();
    expect(rows).toMatchObject([
      { is_self: true, is_from_me: true, chat: 1, handle: null, delivered: true },
      { is_self: true, is_from_me: false, chat: 2, handle: 1, delivered: false },
      { is_self: true, is_from_me: false, chat: 2, handle: 1 },
      { is_self: false, chat: 3 },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/5550|example/);
  });

  test('a row that never gets a chat is reported without a delay', async () => {
    const clock = new FakeClock();
    const watched = reader.watch(() => clock.monotonic() >= 2000, clock);
    database.message({ text: 'an orphan' });
    await clock.advance(5000);
    expect((await watched).rows).toMatchObject([{ join_delay_ms: null, is_from_me: false }]);
  });

  test('a chat.db that goes away meanwhile ends the watch, not the process', async () => {
    const own = new DiagnosticReader(database.path);
    const clock = new FakeClock();
    const watched = own.watch(() => false, clock);
    own.close();
    const refused = expect(watched).rejects.toThrow();
    await clock.advance(200);
    await refused;
  });
});

test('chat guids are counted by prefix, whatever they are called', () => {
  expect(prefixCounts(reader.chatGuids())).toEqual({ 'any;-;': 1, 'iMessage;+;': 1 });
  expect(prefixCounts(['rcs;-;+15550100', 'SMS;-;222', 'Jane', 'any;+;chat1', ''])).toEqual({
    'RCS;-;': 1,
    'SMS;-;': 1,
    'any;+;': 1,
    other: 2,
  });
});

test('own addresses are the latest first, without the prefix of their account', () => {
  database.message({ chat, text: 'one', account: 'P:+15550199', destination_caller_id: '' });
  database.message({ chat, text: 'two', account: 'E:me@example.org', destination_caller_id: '+15550199' });
  expect(reader.ownAddresses().slice(0, 2).toSorted()).toEqual(['+15550199', 'me@example.org']);
});
