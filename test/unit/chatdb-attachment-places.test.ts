import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AttachmentFiles } from '../../src/core/chatdb/attachment-files.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { messageOf } from '../../src/core/chatdb/message.ts';
import { withDetails } from '../../src/core/chatdb/message-details.ts';
import { storedAttachments } from '../../src/core/chatdb/stored-attachments.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let home: string;
let fixture: ChatFixture;
let connection: Connection;

beforeEach(() => {
  home = join(root, randomUUID());
});
afterEach(() => {
  connection.close();
  fixture.close();
});

/** Opens a chat.db in a folder below `home`; by `link` if given. */
function openIn(folder: string, link?: string): string {
  const path = join(home, folder, 'chat.db');
  fixture = new ChatFixture(path);
  // A row of an attachment can be gone while its join stays (exporter, issue 391).
  fixture.sqlite.exec('PRAGMA foreign_keys = OFF');
  if (link !== undefined) symlinkSync(path, join(home, link));
  connection = new Connection({ path: link === undefined ? path : join(home, link), home, log: collectingLog() });
  return dirname(path);
}

function write(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Attaches a stored path to a new message. Returns what details, the list of paths and `open` say about it. */
async function attached(stored: string | null, columns = {}) {
  const row = fixture.message({ text: '\uFFFC' });
  fixture.attach(row, stored, columns);
  return told(row);
}

async function told(row: number) {
  const message = connection.read((snapshot) => {
    const found = messageOf(snapshot, row);
    return found && withDetails(snapshot, found);
  });
  const [attachment] = message?.details?.attachments ?? [];
  const file = await new AttachmentFiles(connection).open(String(row), attachment?.n ?? 0);
  const bytes = file && (await buffer(file.read(0, file.bytes - 1)));
  await file?.close();
  expect(bytes?.length).toBe(file?.bytes);
  // What is available can be opened, and the reverse.
  expect(file !== undefined).toBe(attachment?.state === 'available');
  return { ...attachment, paths: message?.attachments, sentence: message?.details?.sentence, bytes, file };
}

const HOMES = ['~/Library/Messages', '/Users/old/Library/Messages', '~/Library/SMS', '/var/mobile/Library/SMS'];

test.each(['Backup', 'Library/Messages'])(
  'files in %s are found whatever home their row was written in',
  async (at) => {
    const folder = openIn(at);
    write(join(home, 'Library/Messages/Attachments/aa/1/p.jpg'), 'of this Mac');
    for (const kind of ['Attachments', 'StickerCache', 'Caches/Previews/Attachments']) {
      const path = write(join(folder, kind, 'aa/1/p.jpg'), 'kept');
      for (const stored of HOMES) {
        const found = await attached(`${stored}/${kind}/aa/1/p.jpg`);
        expect([String(found.bytes), found.path, found.paths]).toEqual(['kept', path, [path]]);
      }
    }
  },
);

test('files beside chat.db are found through a link to chat.db, and through a linked folder', async () => {
  const folder = openIn('Disk/Messages', 'chat.db');
  const path = write(join(folder, 'Attachments/aa/p.jpg'), 'kept');
  symlinkSync(join(home, 'Disk/Messages/Attachments'), join(home, 'Attachments'));
  expect(String((await attached('/Users/old/Library/Messages/Attachments/aa/p.jpg')).bytes)).toBe('kept');
  expect(String((await attached(path)).bytes)).toBe('kept');
  expect(String((await attached('Attachments/aa/p.jpg')).bytes)).toBe('kept');
});

test('no other file is ever served as an attachment or called available', async () => {
  const folder = openIn('Library/Messages');
  const secret = write(join(home, 'Documents/Attachments/aa/p.jpg'), 'secret');
  write(join(folder, 'Attachments/aa/p.jpg'), 'of another message');
  mkdirSync(join(folder, 'Attachments/bb'));
  symlinkSync(secret, join(folder, 'Attachments/bb/link.jpg'));
  symlinkSync(join(home, 'Documents'), join(folder, 'Attachments/bb/folder'));
  for (const name of ['', '-wal']) linkSync(`${fixture.path}${name}`, join(folder, `Attachments/bb/db${name}`));
  execFileSync('mkfifo', [join(folder, 'Attachments/bb/pipe')]);
  const below = '~/Library/Messages';
  for (const stored of [
    '~/Documents/Attachments/aa/p.jpg',
    secret,
    `${below}/chat.db`,
    `${below}/Attachments/../chat.db`,
    `${below}/Attachments/../../../Documents/Attachments/aa/p.jpg`,
    `${below}/Attachments/bb/../aa/p.jpg`,
    `/Users/old/Library/Messages/Attachments/../StickerCache/../Attachments/aa/p.jpg`,
    `${below}/Attachments/bb/link.jpg`,
    `${below}/Attachments/bb/folder/Attachments/aa/p.jpg`,
    `${below}/Attachments/bb/db`,
    `${below}/Attachments/bb/db-wal`,
    `${below}/Attachments/bb/pipe`,
    `${below}/Attachments`,
    `${below}/Attachments/`,
    `${below}/Attachments/aa`,
    `${below}/Attachments/gone.jpg`,
    '~',
    '/',
  ]) {
    expect([stored, (await attached(stored)).state]).toEqual([stored, 'missing']);
  }
});

test('an attachment without a path is listed with what chat.db has of it', async () => {
  openIn('Library/Messages');
  const columns = { transfer_name: 'IMG_1.HEIC', mime_type: 'image/heic', total_bytes: 9, transfer_state: 0 };
  const expected = { name: 'IMG_1.HEIC', mime_type: 'image/heic', state: 'in_cloud', path: null, paths: [] };
  for (const stored of [null, '', ' ']) {
    const found = await attached(stored, columns);
    expect(found).toMatchObject({ ...expected, sentence: 'Photo' });
    expect(connection.read((snapshot) => storedAttachments(snapshot, 1)[0]?.path)).toBeNull();
  }
  expect(await attached(null, { transfer_state: 3 })).toMatchObject({ state: 'downloading', name: 'attachment' });
  expect(await attached(null, { transfer_state: 6 })).toMatchObject({ state: 'missing' });
  const row = fixture.message({ text: '\uFFFC' });
  fixture.insert('message_attachment_join', { message_id: row, attachment_id: 999 });
  expect(await told(row)).toMatchObject({ name: 'attachment', mime_type: null, state: 'missing', path: null });
});

test('an attachment without a path keeps its number, and so do those behind it', async () => {
  const folder = openIn('Library/Messages');
  write(join(folder, 'Attachments/aa/p.jpg'), 'second');
  const row = fixture.message({ text: '\uFFFC\uFFFC' });
  const first = fixture.attach(row, null, { transfer_name: 'first.jpg' });
  fixture.attach(row, '~/Library/Messages/Attachments/aa/p.jpg');
  const open = async (n: number) => {
    const file = await new AttachmentFiles(connection).open(String(row), n);
    return file && String(await buffer(file.read(0, file.bytes - 1)));
  };
  expect([await open(0), await open(1)]).toEqual([undefined, 'second']);
  write(join(folder, 'Attachments/aa/first.jpg'), 'first');
  fixture.sqlite
    .prepare('UPDATE attachment SET filename = ? WHERE ROWID = ?')
    .run('~/Library/Messages/Attachments/aa/first.jpg', first);
  connection.check();
  expect([await open(0), await open(1)]).toEqual(['first', 'second']);
});

test('the preview of a link is no attachment, with a path or without', async () => {
  openIn('Library/Messages');
  for (const balloon_bundle_id of [null, 'com.apple.messages.URLBalloonProvider']) {
    const row = fixture.message({ text: 'https://example.org', balloon_bundle_id });
    fixture.attach(row, null, { transfer_name: 'A1.pluginPayloadAttachment' });
    if (balloon_bundle_id !== null) fixture.insert('message_attachment_join', { message_id: row, attachment_id: 998 });
    expect((await told(row)).state).toBeUndefined();
  }
});

test('an attachment that only the body names is listed, unless it belongs to another message', async () => {
  const folder = openIn('Library/Messages');
  const guid = `at_0_${randomUUID().toUpperCase()}`;
  const attributes = { __kIMFileTransferGUIDAttributeName: guid, __kIMMessagePartAttributeName: 0 };
  const attributedBody = encodeAttributedBody('\uFFFC', [{ length: 1, attributes }]);
  const row = fixture.message({ text: null, attributedBody, cache_has_attachments: 1 });
  expect(await told(row)).toMatchObject({ guid, state: 'missing', path: null, paths: [] });
  const path = write(join(folder, 'Attachments/aa/group.jpg'), 'a picture');
  const columns = { guid, original_guid: guid, filename: path, uti: 'public.jpeg' };
  const attachment = fixture.insert('attachment', columns);
  connection.check();
  expect(await told(row)).toMatchObject({ guid, mime_type: 'image/jpeg', paths: [path], path });
  fixture.insert('message_attachment_join', { message_id: fixture.message(), attachment_id: attachment });
  connection.check();
  expect((await told(row)).state).toBeUndefined();
});

test('of the attachments that only a body names, a hundred are listed', () => {
  openIn('Library/Messages');
  const runs = Array.from({ length: 101 }, (_, part) => ({
    length: 1,
    attributes: { __kIMFileTransferGUIDAttributeName: `at_${part}`, __kIMMessagePartAttributeName: part },
  }));
  const row = fixture.message({ attributedBody: encodeAttributedBody('\uFFFC'.repeat(101), runs) });
  expect(connection.read((snapshot) => storedAttachments(snapshot, row))).toHaveLength(100);
});

test.each([
  ['Audio Message.caf', 'com.apple.coreaudio-format', 'audio/x-caf', 'Voice message'],
  ['Audio Message', 'com.apple.coreaudio-format', 'audio/x-caf', 'Voice message'],
  ['voice.AMR', null, 'audio/amr', 'Voice message'],
  ['IMG.jpeg', 'public.jpeg', 'image/jpeg', 'Photo'],
  ['IMG.HEIC', 'public.heic', 'image/heic', 'Photo'],
  ['IMG.HEIC', 'dyn.age80s', 'image/heic', 'Photo'],
  ['movie.MOV', 'com.apple.quicktime-movie', 'video/quicktime', 'Video'],
  ['letter', ' com.Adobe.PDF', 'application/pdf', 'File: letter'],
  ['thing', 'public.data', null, 'File: thing'],
])('the type of %s (%s) is %s if Messages stored none, or one that says nothing', async (name, uti, type, sentence) => {
  const folder = openIn('Library/Messages');
  write(join(folder, 'Attachments/1', name), 'content');
  for (const mime_type of [null, '', 'text/calendar']) {
    const stored = `~/Library/Messages/Attachments/1/${name}`;
    const found = await attached(stored, { transfer_name: name, uti, mime_type });
    const expected = mime_type || type;
    expect([found.mime_type, found.file?.mimeType]).toEqual([expected, expected]);
    if (!mime_type) expect(found.sentence).toBe(sentence);
  }
  const any = 'Application/octet-stream';
  const stored = `~/Library/Messages/Attachments/1/${name}`;
  const found = await attached(stored, { transfer_name: name, uti, mime_type: any });
  expect([found.mime_type, found.sentence]).toEqual([type ?? any.toLowerCase(), sentence]);
});

test.each([
  ['IMAGE/JPEG', null, 'image/jpeg', 'Photo'],
  ['Audio/AMR; codecs="amr"', null, 'audio/amr', 'Voice message'],
  ['jpeg', 'public.jpeg', 'image/jpeg', 'Photo'],
])('the stored type %s is read as HTTP reads it, a malformed one as none', async (mime_type, uti, type, sentence) => {
  write(join(openIn('Library/Messages'), 'Attachments/2/file'), 'content');
  const found = await attached('~/Library/Messages/Attachments/2/file', { transfer_name: 'file', uti, mime_type });
  expect([found.mime_type, found.file?.mimeType, found.sentence]).toEqual([type, type, sentence]);
});

test('a folder is named as one, and is served as a tar whose bytes are always the same', async () => {
  const folder = openIn('Library/Messages');
  const long = `${'é'.repeat(90)}.txt`;
  const tars: (Buffer | undefined)[] = [];
  for (const number of ['07', '08']) {
    const deck = join(folder, 'Attachments/d1', number, 'Deck.key');
    write(join(deck, 'Data', long), 'long');
    for (const name of ['b.bin', 'a.bin', `${'x'.repeat(120)}.txt`]) write(join(deck, name), name);
    truncateSync(write(join(deck, 'large'), ''), 70_001);
    mkdirSync(join(deck, 'empty'));
    write(join(deck, '.DS_Store'), number);
    symlinkSync('/etc/passwd', join(deck, 'link'));
    const columns = { transfer_name: 'Deck.key', uti: 'com.apple.iwork.keynote.key' };
    const found = await attached(`~/Library/Messages/Attachments/d1/${number}/Deck.key`, columns);
    expect(found).toMatchObject({ name: 'Deck.key.tar', mime_type: 'application/x-tar', folder: true });
    expect(found.sentence).toBe('Folder: Deck.key');
    tars.push(found.bytes);
    const part = found.file && (await buffer(found.file.read(600, 71_000)));
    expect(part?.equals(found.bytes?.subarray(600, 71_001) ?? Buffer.alloc(0))).toBe(true);
  }
  expect(tars[0]?.equals(tars[1] ?? Buffer.alloc(0))).toBe(true);
  const [out, tar] = [join(home, 'out'), join(home, 'deck.tar')];
  mkdirSync(out);
  writeFileSync(tar, tars[0] ?? '');
  execFileSync('tar', ['-xf', tar, '-C', out]);
  const names = execFileSync('find', ['.', '-mindepth', '1'], { cwd: out, encoding: 'utf8' }).trim().split('\n').sort();
  const inside = ['/Data', `/Data/${long}`, '/a.bin', '/b.bin', '/empty', '/large', `/${'x'.repeat(120)}.txt`];
  expect(names).toEqual(['', ...inside].map((name) => `./Deck.key${name}`).sort());
  expect(readFileSync(join(out, 'Deck.key/Data', long), 'utf8')).toBe('long');
});

test('a file that changes while its folder is read ends the reading with an error', async () => {
  const folder = openIn('Library/Messages');
  const inside = write(join(folder, 'Attachments/d1/Note.rtfd/TXT.rtf'), 'before');
  const { file } = await attached('~/Library/Messages/Attachments/d1/Note.rtfd');
  writeFileSync(inside, 'afterwards');
  if (file === undefined) throw new Error('The folder was not found.');
  await expect(buffer(file.read(0, file.bytes - 1))).rejects.toThrow('has changed');
});
