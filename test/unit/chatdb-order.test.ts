import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { MessageQuery, Page } from '../../src/core/model/ports/reading-ports.ts';
import { ChatFixture, isSince13, type Schema } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const RUNS = isLong ? 400 : 15;
const NS = 1_000_000_000n;
const EPOCH_S = 978_307_200n;
const LARGEST = 9_223_372_036_854_775_807n;

type Date = bigint | null | string;

/** A row of the model. `joins`: chats by index, with what the join says of the date. */
interface ModelRow {
  readonly date: Date;
  readonly joins: readonly { readonly chat: number; readonly isDated: boolean }[];
  readonly isReaction: boolean;
  readonly isScheduled: boolean;
  readonly isRecoverable: boolean;
  /** Possible only in the bare schema, which has no key that forbids it. */
  readonly isJoinedTwice: boolean;
}

/** Applies the contract's rule to one value, in whole numbers. */
function instant(date: Date): bigint {
  if (typeof date !== 'bigint') return 0n;
  return date >= -10_000_000_000n && date <= 10_000_000_000n ? date * NS : date;
}

const CHATS = 3;
const dates: fc.Arbitrary<Date> = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(700_000_000n * NS, 700_000_009n * NS) },
  { weight: 3, arbitrary: fc.bigInt(699_999_998n, 700_000_010n) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Date>(
      null,
      0n,
      1n,
      -1n,
      'no date',
      -LARGEST - 1n,
      LARGEST,
      10_000_000_000n,
      10_000_000_001n,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Date>(-5n, -20_000_000_000n, -700_000_000n * NS, 5n * NS, 700_000_003n * NS),
  },
);
const rowsWith = (date: fc.Arbitrary<Date>, isDated: fc.Arbitrary<boolean>): fc.Arbitrary<ModelRow> =>
  fc.record({
    date,
    joins: fc.uniqueArray(fc.record({ chat: fc.nat(CHATS - 1), isDated }), {
      maxLength: 2,
      selector: ({ chat }) => chat,
    }),
    isReaction: fc.boolean(),
    isScheduled: fc.integer({ max: 4 }).map((number) => number === 0),
    isRecoverable: fc.integer({ max: 3 }).map((number) => number === 0),
    isJoinedTwice: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
  });
const rows = rowsWith(dates, fc.boolean());
/** Rows as Messages writes them today: the index has them in order. */
const orderlyRows = rowsWith(fc.bigInt(700_000_000n * NS, 700_000_000n * NS + 5n), fc.constant(true));
const models = fc.oneof(fc.array(rows, { maxLength: 25 }), fc.array(orderlyRows, { maxLength: 25 }));

let files = 0;

function build(schema: Schema, model: readonly ModelRow[]): { reader: ChatReader; close: () => void } {
  files += 1;
  const fixture = new ChatFixture(join(folder, `order-${files}.db`), schema);
  const isBare = schema === 'bare';
  fixture.transaction(() => {
    for (let chat = 0; chat < CHATS; chat += 1) fixture.chat(`any;-;${chat}`);
    for (const row of model) {
      const rowId = fixture.message({
        date: row.date,
        ...(isBare ? {} : { associated_message_type: row.isReaction ? 2000 : 0 }),
        ...(schema === 'macos-26' && row.isScheduled ? { schedule_type: 2, is_from_me: 1 } : {}),
      });
      const joins = isBare && row.isJoinedTwice ? [...row.joins, ...row.joins] : row.joins;
      for (const { chat, isDated } of joins) fixture.join(chat + 1, rowId, isDated ? row.date : 0);
      if (row.isRecoverable && isSince13(schema)) {
        fixture.insert('chat_recoverable_message_join', { chat_id: 1, message_id: rowId, delete_date: 1 });
      }
    }
  });
  const connection = new Connection({ path: fixture.path, home: '/home', log: collectingLog() });
  const close = (): void => {
    connection.close();
    fixture.remove();
  };
  return { reader: new ChatReader(connection), close };
}

/** Returns row ids in the order that a list must have. */
function expected(schema: Schema, model: readonly ModelRow[], query: MessageQuery): string[] {
  const listed = query.conversationIds ?? (query.conversationId === undefined ? undefined : [query.conversationId]);
  const chats = listed?.map((id) => Number(id.slice(6)));
  const since = query.sinceNs === undefined ? undefined : query.sinceNs - EPOCH_S * NS;
  const sign = query.order === 'asc' ? 1 : -1;
  return model
    .map((row, index) => ({ row, at: instant(row.date), rowId: index + 1 }))
    .filter(({ row, at }) => {
      const [chat = -1] = row.joins.map((joined) => joined.chat).sort();
      if (row.isReaction && schema !== 'bare') return false;
      if (chat === -1 && row.isRecoverable && isSince13(schema)) return false;
      return (chats === undefined || chats.includes(chat)) && (since === undefined || at > since);
    })
    .sort((a, b) => sign * (a.at === b.at ? a.rowId - b.rowId : a.at < b.at ? -1 : 1))
    .map(({ rowId }) => String(rowId));
}

async function everyPage(reader: ChatReader, query: MessageQuery): Promise<string[]> {
  const ids: string[] = [];
  let page: Page<Message> = await reader.listMessages(query);
  for (;;) {
    ids.push(...page.items.map(({ id }) => id));
    if (page.next === undefined) return ids;
    expect(page.items).toHaveLength(query.limit);
    page = await reader.listMessages({ ...query, cursor: page.next });
  }
}

const queries = fc.record(
  {
    conversationId: fc.constantFrom('any;-;0', 'any;-;1', 'any;-;2'),
    conversationIds: fc.subarray(['any;-;0', 'any;-;1', 'any;-;2', 'any;-;nobody']),
    sinceNs: fc.oneof(
      fc.bigInt(700_000_000n, 700_000_009n).map((seconds) => (seconds + EPOCH_S) * NS),
      fc.bigInt(700_000_000n * NS, 700_000_009n * NS).map((ns) => ns + EPOCH_S * NS),
      fc.constantFrom(0n, EPOCH_S * NS, -(10n ** 20n), 10n ** 21n),
    ),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 7 }),
    offset: fc.nat(6),
  },
  { requiredKeys: ['order', 'limit', 'offset'] },
);

describe.each<Schema>(['macos-26', 'macos-13', 'macos-12', 'bare'])('lists on the %s schema', (schema) => {
  test('are in the order of the exact instants, whatever mixture of dates there is', async () => {
    await fc.assert(
      fc.asyncProperty(models, fc.array(queries, { maxLength: 12 }), async (model, asked) => {
        const { reader, close } = build(schema, model);
        try {
          for (const query of asked) {
            const all = expected(schema, model, query);
            expect(await everyPage(reader, { ...query, offset: 0 })).toEqual(all);
            const page = await reader.listMessages(query);
            expect(page.items.map(({ id }) => id)).toEqual(all.slice(query.offset, query.offset + query.limit));
            expect(page.next === undefined).toBe(query.offset + query.limit >= all.length);
          }
        } finally {
          close();
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('of conversations are in the order of their newest message, reactions included', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rows, { maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(3),
        async (model, limit, offset) => {
          const { reader, close } = build(schema, model);
          try {
            const newest = [0, 1, 2].map((chat) => {
              const counted = model.filter(
                ({ joins, isScheduled }) =>
                  joins.map((joined) => joined.chat).sort()[0] === chat && !(schema === 'macos-26' && isScheduled),
              );
              const last = counted.map(({ date }) => instant(date)).sort((a, b) => (a < b ? 1 : -1))[0];
              return { chat, last };
            });
            newest.sort((a, b) => {
              if (a.last === b.last) return b.chat - a.chat;
              if (a.last === undefined) return 1;
              if (b.last === undefined) return -1;
              return a.last < b.last ? 1 : -1;
            });
            const page = await reader.listConversations({ limit, offset });
            const ids = newest.map(({ chat }) => `any;-;${chat}`);
            expect(page.items.map(({ id }) => id)).toEqual(ids.slice(offset, offset + limit));
            for (const item of page.items) expect(await reader.conversation(item.id)).toEqual(item);
          } finally {
            close();
          }
        },
      ),
      { numRuns: RUNS },
    );
  });
});

test('a message that is joined twice appears once, though its joins have different dates', async () => {
  const fixture = new ChatFixture(join(folder, 'joined-twice.db'), 'bare');
  fixture.sqlite.exec('ALTER TABLE chat_message_join ADD COLUMN message_date INTEGER');
  fixture.sqlite.exec('CREATE INDEX by_chat_and_date ON chat_message_join (chat_id, message_date, message_id)');
  // A partial index is not the key that would forbid it.
  fixture.sqlite.exec('CREATE UNIQUE INDEX partial ON chat_message_join (chat_id, message_id) WHERE message_date < 0');
  const chat = fixture.chat('any;-;0');
  for (const second of [1n, 2n, 3n]) {
    const date = (700_000_000n + second) * NS;
    const message_id = fixture.message({ date });
    for (const message_date of [date, 0n, date]) {
      fixture.insert('chat_message_join', { chat_id: chat, message_id, message_date });
    }
  }
  const connection = new Connection({ path: fixture.path, home: '/home', log: collectingLog() });
  const reader = new ChatReader(connection);
  try {
    for (const order of ['asc', 'desc'] as const) {
      const ids = order === 'asc' ? ['1', '2', '3'] : ['3', '2', '1'];
      const query = { conversationId: 'any;-;0', order, offset: 0 };
      expect(await everyPage(reader, { ...query, limit: 2 })).toEqual(ids);
      const page = await reader.listMessages({ ...query, offset: 1, limit: 5 });
      expect(page.items.map(({ id }) => id)).toEqual(ids.slice(1));
    }
  } finally {
    connection.close();
    fixture.remove();
  }
});
