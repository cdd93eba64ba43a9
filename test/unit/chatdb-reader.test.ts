import { describe, expect, test } from '@jest/globals';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();

function open(schema?: Schema, path?: string) {
  const { connection, ...parts } = databases.open(schema, path);
  return { ...parts, connection, reader: new ChatReader(connection) };
}

describe('a list of messages', () => {
  test.each([
    ['of everything', undefined],
    ['of several conversations', ['any;-;1', 'any;-;2', 'any;-;3']],
  ])('%s continues behind its cursor however many rows come in front', async (_what, conversationIds) => {
    const { fixture, reader } = open();
    const chats = ['any;-;1', 'any;-;2', 'any;-;3'].map((guid) => fixture.chat(guid));
    const add = (day: string, rows: number) => {
      for (let n = 0; n < rows; n += 1) {
        // Two rows per instant, in different conversations. The third conversation has only undated rows.
        const date = appleNs(`${day}T00:00:00Z`, Math.floor(n / 2));
        fixture.message({ chat: chats[n % 2] ?? null, date });
      }
    };
    for (let n = 0; n < 2; n += 1) fixture.message({ chat: chats[2] ?? null, date: n === 0 ? 0 : null });
    add('2026-01-01', 10);
    const query = { conversationIds, order: 'desc', limit: 4, offset: 0 } as const;
    const first = await reader.listMessages(query);
    add('2026-01-02', 3);
    const next = await reader.listMessages({ ...query, cursor: first.next ?? '' });
    const last = await reader.listMessages({ ...query, cursor: next.next ?? '' });
    const ids = [first, next, last].map(({ items }) => items.map(({ id }) => id));
    expect(ids).toEqual([
      ['12', '11', '10', '9'],
      ['8', '7', '6', '5'],
      ['4', '3', '2', '1'],
    ]);
    expect(last.next).toBeUndefined();
  });

  test('since a time never shows what is older, whatever cursor it is given', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;1');
    for (let second = 0; second < 6; second += 1) {
      fixture.message({ chat, date: appleNs(`2026-01-01T00:00:0${second}Z`) });
    }
    const sinceNs = BigInt(Date.parse('2026-01-01T00:00:02Z')) * 1_000_000n;
    for (const [order, ids] of [
      ['asc', ['4', '5', '6']],
      ['desc', []],
    ] as const) {
      const { next = '' } = await reader.listMessages({ order, limit: order === 'asc' ? 1 : 4, offset: 0 });
      const page = await reader.listMessages({ order, limit: 9, offset: 0, sinceNs, cursor: next });
      expect(page.items.map(({ id }) => id)).toEqual(ids);
    }
  });

  test.each(['macos-13', 'macos-10.13'] as const)(
    'before a time shows what is older, page by page (%s)',
    async (schema) => {
      const { fixture, reader } = open(schema);
      const chat = fixture.chat('any;-;1');
      // One database may have both seconds and nanoseconds.
      for (let second = 0; second < 6; second += 1) {
        const ns = appleNs(`2026-01-01T00:00:0${second}Z`);
        fixture.message({ chat, date: second === 1 ? ns / 1_000_000_000n : ns });
      }
      const beforeNs = BigInt(Date.parse('2026-01-01T00:00:04Z')) * 1_000_000n;
      for (const conversationId of [undefined, 'any;-;1']) {
        const query = { beforeNs, conversationId, limit: 3, offset: 0 };
        const newest = await reader.listMessages({ ...query, order: 'desc' });
        expect(newest.items.map(({ id }) => id)).toEqual(['4', '3', '2']);
        const older = await reader.listMessages({ ...query, order: 'desc', cursor: newest.next });
        expect(older.items.map(({ id }) => id)).toEqual(['1']);
        const sinceNs = beforeNs - 3_000_000_000n;
        const between = await reader.listMessages({ ...query, sinceNs, order: 'asc' });
        expect(between.items.map(({ id }) => id)).toEqual(['3', '4']);
      }
    },
  );

  test.each(['', 'x', '5', '5.', '.5', '1.2.3', "1' OR 1.1", `${'9'.repeat(40)}.1`])(
    'refuses the cursor %j',
    async (cursor) => {
      const { reader } = open();
      await expect(reader.listMessages({ order: 'desc', limit: 4, offset: 0, cursor })).rejects.toThrow(
        expect.objectContaining({ status: 400, code: 'invalid_cursor' }),
      );
    },
  );

  test.each([
    ['a date with a fraction', 1n, 10_000_000_001.5],
    ['a row id beyond 2^53', 2n ** 53n + 1n, 700_000_000n],
  ])('ends at a row that no cursor can name: %s', async (_what, ROWID, date) => {
    const { fixture, reader } = open('bare');
    const chat = fixture.chat('any;-;1');
    const otherChat = fixture.chat('any;-;2');
    for (const row of [ROWID, ROWID + 2n, ROWID + 4n]) {
      fixture.message({ ROWID: row, date });
      fixture.insert('chat_message_join', { chat_id: chat, message_id: row });
    }
    fixture.message({ chat: otherChat, ROWID: 9, date: 800_000_000n });
    for (const list of [{}, { conversationId: 'any;-;1' }, { conversationIds: ['any;-;1', 'any;-;2'] }]) {
      for (const order of ['asc', 'desc'] as const) {
        const query = { ...list, order, limit: 1, offset: 0 };
        let cursor = (await reader.listMessages(query)).next;
        for (let pages = 1; cursor !== undefined; pages += 1) {
          expect(pages).toBeLessThan(6);
          cursor = (await reader.listMessages({ ...query, cursor })).next;
        }
      }
    }
  });

  test('at an offset is the same as at the cursor, however deep', async () => {
    const { fixture, reader } = open('macos-12');
    const chat = fixture.chat('any;-;1');
    fixture.transaction(() => {
      for (let n = 0; n < 7000; n += 1) {
        fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', n), text: `${n}` });
      }
    });
    for (const order of ['asc', 'desc'] as const) {
      for (const conversationId of [undefined, 'any;-;1']) {
        const query = { order, limit: 2, ...(conversationId === undefined ? {} : { conversationId }) };
        const pages = [];
        // The last one starts where an earlier page ended; the others do not.
        for (const offset of [0, 2999, 3000, 3001, 6500, 6502]) {
          pages.push((await reader.listMessages({ ...query, offset })).items[0]?.body);
        }
        const bodies = [0, 2999, 3000, 3001, 6500, 6502].map((at) => `${order === 'asc' ? at : 6999 - at}`);
        expect(pages).toEqual(bodies);
        expect(await reader.listMessages({ ...query, offset: 7000 })).toEqual({ items: [] });
        expect(await reader.listMessages({ ...query, offset: 1_000_000 })).toEqual({ items: [] });
      }
    }
  });

  test('of a chat whose many joins have no date is in order', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;1');
    fixture.chat('any;-;2');
    fixture.transaction(() => {
      for (let n = 0; n < 7000; n += 1) {
        fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', (n * 31) % 7000), text: `${(n * 31) % 7000}` });
      }
      fixture.sqlite.exec('UPDATE chat_message_join SET message_date = CASE message_id % 2 WHEN 0 THEN 0 END');
    });
    for (const [offset, body] of [
      [0, '6999'],
      [5000, '1999'],
    ] as const) {
      const page = await reader.listMessages({ order: 'desc', limit: 3, offset, conversationId: 'any;-;1' });
      expect(page.items[0]?.body).toBe(body);
    }
    const { items } = await reader.listConversations({ limit: 2, offset: 0 });
    expect(items.map(({ id }) => id)).toEqual(['any;-;1', 'any;-;2']);
    expect((await reader.conversation('any;-;1'))?.last_message_at).toBe('2026-01-01T00:00:00Z');
  });

  test('with details has them at every length', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;1');
    fixture.transaction(() => {
      for (let n = 0; n < 200; n += 1) fixture.message({ chat, text: `${n}` });
    });
    for (const limit of [20, 200]) {
      const { items } = await reader.listMessages({ order: 'asc', limit, offset: 0, include: includeSet(['details']) });
      expect(items.map(({ body, details }) => [body, details?.kind])).toEqual(
        Array.from({ length: limit }, (_, n) => [`${n}`, 'message']),
      );
    }
  });

  test('sees what was committed a moment ago, in every list', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;+;1', [], { display_name: 'Old' });
    const handle = fixture.handle('one@example.org');
    fixture.message({ chat, handle_id: handle });
    expect((await reader.listConversations({ limit: 5, offset: 0 })).items[0]?.display_name).toBe('Old');
    fixture.sqlite.exec(
      "UPDATE chat SET display_name = 'New', guid = 'any;+;2'; UPDATE handle SET id = 'two@example.org'",
    );
    expect((await reader.listConversations({ limit: 5, offset: 0 })).items[0]).toMatchObject({
      id: 'any;+;2',
      display_name: 'New',
    });
    const page = await reader.listMessages({ order: 'desc', limit: 5, offset: 0 });
    expect(page.items[0]).toMatchObject({ conversation_id: 'any;+;2', sender: 'two@example.org' });
    expect(await reader.conversation('any;+;1')).toBeUndefined();
  });
});

describe('a conversation', () => {
  test('with one person has no name, whatever chat.db stores', async () => {
    const { fixture, reader } = open();
    fixture.message({ chat: fixture.chat('any;-;1', [], { display_name: 'Club' }) });
    fixture.message({ chat: fixture.chat('any;+;2', [], { display_name: 'Club' }) });
    const { items } = await reader.listConversations({ limit: 5, offset: 0 });
    const names = { 'any;-;1': null, 'any;+;2': 'Club' };
    expect(Object.fromEntries(items.map(({ id, display_name }) => [id, display_name]))).toEqual(names);
    expect((await reader.chats()).map(({ id, name }) => [id, name || null])).toEqual(Object.entries(names));
  });

  test('is found under every variant of its id and its address, and under no other', async () => {
    const { fixture, reader } = open();
    const any = fixture.chat('any;-;+15550100');
    fixture.message({ chat: any });
    fixture.chat('rcs;+;chat7');
    for (const id of [
      'any;-;+15550100',
      'iMessage;-;+15550100',
      'SMS;-;+15550100',
      'RCS;-;+15550100',
      'sms;-;+15550100',
      '+15550100',
      '+1 (555) 0100',
    ]) {
      expect((await reader.conversation(id))?.id).toBe('any;-;+15550100');
      const page = await reader.listMessages({ conversationId: id, order: 'desc', limit: 1, offset: 0 });
      expect(page.items).toHaveLength(1);
    }
    for (const id of ['iMessage;+;chat7', 'iMessage;-;chat7', 'any;-;chat7', 'chat7']) {
      expect((await reader.conversation(id))?.id).toBe('rcs;+;chat7');
    }
    for (const id of [
      'any;+;+15550100',
      '15550100',
      'carrier;-;+15550100',
      '',
      ';',
      ';-;+15550100',
      'any;-;+155501000',
    ]) {
      expect(await reader.conversation(id)).toBeUndefined();
      expect(await reader.listMessages({ conversationId: id, order: 'desc', limit: 1, offset: 0 })).toEqual({
        items: [],
      });
    }
  });

  test('with several chats is the exact one, else the one with the newest message', async () => {
    const { fixture, reader } = open('macos-12');
    const sms = fixture.chat('SMS;-;1');
    const iMessage = fixture.chat('iMessage;-;1');
    fixture.message({ chat: sms, date: appleNs('2026-01-01T00:00:00Z') });
    fixture.message({ chat: iMessage, date: 788_918_399 });
    expect((await reader.conversation('any;-;1'))?.id).toBe('SMS;-;1');
    expect((await reader.conversation('iMessage;-;1'))?.id).toBe('iMessage;-;1');
    fixture.message({ chat: iMessage, date: 788_918_401 });
    expect((await reader.conversation('any;-;1'))?.id).toBe('iMessage;-;1');
  });

  test('has its participants once each in stored order, and no empty name', async () => {
    const { fixture, reader } = open();
    const group = fixture.chat('any;+;chat1', [], { display_name: '' });
    const [b, a, again] = [fixture.handle('b'), fixture.handle('a'), fixture.handle('b', 'SMS')];
    for (const handle of [b, a, again]) fixture.participant(group, handle);
    expect(await reader.conversation('any;+;chat1')).toEqual({
      id: 'any;+;chat1',
      display_name: null,
      participants: ['b', 'a'],
      last_message_at: '2001-01-01T00:00:00Z',
    });
  });

  test('is ordered by what counts: reactions do, Send Later and rows of another chat do not', async () => {
    const { fixture, reader } = open();
    const [one, two, three, empty] = ['1', '2', '3', '4'].map((id) => fixture.chat(`any;-;${id}`));
    fixture.message({ chat: one ?? 0, date: appleNs('2026-01-01T00:00:01Z') });
    fixture.message({ chat: two ?? 0, date: appleNs('2026-01-01T00:00:02Z') });
    fixture.message({ chat: two ?? 0, date: appleNs('2030-01-01T00:00:02Z'), is_from_me: 1, schedule_type: 2 });
    const reaction = appleNs('2026-01-01T00:00:03Z');
    const shared = fixture.message({ chat: one ?? 0, date: reaction, associated_message_type: 2001 });
    fixture.join(three ?? 0, shared, reaction);
    expect(empty).toBe(4);
    expect(
      (await reader.listConversations({ limit: 9, offset: 0 })).items.map(({ id, last_message_at }) => [
        id,
        last_message_at,
      ]),
    ).toEqual([
      ['any;-;1', '2026-01-01T00:00:03Z'],
      ['any;-;2', '2026-01-01T00:00:02Z'],
      ['any;-;4', '2001-01-01T00:00:00Z'],
      ['any;-;3', '2001-01-01T00:00:00Z'],
    ]);
  });

  test.each([true, false])(
    'is in its place also when there are more than one reading brings (joins dated: %p)',
    async (isDated) => {
      const { fixture, reader } = open();
      fixture.transaction(() => {
        for (let n = 1; n <= 600; n += 1) {
          const chat = fixture.chat(`any;-;${n}`);
          fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', n) });
          // The first 300 have the newest dates, but are only scheduled.
          if (n <= 300) {
            fixture.message({ chat, date: appleNs('2030-01-01T00:00:00Z', n), is_from_me: 1, schedule_type: 2 });
          }
        }
        if (!isDated) fixture.sqlite.exec('UPDATE chat_message_join SET message_date = 0');
      });
      const ids = async (limit: number, offset: number) =>
        (await reader.listConversations({ limit, offset })).items.map(({ id }) => id);
      expect(await ids(3, 0)).toEqual(['any;-;600', 'any;-;599', 'any;-;598']);
      expect(await ids(200, 400)).toEqual(Array.from({ length: 200 }, (_, n) => `any;-;${200 - n}`));
      expect(await ids(200, 599)).toEqual(['any;-;1']);
      expect(await ids(200, 600)).toEqual([]);
    },
  );
});

describe('a bare database', () => {
  test('gives conversations and messages as far as it has them', async () => {
    const { fixture, reader } = open('bare');
    const chat = fixture.chat('iMessage;-;a@example.org');
    const handle = fixture.handle('a@example.org');
    fixture.message({ guid: 'A', chat, handle_id: handle, text: 'in' });
    fixture.message({ chat, is_from_me: 1, text: 'out', guid: null });
    const page = await reader.listMessages({
      conversationId: 'any;-;a@example.org',
      order: 'asc',
      limit: 9,
      offset: 0,
    });
    expect(page.items.map(({ guid, sender, body, status }) => [guid, sender, body, status])).toEqual([
      ['A', 'a@example.org', 'in', 'delivered'],
      ['', 'me', 'out', 'sent'],
    ]);
    expect((await reader.listConversations({ limit: 9, offset: 0 })).items).toEqual([
      { id: 'iMessage;-;a@example.org', display_name: null, participants: [], last_message_at: '2026-01-01T00:00:00Z' },
    ]);
  });

  test.each(['message', 'chat', 'handle', 'chat_message_join'])('without the table %s says so', async (table) => {
    const { fixture, reader } = open('bare');
    fixture.sqlite.exec(`DROP TABLE ${table}`);
    await expect(reader.message('1')).rejects.toEqual(
      expect.objectContaining({ status: 503, message: `The Messages database has no table ${table}.` }),
    );
  });

  test('without a needed column says which', async () => {
    const { fixture, reader } = open('bare');
    fixture.sqlite.exec('ALTER TABLE message DROP COLUMN is_from_me');
    await expect(reader.listConversations({ limit: 1, offset: 0 })).rejects.toThrow('no column message.is_from_me');
  });
});
