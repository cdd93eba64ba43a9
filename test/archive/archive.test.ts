import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ArchiveIndex } from '../../src/features/archive/archive-index.ts';
import { ArchiveSource } from '../../src/features/archive/archive-source.ts';
import { readChain } from '../../src/features/archive/chain.ts';
import { ChainFiles } from '../../src/features/archive/chain-files.ts';
import { archived, bodiesOf, chainsOf, compared, everythingIn, linesOf, verified } from '../support/archive-fixture.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const CHAT = 'iMessage;-;+15550100';

let folder: string;
let chatDb: string;
let fixture: ChatFixture;
let chat: number;

function write(
  text: string,
  iso = '2026-05-01T10:00:00Z',
  columns: Record<string, number | string | bigint> = {},
): number {
  return fixture.message({ chat, text, date: appleNs(iso), handle_id: fixture.handle('+15550100'), ...columns });
}

beforeEach(() => {
  const home = join(root, randomUUID());
  folder = join(home, 'archive');
  chatDb = join(home, 'Messages', 'chat.db');
  fixture = new ChatFixture(chatDb);
  chat = fixture.chat(CHAT, ['+15550100']);
});

function onlyChain(): string {
  const [path = '', ...more] = chainsOf(folder);
  expect(more).toEqual([]);
  return join(folder, path);
}

/** Changes one byte in the first occurrence of a text. */
function breakIn(path: string, text: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThan(0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

describe('an archive', () => {
  test('has every row once, by conversation and year, private, and later runs add what is new', async () => {
    write('the first', '2025-12-31T23:59:59Z');
    write('the second', '2026-01-01T00:00:00Z');
    fixture.message({ text: 'in no conversation' });
    expect(await archived(chatDb, folder)).toMatchObject({ added: 3, changed: 0, removed: 0 });
    expect(chainsOf(folder)).toHaveLength(3);
    write('the third');
    const report = await archived(chatDb, folder);
    expect(report).toMatchObject({ added: 1, changed: 0, removed: 0 });
    expect([...bodiesOf(folder)].sort()).toEqual(['in no conversation', 'the first', 'the second', 'the third']);
    expect(await verified(folder)).toMatchObject({ faults: [], unsealed: 0, seal: report.seal });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const entry of everythingIn(folder)) expect(entry).toMatch(/ (40700|100600) /);
  });

  test('keeps a message as it was before an edit, unsending or deletion, and says so once', async () => {
    const edited = write('before');
    const deleted = write('to be deleted');
    await archived(chatDb, folder);
    fixture.sqlite
      .prepare('UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ?')
      .run('after', appleNs('2026-05-01T10:01:00Z'), edited);
    fixture.sqlite.prepare('DELETE FROM message WHERE ROWID = ?').run(deleted);
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 1, removed: 1 });
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0, removed: 0 });
    const lines = linesOf(folder);
    expect(lines.map(({ n, replaces, removed, message }) => [n, replaces, removed ?? message?.body])).toEqual([
      [1, undefined, undefined],
      [2, undefined, 'before'],
      [3, undefined, 'to be deleted'],
      [4, 2, 'after'],
      [5, 3, true],
    ]);
    expect((await verified(folder)).faults).toEqual([]);
  });

  test('writes a message again when somebody reacts to it later, and when a deleted one comes back', async () => {
    const row = write('a message');
    await archived(chatDb, folder);
    write('Loved “a message”', '2026-05-01T11:00:00Z', {
      associated_message_type: 2000,
      associated_message_guid: `p:0/${fixture.guid(row)}`,
    });
    expect(await archived(chatDb, folder)).toMatchObject({ added: 1, changed: 1 });
    expect(linesOf(folder).at(-2)?.message?.details?.reactions).toHaveLength(1);
    fixture.sqlite.exec(`INSERT INTO chat_recoverable_message_join (chat_id, message_id) VALUES (${chat}, ${row})`);
    fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${row}`);
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0, removed: 1 });
    fixture.join(chat, row, appleNs('2026-05-01T10:00:00Z'));
    fixture.sqlite.exec('DELETE FROM chat_recoverable_message_join');
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 1, removed: 0 });
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect((await verified(folder)).faults).toEqual([]);
  });

  test('writes a message again when a tapback on it is gone, also after a run that failed meanwhile', async () => {
    const row = write('a message');
    const tapback = write('Loved “a message”', '2026-05-01T11:00:00Z', {
      associated_message_type: 2000,
      associated_message_guid: `p:0/${fixture.guid(row)}`,
    });
    await archived(chatDb, folder);
    fixture.sqlite.prepare('DELETE FROM message WHERE ROWID = ?').run(tapback);
    const connection = new Connection({ path: chatDb, home: '/home/nobody', log: collectingLog() });
    const source = new ArchiveSource(connection);
    const entries = source.entries.bind(source);
    source.entries = (rows) => {
      if (rows.length > 0) throw new Error('chat.db is away');
      return entries(rows);
    };
    await expect(archived(chatDb, folder, { source })).rejects.toThrow('chat.db is away');
    connection.close();
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 1, removed: 1 });
    expect(linesOf(folder).at(-2)?.message?.details?.reactions).toEqual([]);
  });

  test('can be written to again once its fault is corrected', async () => {
    write('a message');
    await archived(chatDb, folder);
    const whole = readFileSync(onlyChain());
    appendFileSync(onlyChain(), '{}\n');
    await expect(archived(chatDb, folder)).rejects.toMatchObject({ code: 'archive_damaged' });
    writeFileSync(onlyChain(), whole);
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0 });
  });

  test('continues behind its last whole line when a run was killed, without its index too', async () => {
    for (let n = 1; n <= 5; n += 1) write(`message ${n}`);
    const stop = new AbortController();
    const killed = archived(chatDb, folder, { signal: stop.signal, onProgress: () => stop.abort() });
    expect((await killed).isInterrupted).toBe(true);
    const path = onlyChain();
    const whole = readFileSync(path);
    for (const bytes of [whole.length - 1, whole.length - 100, 300, 10, 0]) {
      truncateSync(path, bytes);
      if (bytes === 300) rmSync(join(folder, 'index.db'));
      expect(await verified(folder)).toMatchObject({ faults: [] });
      const again = archived(chatDb, folder, { signal: stop.signal });
      expect((await again).isInterrupted).toBe(true);
    }
    await archived(chatDb, folder);
    expect(bodiesOf(folder)).toEqual([1, 2, 3, 4, 5].map((n) => `message ${n}`));
    rmSync(join(folder, 'index.db'));
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect((await verified(folder)).faults).toEqual([]);
  });

  test('matches the rows of a rebuilt chat.db by their guids, and takes no missing row for a deletion', async () => {
    const kept = write('in both');
    const guid = fixture.guid(kept);
    write('only in the old one');
    await archived(chatDb, folder);
    fixture.close();
    renameSync(chatDb, `${chatDb}.old`);
    fixture = new ChatFixture(chatDb);
    fixture.message({ text: 'another row with the first id' });
    chat = fixture.chat('any;-;+15550100', ['+15550100']);
    write('in both', '2026-05-01T10:00:00Z', { guid });
    const report = await archived(chatDb, folder);
    expect(report).toMatchObject({ added: 1, changed: 0, removed: 0, elsewhere: 1 });
    expect(report.warnings).toEqual([expect.stringContaining('has been replaced')]);
    expect(await archived(chatDb, folder)).toMatchObject({ added: 0, changed: 0, removed: 0, warnings: [] });
    expect([...bodiesOf(folder)].sort()).toEqual(['another row with the first id', 'in both', 'only in the old one']);
  });

  test('names the message that came back under another guid, and shows it once', async () => {
    const at = '2020-05-01T10:00:00Z';
    write('an old text', at, { handle_id: fixture.handle('+15550101') });
    const old = write('an old text', at);
    await archived(chatDb, folder);
    fixture.sqlite.exec(`DELETE FROM message WHERE ROWID = ${old}`);
    const back = write('an old text', at);
    write('an old text', '2020-05-01T10:00:01Z');
    await archived(chatDb, folder, { html: true });
    fixture.sqlite.exec(`UPDATE message SET is_read = 1, date_read = ${appleNs(at)} WHERE ROWID = ${back}`);
    const page = () => readFileSync(join(dirname(onlyChain()), '2020.html'), 'utf8');
    for (const index of ['', 'index.db']) {
      if (index !== '') rmSync(join(folder, index));
      await archived(chatDb, folder, { html: true });
      expect(page().match(/an old text/g)).toHaveLength(3);
      expect(page()).not.toContain('Deleted from Messages');
    }
    const twins = linesOf(folder).map(({ twin_of: twin }) => twin);
    expect(twins.filter((twin) => twin !== undefined)).toEqual([3, 3]);
    expect((await verified(folder)).faults).toEqual([]);
  });

  test('has only the requested messages, and later the rest', async () => {
    fixture.message({ chat: fixture.chat('iMessage;-;+15550199'), text: 'another conversation' });
    write('too old', '2026-01-01T00:00:00Z');
    write('wanted', '2026-05-01T00:00:00Z');
    await archived(chatDb, folder, { conversations: new Set([CHAT]), sinceMs: Date.parse('2026-02-01T00:00:00Z') });
    expect(bodiesOf(folder)).toEqual(['wanted']);
    expect(await archived(chatDb, folder)).toMatchObject({ added: 2, removed: 0 });
  });

  test('a message at the very beginning of a day is in the archive since then, and not in the one until then', async () => {
    write('the last second', '2026-10-31T23:59:59Z');
    write('midnight', '2026-11-01T00:00:00Z');
    const midnight = Date.parse('2026-11-01T00:00:00Z');
    await archived(chatDb, folder, { sinceMs: midnight });
    expect(bodiesOf(folder)).toEqual(['midnight']);
    const until = `${folder}-until`;
    await archived(chatDb, until, { untilMs: midnight });
    expect(bodiesOf(until)).toEqual(['the last second']);
  });
});

describe('the check of an archive', () => {
  beforeEach(async () => {
    const file = join(dirname(chatDb), 'Attachments', 'photo.jpg');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'a picture');
    fixture.attach(write('one'), file, { transfer_name: 'photo.jpg', mime_type: 'image/jpeg' });
    write('two');
    write('three');
    expect(await archived(chatDb, folder)).toMatchObject({ files: 1, missing: {} });
  });

  test.each([
    ['a changed byte', (path: string) => breakIn(path, 'two'), 3, 'was changed'],
    ['a changed hash', (path: string) => breakIn(path, '"hash":"'), 1, 'was changed'],
    ['a line taken out', (path: string) => edit(path, (lines) => lines.toSpliced(2, 1)), 3, 'does not follow'],
    [
      'a line twice',
      (path: string) => edit(path, (lines) => lines.toSpliced(2, 0, lines[2] ?? '')),
      4,
      'does not follow',
    ],
    [
      'two lines the other way round',
      (path: string) => edit(path, ([a = '', b = '', ...rest]) => [b, a, ...rest]),
      1,
      'does not follow',
    ],
    ['an end cut off', (path: string) => truncateSync(path, statSync(path).size - 1), 4, 'is not complete'],
    ['the last line cut off', (path: string) => edit(path, (lines) => lines.slice(0, 3)), 4, 'is missing'],
    ['something added', (path: string) => appendFileSync(path, '{"n":5}\n'), 5, 'does not end with a hash'],
  ])('names the line of %s, and no run writes to such an archive', async (_, damage, line, what) => {
    const path = onlyChain();
    damage(path);
    const { faults } = await verified(folder);
    expect(faults).toEqual([{ file: chainsOf(folder)[0], line, what: expect.stringContaining(what) }]);
    write('four');
    const before = everythingIn(folder);
    // Only the check notices a changed byte in the middle: a run reads only the ends of files.
    rmSync(join(folder, 'index.db'));
    await expect(archived(chatDb, folder)).rejects.toMatchObject({ code: 'archive_damaged' });
    const isOwn = (entry: string): boolean => /^(index|lock)\.db/.test(entry);
    expect(everythingIn(folder).filter((entry) => !isOwn(entry))).toEqual(before.filter((entry) => !isOwn(entry)));
  });

  test('names an attachment that is another or gone, and a manifest that was changed', async () => {
    const [stored = ''] = everythingIn(folder)
      .filter((entry) => entry.includes('.jpg '))
      .map((entry) => entry.split(' ')[0]);
    expect(stored).toMatch(/^files\/([0-9a-f]{2})\/\1[0-9a-f]{62}\.jpg$/);
    writeFileSync(join(folder, stored), 'a PICTURE');
    expect((await verified(folder)).faults).toEqual([{ file: stored, what: expect.stringContaining('was changed') }]);
    rmSync(join(folder, stored));
    expect((await verified(folder)).faults).toEqual([
      { file: chainsOf(folder)[0], line: 2, what: `names ${stored}, which is missing` },
    ]);
    breakIn(join(folder, 'manifest.json'), '"bytes"');
    expect((await verified(folder)).faults[0]).toEqual({
      file: 'manifest.json',
      what: 'was changed, or a newer version of Postern wrote it',
    });
    await expect(archived(chatDb, folder)).rejects.toMatchObject({ code: 'archive_damaged' });
  });
});

/** Changes the lines of a file. */
function edit(path: string, change: (lines: readonly string[]) => readonly string[]): void {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${change(lines).join('\n')}\n`);
}

test('a comparison with chat.db counts what is the same, new, gone and different', async () => {
  const [edited] = [write('to be edited'), write('the same')];
  const deleted = [write('to be deleted'), write('deleted before the second run')];
  await archived(chatDb, folder);
  fixture.sqlite.exec(`DELETE FROM message WHERE ROWID = ${deleted[1]}`);
  await archived(chatDb, folder);
  fixture.sqlite.exec(
    `UPDATE message SET text = 'edited' WHERE ROWID = ${edited}; DELETE FROM message WHERE ROWID = ${deleted[0]}`,
  );
  fixture.sqlite.exec('UPDATE message SET is_read = 1, date_read = date');
  write('new');
  const before = everythingIn(folder);
  expect(await compared(chatDb, folder)).toEqual({
    ...{ same: 1, not_archived: 1, gone: 2, differs: 1 },
    differing: [fixture.guid(edited ?? 0)],
  });
  expect(everythingIn(folder)).toEqual(before);
});

test('lines that do not fit into memory together are written in their order', async () => {
  mkdirSync(folder);
  const index = new ArchiveIndex(join(folder, 'index.db'));
  const files = new ChainFiles(folder, index, 600);
  const path = (n: number): string => `conversations/000000000000000${n}/messages-2026.ndjson`;
  for (let n = 0; n < 30; n += 1) files.append(path(n % 3), 'key', `"text":"${'é'.repeat(n % 7 === 0 ? 400 : 20)}"`);
  await files.sync();
  index.commit();
  const heads = Array.from(index.files(), ({ head }) => head);
  index.close();
  expect(heads.map(({ lines }) => lines)).toEqual([10, 10, 10]);
  for (const [n, head] of heads.entries()) expect([...readChain(join(folder, path(n)))].at(-1)).toMatchObject({ head });
});
