import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { AttachmentFiles } from '../../src/core/chatdb/attachment-files.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { AttachmentReader } from '../../src/core/model/ports/reading-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { StoredFiles } from '../../src/features/archive/stored-files.ts';
import { archived, chainsOf, everythingIn, linesOf, verified } from '../support/archive-fixture.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();

let folder: string;
let chatDb: string;
let fixture: ChatFixture;
let chat: number;

beforeEach(() => {
  const home = join(root, randomUUID());
  folder = join(home, 'archive');
  chatDb = join(home, 'Messages', 'chat.db');
  fixture = new ChatFixture(chatDb);
  chat = fixture.chat('iMessage;-;+15550100', ['+15550100']);
});

/** Adds a message with a file; undefined if the file is not on this Mac. */
function attach(name: string, content: string | undefined): void {
  const row = fixture.message({ chat, text: name, date: appleNs('2026-05-01T10:00:00Z') });
  const file = join(dirname(chatDb), 'Attachments', name);
  mkdirSync(dirname(file), { recursive: true });
  if (content !== undefined) writeFileSync(file, content);
  fixture.attach(row, file, { transfer_name: name });
}

const files = () => linesOf(folder).flatMap((line) => line.files ?? []);

test('an attachment is stored once for each content, with an extension of a fixed list', async () => {
  for (const [name, content] of Object.entries({
    'a.jpg': 'same',
    'b.jpg': 'same',
    'c.HTML': '<b>',
    'd.svg': '<svg>',
    'e.pdf': '',
    f: 'x',
  })) {
    attach(name, content);
  }
  expect(await archived(chatDb, folder)).toMatchObject({ files: 5 });
  expect(files().map((file) => ('file' in file ? file.file.split('.').at(-1) : file))).toEqual([
    'jpg',
    'jpg',
    'bin',
    'bin',
    'pdf',
    'bin',
  ]);
  expect((await verified(folder)).attachments).toBe(5);
});

test('a missing attachment is named with the reason and stored by a later run, and stored files stay', async () => {
  attach('late.jpg', undefined);
  attach('here.jpg', 'here');
  expect(await archived(chatDb, folder)).toMatchObject({ files: 1, missing: { missing: 1 } });
  writeFileSync(join(dirname(chatDb), 'Attachments', 'late.jpg'), 'late');
  rmSync(join(dirname(chatDb), 'Attachments', 'here.jpg'));
  expect(await archived(chatDb, folder)).toMatchObject({ files: 1, changed: 1, missing: {} });
  expect(await archived(chatDb, folder)).toMatchObject({ files: 0, changed: 0, missing: {} });
  expect(files()).toHaveLength(3);
});

test('an attachment that browsers do not show is stored as they show it, too, and what cannot be converted is counted', async () => {
  for (const name of ['a.HEIC', 'b.caf', 'broken.heic', 'c.jpg']) attach(name, name);
  const connection = new Connection({ path: chatDb, home: '/', log: collectingLog() });
  const inner = new AttachmentFiles(connection);
  const open: AttachmentReader['open'] = async (id, n, form) => {
    const file = await inner.open(id, n);
    if (file === undefined || form === undefined) return file;
    await file.close();
    if (file.name.startsWith('broken')) throw problem('conversion_unavailable');
    const bytes = Buffer.from(`${file.name} as ${form.as}`);
    async function* read() {
      yield bytes;
    }
    return { ...file, bytes: bytes.length, read, close: async () => {} };
  };
  const options = { attachments: 'convert', files: { open }, html: true } as const;
  expect(await archived(chatDb, folder, options)).toMatchObject({ files: 6, notConverted: 1 });
  const converted = files().map((file) => ('converted' in file ? file.converted?.file : undefined));
  expect(converted.map((path) => path && readFileSync(join(folder, path), 'utf8'))).toEqual([
    'a.HEIC as jpeg',
    'b.caf as m4a',
    undefined,
    undefined,
  ]);
  const page = readFileSync(join(folder, dirname(chainsOf(folder)[0] ?? ''), '2026.html'), 'utf8');
  for (const path of converted) if (path !== undefined) expect(page).toContain(`src="../../${path}"`);
  expect(await archived(chatDb, folder, options)).toMatchObject({ files: 0, changed: 0, notConverted: 0 });
  rmSync(join(folder, converted[0] ?? ''));
  expect((await verified(folder)).faults).toEqual([
    expect.objectContaining({ line: 2, what: expect.stringContaining('which is missing') }),
  ]);
  expect(await archived(chatDb, folder, options)).toMatchObject({
    files: 1,
    warnings: [expect.stringMatching(/: 1\.$/)],
  });
  connection.close();
  expect((await verified(folder)).faults).toEqual([]);
});

/** Returns the path of the only stored file that ends so. */
function storedAs(ending: string): string {
  const [path = '', ...more] = everythingIn(folder)
    .map((entry) => entry.split(' ')[0] ?? '')
    .filter((path) => path.startsWith('files/') && path.endsWith(ending));
  expect(more).toEqual([]);
  return join(folder, path);
}

test('a stored file that is lost is copied again, also without an index, and a run says if it cannot be', async () => {
  attach('a.jpg', 'a picture');
  attach('b.pdf', 'a letter');
  attach('c.txt', 'a note');
  await archived(chatDb, folder);
  const originals = join(dirname(chatDb), 'Attachments');
  const [picture, letter, note] = ['.jpg', '.pdf', '.txt'].map(storedAs) as [string, string, string];
  rmSync(join(originals, 'b.pdf'));
  writeFileSync(join(originals, 'c.txt'), 'another');
  for (const index of ['', 'index.db']) {
    for (const path of [picture, letter, note]) rmSync(path, { force: true });
    if (index !== '') rmSync(join(folder, index));
    expect(await archived(chatDb, folder, { attachments: 'none' })).toMatchObject({ warnings: [] });
    const { warnings, ...report } = await archived(chatDb, folder);
    expect(report).toMatchObject({ files: 1, changed: 0, missing: {} });
    expect(warnings).toEqual([
      expect.stringMatching(/copied again: 1\.$/),
      expect.stringMatching(/whose originals are gone or have changed: 2 \(files\/\S+, files\/\S+\)\. Put them back/),
    ]);
    expect(readFileSync(picture, 'utf8')).toBe('a picture');
  }
  writeFileSync(letter, 'a letter');
  writeFileSync(note, 'a note');
  expect((await archived(chatDb, folder)).warnings).toEqual([]);
  expect((await verified(folder)).faults).toEqual([]);
});

test('a stored file that somebody changed stays, even if its content is copied once more', async () => {
  attach('a.jpg', 'a picture');
  await archived(chatDb, folder);
  const path = storedAs('.jpg');
  writeFileSync(path, 'changed');
  attach('b.jpg', 'a picture');
  expect(await archived(chatDb, folder)).toMatchObject({ files: 0, warnings: [] });
  expect(readFileSync(path, 'utf8')).toBe('changed');
  expect((await verified(folder)).faults.map(({ file }) => join(folder, file))).toContain(path);
});

test('an attachment that gets shorter while it is copied is no file of the archive', async () => {
  attach('a.jpg', 'the content');
  const file = { name: 'a.jpg', mimeType: null, bytes: 11, version: '', close: async () => {} };
  async function* half() {
    yield Buffer.from('the');
  }
  const report = await archived(chatDb, folder, { files: { open: async () => ({ ...file, read: half }) } });
  expect(report.missing).toEqual({ changed: 1 });
  async function* gone() {
    yield Buffer.from('the');
    throw Object.assign(new Error('gone'), { code: 'ENOENT' });
  }
  await archived(chatDb, folder, { files: { open: async () => ({ ...file, read: gone }) } });
  expect(everythingIn(folder).filter((entry) => entry.startsWith('files/'))).toEqual([]);
  expect(await archived(chatDb, folder)).toMatchObject({ files: 1, missing: {} });
});

test('files of a copied folder of Messages are archived, and no file of this Mac in their place', async () => {
  const own = join(dirname(dirname(chatDb)), 'Library/Messages/Attachments/aa/here.jpg');
  const copied = join(dirname(chatDb), 'Attachments/aa/p.jpg');
  for (const [path, content] of [
    [own, 'other'],
    [copied, 'copied'],
  ] as const) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  const date = appleNs('2026-05-01T10:00:00Z');
  for (const home of [
    '~/Library/Messages',
    '/Users/old/Library/Messages',
    '~/Library/SMS',
    '/var/mobile/Library/SMS',
  ]) {
    fixture.attach(fixture.message({ chat, text: '\uFFFC', date }), `${home}/Attachments/aa/p.jpg`);
  }
  fixture.attach(fixture.message({ chat, text: '\uFFFC', date }), own);
  expect(await archived(chatDb, folder)).toMatchObject({ files: 1, missing: { missing: 1 } });
  expect(readFileSync(storedAs('.jpg'), 'utf8')).toBe('copied');
});

test('an attachment without a path is in its line with name, type and size, and is counted', async () => {
  fixture.sqlite.exec('PRAGMA foreign_keys = OFF');
  const message = () => fixture.message({ chat, text: '\uFFFC', date: appleNs('2026-05-01T10:00:00Z') });
  const columns = { transfer_name: 'IMG_1.HEIC', uti: 'public.heic', total_bytes: 9, transfer_state: 0 };
  for (const stored of [null, '']) fixture.attach(message(), stored, columns);
  fixture.insert('message_attachment_join', { message_id: message(), attachment_id: 999 });
  const options = { html: true };
  expect(await archived(chatDb, folder, options)).toMatchObject({ missing: { in_cloud: 2, missing: 1 } });
  expect(files()).toEqual([
    { n: 0, missing: 'in_cloud' },
    { n: 0, missing: 'in_cloud' },
    { n: 0, missing: 'missing' },
  ]);
  const [first] = linesOf(folder).flatMap((line) => line.message?.details?.attachments ?? []);
  expect(first).toMatchObject({ name: 'IMG_1.HEIC', mime_type: 'image/heic', bytes: 9, state: 'in_cloud', path: null });
  const page = readFileSync(join(folder, dirname(chainsOf(folder)[0] ?? ''), '2026.html'), 'utf8');
  expect(page).toMatch(/IMG_1\.HEIC<\/bdi> <small>9 bytes, only in iCloud/);
  const file = join(dirname(chatDb), 'Attachments/aa/IMG_1.HEIC');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'arrived');
  fixture.sqlite.exec(`UPDATE attachment SET filename = '${file}', transfer_state = 5 WHERE ROWID = 1`);
  expect(await archived(chatDb, folder, options)).toMatchObject({ files: 1, changed: 1, missing: { in_cloud: 1 } });
});

test('a file that arrives before a stored one of its message does not take its place', async () => {
  const row = fixture.message({ chat, text: '\uFFFC\uFFFC', date: appleNs('2026-05-01T10:00:00Z') });
  const place = (name: string): string => {
    const file = join(dirname(chatDb), 'Attachments/aa', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, name);
    return file;
  };
  const first = fixture.attach(row, null, { transfer_name: 'first.jpg', transfer_state: 0 });
  fixture.attach(row, place('second.jpg'), { transfer_name: 'second.jpg' });
  await archived(chatDb, folder);
  fixture.sqlite.exec(
    `UPDATE attachment SET filename = '${place('first.jpg')}', transfer_state = 5 WHERE ROWID = ${first}`,
  );
  await archived(chatDb, folder);
  const stored = linesOf(folder).at(-1)?.files ?? [];
  expect(stored.map((file) => ('file' in file ? readFileSync(join(folder, file.file), 'utf8') : file))).toEqual([
    'first.jpg',
    'second.jpg',
  ]);
});

test('a folder is archived as one tar, each content once', async () => {
  const date = appleNs('2026-05-01T10:00:00Z');
  for (const [number, name] of ['Deck.key', 'Plans.pages', 'Photos Folder', 'Note.rtfd', 'Deck.key'].entries()) {
    const place = join(dirname(chatDb), 'Attachments', `d${number}`, name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'a.bin'), 'inside');
    fixture.attach(fixture.message({ chat, text: '\uFFFC', date, is_from_me: 1 }), place, { transfer_name: name });
  }
  expect(await archived(chatDb, folder, { html: true })).toMatchObject({ files: 4, missing: {} });
  expect(files().every((file) => 'file' in file && file.file.endsWith('.tar'))).toBe(true);
  const page = readFileSync(join(folder, dirname(chainsOf(folder)[0] ?? ''), '2026.html'), 'utf8');
  expect(page).toMatch(/href="[^"]*\.tar"><bdi>Deck\.key\.tar/);
  expect((await verified(folder)).faults).toEqual([]);
  expect(await archived(chatDb, folder)).toMatchObject({ files: 0, changed: 0 });
});

test('a stored file stays with its attachment when the numbers of a message have changed', async () => {
  const parts = { folder, mode: 'copy', files: { open: async () => undefined } } as const;
  const stored = new StoredFiles({ ...parts, onStored: () => {}, onNotConverted: () => {} });
  const attachment = { name: 'a.jpg', mime_type: null, bytes: null, transfer: null, path: null } as const;
  const message = (...guids: readonly string[]) =>
    ({
      details: { attachments: guids.map((guid) => ({ ...attachment, guid, state: 'in_cloud' })) },
    }) as unknown as Message;
  const files = [{ n: 0, sha256: 'a', file: 'files/a', bytes: 1 }];
  const before = { n: 1, seen_at: '', message: message('second'), files };
  expect(await stored.store(message('first', 'second'), before)).toEqual([
    { n: 0, missing: 'in_cloud' },
    { ...files[0], n: 1 },
  ]);
});
