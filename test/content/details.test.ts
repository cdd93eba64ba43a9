import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DETAIL_COLUMNS } from '../../src/core/chatdb/columns.ts';
import { RowBudget } from '../../src/core/chatdb/content/row-budget.ts';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { reactionDetailsOf } from '../../src/core/chatdb/reaction-details.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { Reaction } from '../../src/core/model/reaction.ts';
import { bodySentence } from '../../src/core/model/sentence.ts';
import type { SqlValue } from '../../src/core/runtime/sqlite.ts';
import { contentMembersWith } from '../../src/core/schema/content-schema.ts';
import { messageDetailsWith } from '../../src/core/schema/details-schema.ts';
import { readProtobuf } from '../../src/features/content/protobuf.ts';
import { contentDecoder } from '../../src/features/content/rows.ts';
import { SCHEMAS } from '../../src/features/content/schemas.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { type ContentVector, contentVectors, storedValue } from '../support/content-vectors.ts';

const databases = chatDatabases();
const { fixture, connection } = databases.open(
  'macos-27',
  join(databases.folder, 'Library/Messages/chat.db'),
  'by_kind',
  [],
  [contentDecoder],
);
const reader = new ListReader(connection);
const contentMembers = contentMembersWith(SCHEMAS.row);
const messageDetailsSchema = messageDetailsWith(SCHEMAS.row, SCHEMAS.file);
const files = join(dirname(fixture.path), 'Attachments');
mkdirSync(files, { recursive: true });

const SENDERS = { 2: '+15550100', 3: '+15550101', 4: 'cleo@example.org' };
const handleOf = (address: string): number => Number(Object.entries(SENDERS).find(([, one]) => one === address)?.[0]);

const ATTACHMENT_COLUMNS = [
  'is_sticker',
  'sticker_user_info',
  'emoji_image_short_description',
  'attribution_info',
  'user_info',
  'mime_type',
];

type Columns = Record<string, SqlValue>;

/** Reads a vector's row as a client does, then removes it, because many have the same guid. */
function read<Result>({ columns, related = [] }: ContentVector, use: (rowId: number) => Result): Result {
  const stored: Columns = Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [name, exact(storedValue(value))]),
  );
  const { file, ...others } = stored;
  const isOfAttachment = (name: string): boolean => ATTACHMENT_COLUMNS.includes(name);
  const row = Object.fromEntries(Object.entries(others).filter(([name]) => !isOfAttachment(name)));
  const attached = Object.fromEntries(Object.entries(others).filter(([name]) => isOfAttachment(name)));
  // The handle of a message is deleted with it.
  for (const [id, address] of Object.entries(SENDERS)) {
    const columns = { ROWID: Number(id), id: address, service: 'iMessage' };
    if (fixture.number(`SELECT count(*) FROM handle WHERE ROWID = ${id}`) === 0) fixture.insert('handle', columns);
  }
  const rowId = fixture.message({ handle_id: 2, ...row });
  if (file !== undefined || Object.keys(attached).length > 0) {
    const path = join(files, 'attached');
    writeFileSync(path, (file ?? '') as Buffer);
    fixture.attach(rowId, path, attached);
  }
  for (const { sender, columns: vote } of related) {
    const values = Object.entries(vote).map(([name, value]) => [name, exact(storedValue(value))] as const);
    fixture.message({ handle_id: handleOf(sender), ...Object.fromEntries<SqlValue>(values) });
  }
  try {
    return use(rowId);
  } finally {
    fixture.sqlite.exec('DELETE FROM message; DELETE FROM message_attachment_join; DELETE FROM attachment');
  }
}

/** Dates have more digits than a JavaScript number holds. */
const exact = (value: ReturnType<typeof storedValue>): SqlValue =>
  typeof value === 'number' && !Number.isSafeInteger(value) ? BigInt(value) : value;

function detailsOf(vector: ContentVector): MessageDetails | undefined {
  return read(vector, (rowId) => {
    const message = reader.message(String(rowId), { include: includeSet(['details']) });
    if (message?.details === undefined) return undefined;
    messageDetailsSchema.parse(message.details);
    return { ...message.details, sentence: message.details.sentence ?? bodySentence(message.body) };
  });
}

const isMessage = ({ columns, name }: ContentVector): boolean =>
  columns.associated_message_type !== 4000 &&
  !['reaction', 'poll_update'].some(
    (member) => member in (contentVectors.find((one) => one.name === name)?.expect ?? {}),
  ) &&
  // SQLite turns the numbers into texts.
  name !== 'column names hold numbers';

describe('the details of a row', () => {
  test.each(contentVectors.filter(isMessage))('$kind: $name', (vector) => {
    const { reaction: _, part_of_guid, sticker, contact, location, ...expected } = vector.expect;
    const details = detailsOf(vector);
    expect(details).toMatchObject(expected);
    if (vector.sentence !== undefined) expect(details?.sentence).toBe(vector.sentence);
    const told = Object.entries(details ?? {}).filter(([name]) => name in contentMembers);
    expect(told).toEqual(told.map(([name]) => [name, expected[name]]));
    const [attachment] = details?.attachments ?? [];
    for (const [name, value] of Object.entries({ sticker, contact, location })) {
      expect(attachment?.[name as 'sticker']).toEqual(value);
    }
    expect(part_of_guid === undefined || details?.kind === 'link').toBe(true);
  });
});

const vectorOf = (name: string): ContentVector => contentVectors.find((one) => one.name === name) as ContentVector;

describe('a row that names another one', () => {
  test.each(['a vote row', 'a vote row that takes all back', 'the row that adds an option'])('%s', (name) => {
    const vector = vectorOf(name);
    const details = read(vector, (rowId) =>
      connection.read((snapshot) =>
        reactionDetailsOf(snapshot, {
          ...REACTION,
          id: String(rowId),
          associated_message_type: Number(vector.columns.associated_message_type),
          message_guid: vector.columns.associated_message_guid as string,
        }),
      ),
    );
    const kind = 'poll_update' in vector.expect ? 'poll_update' : 'poll_vote';
    expect(details).toEqual({ kind, [kind]: vector.expect[kind], sentence: vector.sentence });
  });

  test('votes count only in the conversation of their poll', () => {
    const poll = contentVectors.find(({ expect }) => /"votes":\["/.test(JSON.stringify(expect.poll) ?? ''));
    const [own, other] = [fixture.chat('any;+;poll', []), fixture.chat('any;+;hidden', [])];
    const votesFrom = (chat: number): boolean | undefined => {
      const { columns, related = [], ...rest } = poll as ContentVector;
      const moved = related.map(({ sender, columns: vote }) => ({ sender, columns: { ...vote, chat } }));
      const details = detailsOf({ ...rest, columns: { ...columns, chat: own }, related: moved });
      return details?.poll?.options.some(({ votes }) => votes.length > 0);
    };
    expect([votesFrom(own), votesFrom(other)]).toEqual([true, false]);
  });

  test('a vote that cannot be read replaces the earlier votes of its sender', () => {
    const poll = contentVectors.find(({ expect }) => /"votes":\["/.test(JSON.stringify(expect.poll) ?? ''));
    const { related: [vote] = [] } = poll as ContentVector;
    const { sender = '', columns = {} } = vote ?? {};
    const later = { guid: 'later', date: Number(appleNs('2030-01-01T00:00:00Z')), payload_data: { hex: '00' } };
    const related = [columns, { ...columns, ...later }].map((one) => ({ sender, columns: one }));
    const options = detailsOf({ ...(poll as ContentVector), related })?.poll?.options ?? [];
    expect(options.flatMap(({ votes }) => votes)).toEqual([]);
  });

  test("the owner's last vote counts, from whichever address", () => {
    const poll = contentVectors.find(({ expect }) => /"votes":\["/.test(JSON.stringify(expect.poll) ?? ''));
    const { related: [vote] = [] } = poll as ContentVector;
    const from = (address: string) => ({ is_from_me: 1, handle_id: 0, destination_caller_id: address });
    const related = ['+15550199', 'me@example.org'].map((address) => ({
      sender: '',
      columns: { ...vote?.columns, guid: `vote from ${address}`, ...from(address) },
    }));
    const options = detailsOf({ ...(poll as ContentVector), related })?.poll?.options ?? [];
    expect(options.flatMap(({ votes }) => votes)).toEqual(['me@example.org']);
  });

  test('a tapback says which part it is on', () => {
    const guid = '00000048-0000-4000-8000-000000000048';
    const liked: ContentVector = {
      ...vectorOf('plain text has no parts'),
      columns: { ...vectorOf('plain text has no parts').columns, guid },
      related: [
        { sender: SENDERS[3], columns: vectorOf('like of part 1').columns },
        { sender: SENDERS[4], columns: vectorOf('negative part is no part').columns },
      ],
    };
    expect(detailsOf(liked)?.reactions.map(({ reaction_type, part }) => [reaction_type, part])).toEqual([
      ['thumbs_up', 1],
      ['haha', undefined],
    ]);
  });
});

describe('the question of a poll', () => {
  const AFTER_5_S = Number(appleNs('2026-01-01T00:00:05Z'));
  const caption = { text: 'Dinner?', reply_to_guid: '00000032-0000-4000-8000-000000000032' };
  test.each([
    ['is the next row of the same sender', SENDERS[2], caption, 'Dinner?'],
    ['is written within five seconds', SENDERS[2], { ...caption, date: AFTER_5_S }, 'Dinner?'],
    ['is no row of another person', SENDERS[3], caption, undefined],
    ['is no row without a text', SENDERS[2], { ...caption, text: '' }, undefined],
    ['is no row that names another one', SENDERS[2], { ...caption, reply_to_guid: 'other' }, undefined],
    ['is no reply in a thread', SENDERS[2], { ...caption, thread_originator_guid: caption.reply_to_guid }, undefined],
    [
      'is no row that comes later',
      SENDERS[2],
      { ...caption, date: Number(appleNs('2026-01-01T00:00:06Z')) },
      undefined,
    ],
  ])('%s', (_, sender, columns, question) => {
    const poll = detailsOf({ ...vectorOf('poll'), related: [{ sender, columns }] })?.poll;
    expect(poll?.question).toBe(question);
    expect(poll?.question_guid === undefined).toBe(question === undefined);
  });

  test('is no row of another conversation, which others may read', () => {
    const { columns, ...poll } = vectorOf('poll');
    const [own, other] = [fixture.chat('any;+;asked', []), fixture.chat('any;+;elsewhere', [])];
    const questionIn = (chat: number): string | undefined =>
      detailsOf({
        ...{ ...poll, columns: { ...columns, chat: own } },
        related: [{ sender: SENDERS[2], columns: { ...caption, chat } }],
      })?.poll?.question;
    expect([questionIn(own), questionIn(other)]).toEqual(['Dinner?', undefined]);
  });
});

test.each<[string, string, Columns, object]>([
  [
    'a reply is to as many characters of the text as it says, from the place that it says',
    'reply to a part and range',
    { thread_originator_part: '1:3:4' },
    { reply_to_part: 1, reply_to_range: [3, 7] },
  ],
  [
    'an incoming row that names nobody shares the location of its sender',
    'location sharing started',
    { is_from_me: 0, other_handle: 0, share_direction: 0 },
    { location_share: { action: 'started', by_me: false } },
  ],
  [
    'a member without a handle has not changed their address',
    'added',
    { handle_id: 0, other_handle: 0 },
    { group_event: { type: 'added' } },
  ],
])('%s', (_, name, columns, expected) => {
  const vector = vectorOf(name);
  const changed = { ...vector.columns, ...columns } as ContentVector['columns'];
  expect(detailsOf({ ...vector, columns: changed })).toMatchObject(expected);
});

test('a sketch that ends within the head of a stroke is not read, and named', () => {
  const vector = vectorOf('digital touch: sketch');
  const payload_data = { hex: '08041a051203010203' };
  expect(detailsOf({ ...vector, columns: { ...vector.columns, payload_data } })?.undecoded).toEqual(['payload_data']);
});

test('a varint may exceed 32 bits', () => {
  const fields = readProtobuf(Buffer.from('0880808080802020ffffffff0f', 'hex'), new RowBudget());
  expect(fields?.map(({ value }) => value)).toEqual([2 ** 40, 2 ** 32 - 1]);
});

test('one read decodes content in about 200,000 steps, and the next one as many', () => {
  const vector = vectorOf('100,000 runs');
  const related = Array.from({ length: 14 }, (_, number) => ({
    sender: SENDERS[2],
    columns: { ...vector.columns, guid: `again ${number}` },
  }));
  const include = includeSet(['details']);
  const [first, last, alone] = read({ ...vector, related }, (rowId) => {
    const listed = reader.messages({ order: 'asc', limit: 15, offset: 0, include }).items;
    return [listed[0], listed[14], reader.message(String(rowId + 14), { include })];
  });
  expect([first, last, alone].map((message) => message?.details?.content_left_out)).toEqual([
    undefined,
    true,
    undefined,
  ]);
});

test('a blob of more than 1 MiB is not read, and named', () => {
  const payload = { hex: Buffer.alloc(1_048_577).toString('hex') };
  const vector = vectorOf('page');
  expect(detailsOf({ ...vector, columns: { ...vector.columns, payload_data: payload } })?.undecoded).toEqual([
    'payload_data',
  ]);
});

test.each([
  'plain text has no parts',
  'text column alone',
  'summary of an ordinary row',
  'long text: four-byte length',
])('nothing more is read of an ordinary row: %s', (name) => {
  const hasContent = read(vectorOf(name), (rowId) =>
    connection.read(({ database, queries }) => database.get(queries.details, rowId)?.[DETAIL_COLUMNS.at.hasContent]),
  );
  expect(hasContent).toBe(0);
});

const REACTION: Reaction = {
  id: '',
  guid: '',
  conversation_id: '',
  sender: '',
  is_from_me: false,
  reaction_type: 'other',
  emoji: null,
  message_id: '',
  message_guid: '',
  timestamp: '2026-01-01T00:00:00Z',
  associated_message_type: 0,
};
