import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { KNOWN_COLUMNS } from '../../src/features/doctor/data-shapes.ts';
import { DiagnosticReader } from '../../src/features/doctor/diagnostic-reader.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { diagnosticsSchema } from '../../src/features/doctor/schema.ts';
import { loadableSchema, MACOS_VERSIONS } from '../../src/features/simulator/macos-versions.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const WHO = ['Zqjane', '+15550100123', 'zq@zqmail.org'] as const;

test('the shapes count rows, and nothing that a row, a chat or a file says is in them', () => {
  const fixture = new ChatFixture(join(folder, 'chat.db'));
  const chat = fixture.chat(`iMessage;-;${WHO[1]}`, [WHO[1]]);
  const day = appleNs('2026-01-01T00:00:00Z');
  fixture.message({ chat, text: WHO[0], date: day });
  fixture.message({ chat, text: null, date: day, service: WHO[2], item_type: 1, account: `E:${WHO[2]}` });
  fixture.message({ text: WHO[0], date: day, guid: WHO[0] });
  fixture.message({ chat, text: null, date: day - 7_200_000_000_000n, date_edited: day, part_count: 0 });
  const link = fixture.message({
    chat,
    text: 'zq.example',
    date: day,
    balloon_bundle_id: 'com.apple.messages.URLBalloonProvider',
    reply_to_guid: WHO[0],
    guid: `p:0/${WHO[0]}`,
  });
  fixture.attach(link, `/Users/${WHO[0]}/a.pluginPayloadAttachment`, { hide_attachment: 1 });
  fixture.attach(link, `/Users/${WHO[0]}/b.pluginPayloadAttachment`);
  fixture.attach(link, `/Users/${WHO[0]}/photo.heic`);
  const reader = new DiagnosticReader(join(folder, 'chat.db'));
  const [shapes, sqlite] = [reader.dataShapes(), reader.sqlite()];
  reader.close();
  fixture.close();
  expect(shapes).toMatchObject({
    rows: 5,
    item_types: { 0: 4, 1: 1 },
    services: { iMessage: 4, other: 1 },
    guids: { uuid: 3, other: 1, prefixed: 1 },
    edited_without_body: 1,
    without_parts: expect.any(Number),
    text_null: 2,
    unjoined: 1,
    link_previews_hidden: 1,
    link_previews_shown: 1,
    link_rows_with_reply: 1,
    backfilled: 1,
  });
  expect(sqlite).toMatchObject({ journal_mode: 'wal', version: expect.stringMatching(/^3\./) });
  const text = JSON.stringify([shapes, sqlite]).toLowerCase();
  for (const secret of [...WHO, 'zq.example', 'photo', folder]) expect(text).not.toContain(secret.toLowerCase());
  // Whatever a service answers, the report accepts only numbers and known words.
  const answer = { ...diagnosticsExample, data_shapes: shapes, sqlite };
  expect(diagnosticsSchema.safeParse(answer).success).toBe(true);
  for (const members of [{ handle_tags: { [WHO[0]]: 1 } }, { schedule_states: { [WHO[1]]: 1 } }]) {
    const told = { ...shapes, chats: { ...shapes.chats, ...members } };
    expect(diagnosticsSchema.safeParse({ ...answer, data_shapes: told }).success).toBe(false);
  }
  const planted = { ...shapes, services: { [WHO[0]]: 1 } };
  expect(diagnosticsSchema.safeParse({ ...answer, data_shapes: planted }).success).toBe(false);
});

describe('columns that this version does not know', () => {
  test.each(MACOS_VERSIONS)('are none in chat.db of macOS %s', (version) => {
    const path = join(folder, `known-${version}.db`);
    new ChatFixture(path, `macos-${version}`).close();
    const reader = new DiagnosticReader(path);
    expect(reader.dataShapes().unknown_columns).toBe(0);
    reader.close();
  });

  test('are counted in every table that is read, and never named', () => {
    const path = join(folder, 'newer.db');
    new ChatFixture(path).close();
    const newer = openSqlite(path);
    for (const table of Object.keys(KNOWN_COLUMNS)) newer.exec(`ALTER TABLE ${table} ADD COLUMN zqnew TEXT`);
    newer.exec('ALTER TABLE message ADD COLUMN zqsecond TEXT; CREATE TABLE zqtable (zqother TEXT)');
    newer.close();
    const reader = new DiagnosticReader(path);
    const shapes = reader.dataShapes();
    reader.close();
    expect(shapes.unknown_columns).toBe(Object.keys(KNOWN_COLUMNS).length + 1);
    expect(JSON.stringify(shapes)).not.toContain('zq');
  });

  test('are no others than those that some macOS has', () => {
    const found = new Set<string>();
    for (const version of MACOS_VERSIONS) {
      const sqlite = openSqlite(':memory:');
      sqlite.exec(loadableSchema(version));
      for (const table of Object.keys(KNOWN_COLUMNS)) {
        const names = sqlite.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
        for (const [name] of names) found.add(`${table}.${String(name)}`);
      }
      sqlite.close();
    }
    const known = Object.entries(KNOWN_COLUMNS).flatMap(([table, names]) =>
      names
        .trim()
        .split(/\s+/)
        .map((name) => `${table}.${name}`),
    );
    expect(known.filter((name) => !found.has(name))).toEqual([]);
    expect(new Set(known).size).toBe(known.length);
  });
});

test('a bare database has shapes too, null where it has no such column', () => {
  new ChatFixture(join(folder, 'bare.db'), 'bare').close();
  const reader = new DiagnosticReader(join(folder, 'bare.db'));
  expect(reader.dataShapes()).toMatchObject({ rows: 0, item_types: null, retracted: null, link_previews_shown: null });
  reader.close();
});

describe('over the whole of chat.db', () => {
  function shapesOf(name: string, fill: (fixture: ChatFixture) => void) {
    const path = join(folder, name);
    const fixture = new ChatFixture(path);
    fill(fixture);
    const reader = new DiagnosticReader(path);
    const { chats } = reader.dataShapes();
    reader.close();
    fixture.close();
    expect(JSON.stringify(chats)).not.toMatch(/zq|555|274/i);
    expect(
      diagnosticsSchema.safeParse({
        ...diagnosticsExample,
        data_shapes: { ...diagnosticsExample.data_shapes, chats },
      }).success,
    ).toBe(true);
    return chats;
  }

  test('filters of chats are counted, those above five digits and words together', () => {
    const chats = shapesOf('filters.db', (fixture) => {
      for (const [index, filter] of [0, 0, 1, 2, 52, 5_550_100, 'zq'].entries()) {
        const columns = { is_filtered: filter, is_blackholed: Number(index === 3) };
        fixture.chat(`any;-;+1555010${index}`, [`+1555010${index}`], columns);
      }
    });
    expect(chats).toMatchObject({ chat_filters: { 0: 2, 1: 1, 2: 1, 52: 1, other: 2 }, chats_blackholed: 1 });
  });

  test('tags of addresses are counted by the last parenthesis, and no other word in parentheses is reported', () => {
    const ids = [
      ...['+15550100', '+15550101(smsft)', '+15550102(smsft_rm)(smsft)', '53849(smsft_fi)', '(800) 275-2740'],
      ...['zq@zqmail.org(filtered)', 'AXZQ(zqzq)', '+15550103(smsft_ZQ)', '+15550104(ft_rm)'],
    ];
    const chats = shapesOf('tags.db', (fixture) => {
      for (const id of ids) fixture.chat(`any;-;${id}`, [id]);
      fixture.sqlite.exec("UPDATE handle SET uncanonicalized_id = id WHERE id LIKE '%(filtered)'");
      fixture.sqlite.exec("UPDATE handle SET uncanonicalized_id = '5550101' WHERE id = '+15550101(smsft)'");
    });
    expect(chats).toMatchObject({
      handle_tags: { none: 2, smsft: 2, smsft_fi: 1, filtered: 1, ft_rm: 1, other: 2 },
      tags_uncanonicalized: { same: 1, other: 1, null: 5 },
    });
  });

  test('states of scheduled rows are counted together with type and whether they were sent', () => {
    const chats = shapesOf('scheduled.db', (fixture) => {
      fixture.message({ text: 'zq' });
      fixture.message({ text: 'zq', schedule_type: 2, schedule_state: 1, is_sent: 0 });
      for (const _ of [1, 2]) fixture.message({ text: 'zq', schedule_type: 2, schedule_state: 3, is_sent: 1 });
    });
    expect(chats?.schedule_states).toEqual({ '2/1/0': 1, '2/3/1': 2 });
  });

  test('the newest SMS have the same numbers on two Macs, which reveal no guid', () => {
    const guids = Array.from({ length: 25 }, (_, index) => `ZQ-${index}`);
    const fill = (fixture: ChatFixture): void => {
      for (const guid of guids) fixture.message({ guid, text: 'zq', service: 'SMS' });
      fixture.message({ guid: 'other', text: 'zq' });
    };
    const [one, two] = [shapesOf('one.db', fill), shapesOf('two.db', fill)];
    expect(one?.sms_guid_marks).toEqual(two?.sms_guid_marks);
    expect(new Set(one?.sms_guid_marks).size).toBe(20);
  });
});
