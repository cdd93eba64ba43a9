import { describe, expect, test } from '@jest/globals';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { encodeBinaryPlist } from '../../src/features/simulator/binary-plist.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const EDITED = { date_edited: appleNs('2026-01-01T10:01:00Z'), part_count: 1 };
const DETAILS = includeSet(['details']);
type Columns = Parameters<ChatFixture['message']>[0];

/** Returns a message_summary_info with the versions of each part, the oldest first. */
function versions(parts: Readonly<Record<string, readonly (string | Buffer)[]>>, retracted: readonly bigint[] = []) {
  const version = (text: string | Buffer, n: number) => ({
    d: 800_000_000 + n,
    t: typeof text === 'string' ? encodeAttributedBody(text) : text,
  });
  const ec = Object.fromEntries(Object.entries(parts).map(([part, texts]) => [part, texts.map(version)] as const));
  return encodeBinaryPlist({ ec, ...(retracted.length > 0 && { rp: retracted }) });
}

/**
 * Writes a row and returns what each way to read it shows: body, event, sentence and the conversation's last message.
 */
async function shown(columns: Columns) {
  const { fixture, connection } = databases.open();
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  const row = fixture.message({ chat, handle_id: 1, ...columns });
  const reader = new ChatReader(connection);
  const message = await reader.message(String(row), { include: DETAILS });
  const [entry] = new ChatLog(connection).entries(rowOffset(0), rowOffset(row), 1);
  const [conversation] = (await reader.listConversations({ limit: 1, offset: 0, include: DETAILS })).items;
  return {
    body: message?.body,
    event: entry?.event.data,
    sentence: message?.details?.sentence,
    last: conversation?.details?.last_message,
  };
}

describe('an edited message shows its newest text', () => {
  const stale = { ...EDITED, text: 'original' };
  test.each<[string, string, Columns]>([
    ['in attributedBody', 'newest', { ...stale, attributedBody: encodeAttributedBody('newest') }],
    [
      'in attributedBody, before that of the versions',
      'newest',
      { ...stale, attributedBody: encodeAttributedBody('newest'), message_summary_info: versions({ 0: ['a', 'b'] }) },
    ],
    ['among the versions', 'newest', { ...stale, message_summary_info: versions({ 0: ['original', 'newest'] }) }],
    [
      'among the versions of each part',
      'one two',
      { ...stale, message_summary_info: versions({ 0: ['x', 'one '], 1: ['y', 'two'] }) },
    ],
    [
      'without a part that was unsent',
      'two',
      { ...stale, part_count: 2, message_summary_info: versions({ 0: ['x', 'one '], 1: ['y', 'two'] }, [0n]) },
    ],
    [
      'among the versions if attributedBody is unreadable',
      'newest',
      { ...stale, attributedBody: Buffer.from('garbage'), message_summary_info: versions({ 0: ['a', 'newest'] }) },
    ],
    ['in the column if no other has a text', 'original', stale],
    ['however long it is', 'n'.repeat(50_000), { ...stale, attributedBody: encodeAttributedBody('n'.repeat(50_000)) }],
  ])('%s', async (name, text, columns) => {
    const { body, event, sentence, last } = await shown(columns);
    expect(body).toBe(text);
    expect(event).toMatchObject({ body: text });
    expect(sentence).toBe(`${text.slice(0, 191)} (${name.includes('unsent') ? 'one part unsent' : 'edited'})`);
    expect(last).toMatchObject({ body: text.slice(0, 200) });
  });

  test.each<[string, Columns]>([
    ['attributedBody is', { attributedBody: Buffer.from('garbage') }],
    ['the last version is', { message_summary_info: versions({ 0: ['original', Buffer.from('garbage')] }) }],
  ])('and no old one if it is unreadable: %s', async (_, columns) => {
    const { body, event, sentence } = await shown({ ...stale, ...columns });
    expect(body).toBe('');
    expect(event).toMatchObject({ body: '' });
    expect(sentence).toBe('Text could not be read (edited)');
  });
});

test('a message of which one part is unreadable has no body, rather than half of one', async () => {
  const message_summary_info = versions({ 0: ['x', Buffer.from('garbage')], 1: ['y', 'two'] });
  const { body, event } = await shown({ ...EDITED, text: 'original', part_count: 2, message_summary_info });
  expect({ body, event }).toMatchObject({ body: '', event: { body: '' } });
});

test('the versions of edited messages are read up to 4 MiB at once', () => {
  const { fixture, connection } = databases.open();
  const large = Buffer.concat([encodeAttributedBody('newest'), Buffer.alloc(900_000)]);
  const message_summary_info = versions({ 0: [large] });
  for (let row = 0; row < 6; row += 1) fixture.message({ ...EDITED, message_summary_info });
  const entries = new ChatLog(connection).entries(rowOffset(0), rowOffset(6), 6);
  expect(entries.filter(({ event }) => 'body' in event.data && event.data.body === 'newest')).toHaveLength(4);
});

describe('an unsent message shows no text', () => {
  test.each<[string, Columns]>([
    ['left in the column', { text: 'secret' }],
    ['left in attributedBody', { attributedBody: encodeAttributedBody('secret') }],
    ['left in both', { text: 'secret', attributedBody: encodeAttributedBody('secret') }],
  ])('%s', async (_, columns) => {
    const retracted = encodeBinaryPlist({ otr: { 0: { lo: 0n, le: 6n } }, rp: [0n] });
    const { last, ...read } = await shown({ ...EDITED, ...columns, part_count: 0, message_summary_info: retracted });
    expect(read).toMatchObject({ body: '', sentence: 'Unsent a message', event: { body: '' } });
    expect(last).toMatchObject({ body: '', sentence: 'Unsent a message' });
  });

  test('also with the date of Undo Send', async () => {
    const columns = { text: 'secret', date_retracted: appleNs('2026-01-01T10:02:00Z') };
    expect(await shown(columns)).toMatchObject({ body: '', sentence: 'Unsent a message' });
  });
});

const UNREADABLE = [
  ['cut within its text', encodeAttributedBody('x'.repeat(300)).subarray(0, 200)],
  ['no typedstream', Buffer.from('garbage')],
  ['longer than any message', Buffer.concat([encodeAttributedBody('x'), Buffer.alloc(1_100_000)])],
] as const;

describe('a text that could not be read is called that', () => {
  test.each(UNREADABLE)('if it is %s', async (_, attributedBody) => {
    const { body, sentence, last } = await shown({ text: null, attributedBody });
    expect({ body, sentence }).toEqual({ body: '', sentence: 'Text could not be read' });
    expect(last).toMatchObject({ body: '', sentence: 'Text could not be read' });
  });

  test('but not if there is none', async () => {
    for (const text of [null, '', '\uFFFC']) expect(await shown({ text })).toMatchObject({ sentence: 'Empty message' });
    const attributedBody = encodeAttributedBody('\uFFFC');
    expect(await shown({ text: null, attributedBody })).toMatchObject({ sentence: 'Empty message' });
  });
});

test('a message that Send Later has sent is the last message of its conversation, and not scheduled any more', async () => {
  const { fixture, connection } = databases.open();
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  fixture.message({ chat, text: 'before', handle_id: 1, date: appleNs('2026-01-01T00:00:00Z') });
  const own = { chat, is_from_me: 1, schedule_type: 2 };
  const sent = { schedule_state: 3, is_sent: 1, is_delivered: 1, date: appleNs('2026-01-02T00:00:00Z') };
  const row = fixture.message({ ...own, ...sent, text: 'sent later' });
  const waiting = fixture.message({ ...own, text: 'waits', date: appleNs('2026-01-03T00:00:00Z') });
  const reader = new ChatReader(connection);
  const [conversation] = (await reader.listConversations({ limit: 1, offset: 0, include: DETAILS })).items;
  expect(conversation).toMatchObject({
    last_message_at: '2026-01-02T00:00:00Z',
    details: { last_message: { body: 'sent later' } },
  });
  const read = async (id: number) => reader.message(String(id), { include: DETAILS });
  expect(await read(row)).toMatchObject({ status: 'delivered' });
  expect((await read(row))?.details?.scheduled).toBeUndefined();
  expect(await read(waiting)).toMatchObject({
    status: 'pending',
    details: { scheduled: { for: '2026-01-03T00:00:00Z', state: 2 } },
  });
});
