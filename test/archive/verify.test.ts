import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { type Head, isWrong, NO_LINES, readChain } from '../../src/features/archive/chain.ts';
import { appendLine } from '../../src/features/archive/chain-files.ts';
import { type VerifyCommandOptions, verify } from '../../src/features/archive/export-verify-command.ts';
import { archived, everythingIn, verified } from '../support/archive-fixture.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let folder: string;
let chatDb: string;
let fixture: ChatFixture;

beforeEach(() => {
  const home = join(root, randomUUID());
  folder = join(home, 'archive');
  chatDb = join(home, 'Messages', 'chat.db');
  fixture = new ChatFixture(chatDb);
  const chat = fixture.chat('iMessage;-;+15550100', ['+15550100']);
  const row = fixture.message({ chat, text: 'See you at eight', date: appleNs('2026-05-01T10:00:00Z') });
  const picture = join(dirname(chatDb), 'Attachments/aa/a.jpg');
  mkdirSync(dirname(picture), { recursive: true });
  writeFileSync(picture, 'a picture of the sea');
  fixture.attach(row, picture, { transfer_name: 'a.jpg' });
});

const options = { html: true, names: { nameOf: () => 'Ana Silva' } };

/** Returns the paths of the archive's files. */
function filesIn(): readonly string[] {
  return everythingIn(folder)
    .filter((entry) => / 100600 /.test(entry))
    .map((entry) => entry.split(' ')[0] ?? '');
}

/** Returns the end of a chain. */
function endOf(path: string): Head {
  const last = [...readChain(path)].at(-1);
  if (last === undefined || isWrong(last)) throw new Error(`${path} has no end`);
  return last.head;
}

/** Changes one letter or digit of a file, the first one at or after `at`. */
function changed(content: Buffer, at: number): Buffer {
  const copy = Buffer.from(content);
  const found = copy.findIndex((byte, index) => index >= at && /[A-Za-z0-9]/.test(String.fromCharCode(byte)));
  copy[found] = copy[found] === 0x61 ? 0x62 : 0x61;
  return copy;
}

test('a check notices a changed word anywhere in any file that a run made', async () => {
  await archived(chatDb, folder, options);
  const files = filesIn().filter((path) => !/^lock.db|-journal$/.test(path));
  expect(files.map((path) => path.replace(/[0-9a-f]{16,}/, '…'))).toEqual([
    'conversations/…/2026.html',
    'conversations/…/messages-2026.ndjson',
    'files/9f/….jpg',
    'index.db',
    'index.html',
    'log.ndjson',
    'manifest.json',
    'people.json',
  ]);
  for (const path of files) {
    const content = readFileSync(join(folder, path));
    const step = Math.max(1, Math.floor(content.length / (path.endsWith('.json') ? 150 : 6)));
    for (let at = 0; at < content.length - 10; at += step) {
      writeFileSync(join(folder, path), changed(content, at));
      const { faults } = await verified(folder);
      expect([path, at, faults.map(({ file }) => file)]).toEqual([path, at, [path]]);
    }
    writeFileSync(join(folder, path), content);
  }
  expect((await verified(folder)).faults).toEqual([]);
});

test('a check takes no link for the file that it leads to, and waits for no pipe', async () => {
  await archived(chatDb, folder, options);
  const stored = filesIn().find((path) => path.endsWith('.jpg')) ?? '';
  for (const path of [stored, 'index.html']) {
    renameSync(join(folder, path), join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), join(folder, path));
    expect((await verified(folder)).faults).toEqual([{ file: path, what: 'cannot be read (ELOOP)' }]);
    rmSync(join(folder, path));
    execFileSync('mkfifo', [join(folder, path)]);
    expect((await verified(folder)).faults).toContainEqual({ file: path, what: expect.stringMatching(/^was changed/) });
    rmSync(join(folder, path));
    renameSync(join(root, 'elsewhere'), join(folder, path));
  }
});

test('deleted pages and a deleted index are no fault, and the next run makes them again; names that are gone are one', async () => {
  const { seal } = await archived(chatDb, folder, options);
  const made = filesIn();
  const pages = made.filter((path) => /\.html$|^index\.db$/.test(path));
  for (const path of pages) rmSync(join(folder, path));
  expect(await verified(folder)).toMatchObject({ faults: [], seal });
  await archived(chatDb, folder, options);
  expect(filesIn()).toEqual(made);
  rmSync(join(folder, 'people.json'));
  expect((await verified(folder)).faults).toEqual([{ file: 'people.json', what: 'is missing' }]);
});

test('a changed page stays known as changed until it is made again', async () => {
  await archived(chatDb, folder, options);
  const page = filesIn().find((path) => path.endsWith('2026.html')) ?? '';
  const content = readFileSync(join(folder, page));
  writeFileSync(join(folder, page), changed(content, 5000));
  for (const html of [true, false]) {
    await archived(chatDb, folder, { ...options, html });
    expect((await verified(folder)).faults.map(({ file }) => file)).toEqual([page]);
  }
  rmSync(join(folder, page));
  await archived(chatDb, folder, options);
  expect((await verified(folder)).faults).toEqual([]);
});

test('a changed index is not used', async () => {
  await archived(chatDb, folder, options);
  const index = readFileSync(join(folder, 'index.db'));
  const guid = Buffer.from(fixture.guid(1));
  const at = index.indexOf(guid);
  expect(at).toBeGreaterThan(0);
  for (let found = at; found >= 0; found = index.indexOf(guid, found)) index.write('another', found);
  writeFileSync(join(folder, 'index.db'), index);
  expect(await archived(chatDb, folder, options)).toMatchObject({ added: 0, changed: 0, removed: 0 });
  expect((await verified(folder)).faults).toEqual([]);
});

test("the Finder's own files are no attachments", async () => {
  await archived(chatDb, folder, options);
  const stored = filesIn().find((path) => path.endsWith('.jpg')) ?? '';
  for (const name of ['.DS_Store', `._${basename(stored)}`]) writeFileSync(join(folder, dirname(stored), name), '');
  for (const name of ['.DS_Store', `._${basename(dirname(stored))}`]) writeFileSync(join(folder, 'files', name), '');
  expect(await verified(folder)).toMatchObject({ faults: [], attachments: 1 });
});

test.each([
  ['no JSON', '"files":[,'],
  ['files that are none', '"files":[null]'],
  ['a file without a name', '"files":[{"sha256":"9f"}]'],
  ['a message that is none', '"message":5,"conversation":null,"files":[7]'],
])('a check names a forged line with a right hash and %s', async (_, members) => {
  await archived(chatDb, folder, options);
  const path = filesIn().find((file) => file.endsWith('2026.ndjson')) ?? '';
  appendLine(join(folder, path), endOf(join(folder, path)), members);
  const { faults } = await verified(folder);
  expect(faults).toEqual([{ file: path, line: 3, what: 'has content that no export writes' }]);
});

test('a check names a folder in the place of a file with lines', async () => {
  await archived(chatDb, folder, options);
  const path = filesIn().find((file) => file.endsWith('2026.ndjson')) ?? '';
  rmSync(join(folder, path));
  mkdirSync(join(folder, path));
  expect((await verified(folder)).faults).toEqual([{ file: path, what: 'cannot be read (EFTYPE)' }]);
});

test.each([
  ['a chain', /\.ndjson$/, (path: string) => path],
  ['a new chain', /\.ndjson$/, (path: string) => path.replace('2026', '1999')],
  ['the log', /^log/, (path: string) => path],
])('no run adopts a whole line that somebody else appended to %s', async (_, name, placeOf) => {
  await archived(chatDb, folder, options);
  const path = filesIn().find((file) => name.test(file)) ?? '';
  const place = join(folder, placeOf(path));
  const head = existsSync(place) ? endOf(place) : NO_LINES;
  appendLine(place, head, '"seen_at":"2026-05-01T10:00:00Z","message":{"guid":"forged","timestamp":""}');
  const before = filesIn().filter((file) => file !== 'index.db');
  for (const file of ['', 'index.db']) {
    if (file !== '') rmSync(join(folder, file));
    await expect(archived(chatDb, folder, options)).rejects.toMatchObject({
      code: 'archive_damaged',
      message: `Line ${head.lines + 1} of ${place} was added after the last run.`,
    });
  }
  expect(filesIn().filter((file) => file !== 'index.db')).toEqual(before);
});

/** Runs `postern export verify` and returns what it prints. */
async function printed(options: VerifyCommandOptions = {}, end = new AbortController()): Promise<string> {
  const lines: string[] = [];
  const stdout = (...more: readonly string[]): void => void lines.push(...more);
  const context = { ...PLAIN, untilEnded: () => end.signal, stdout };
  const code = await verify(folder, options, context as unknown as ClientContext);
  expect(code === 75).toBe(end.signal.aborted);
  return lines.join('\n');
}

test('an interrupted check vouches for nothing, and compares nothing', async () => {
  await archived(chatDb, folder, options);
  const end = new AbortController();
  end.abort();
  expect(await printed({ againstChatDb: true }, end)).toBe(
    'Interrupted: checked 0 lines of 0 files, and 0 attachments so far.',
  );
  const report: unknown = JSON.parse(await printed({ againstChatDb: true, json: true }, end));
  expect(report).toEqual({ folder, faults: [], files: 0, lines: 0, attachments: 0, unsealed: 0, interrupted: true });
});

test('a run that died prints no seal, whether it wrote lines or not', async () => {
  const end = new AbortController();
  end.abort();
  await archived(chatDb, folder, { ...options, signal: end.signal });
  expect(await verified(folder)).toMatchObject({ faults: [], seal: '', unsealed: 0 });
  expect(await printed()).toMatch(/Nothing is sealed yet\.\nNo export has finished\. Run postern export again\.$/);
  const later = new AbortController();
  await archived(chatDb, folder, { ...options, signal: later.signal, onProgress: () => later.abort() });
  expect(await verified(folder)).toMatchObject({ faults: [], seal: '', unsealed: 2 });
  expect(await printed()).toMatch(/Nothing is sealed yet\.\nThe last export did not finish and left 2 lines without a/);
  const { seal } = await archived(chatDb, folder, options);
  expect(await printed()).toMatch(`Seal: ${seal}`);
});

test('a run that died while it made pages has sealed its lines, and the next one makes the rest', async () => {
  const end = new AbortController();
  const dying = {
    ...options,
    signal: end.signal,
    onProgress: ({ step }: { step: string }) => {
      if (step === 'pages') end.abort();
    },
  };
  fixture.message({ text: 'of no conversation', date: appleNs('2027-05-01T10:00:00Z') });
  expect(await archived(chatDb, folder, dying)).toMatchObject({ isInterrupted: true });
  expect(await verified(folder)).toMatchObject({ faults: [], unsealed: 0 });
  await archived(chatDb, folder, options);
  expect(filesIn().filter((path) => path.endsWith('.html'))).toHaveLength(3);
  expect((await verified(folder)).faults).toEqual([]);
});
