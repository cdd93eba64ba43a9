import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, test } from '@jest/globals';
import { attachmentsOf } from '../../src/core/chatdb/attachment-details.ts';
import { AttachmentFiles } from '../../src/core/chatdb/attachment-files.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { attachmentPaths } from '../../src/core/chatdb/stored-attachments.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const path = join(folder, 'Library/Messages/chat.db');
const attachments = join(folder, 'Library/Messages/Attachments');
const database = new ChatFixture(path);
const connection = new Connection({ path, home: folder, log: collectingLog() });
const files = new AttachmentFiles(connection);
afterAll(() => {
  connection.close();
  database.close();
});

/** Replaces `target` by each of the named files, again and again. */
const SWAP = `
const { linkSync, renameSync, rmSync } = require('node:fs');
const [target, ...others] = process.argv.slice(1);
for (let n = 0; ; n += 1) {
  rmSync(target + '.new', { force: true });
  linkSync(others[n % others.length], target + '.new');
  renameSync(target + '.new', target);
}`;

test('a link preview is not an attachment, and the files beside it keep their numbers', async () => {
  mkdirSync(attachments, { recursive: true });
  const row = database.message({ text: 'https://example.org' });
  const names = ['first.txt', 'A1B2.pluginPayloadAttachment', 'hidden.txt', 'last.txt'];
  for (const name of names) {
    writeFileSync(join(attachments, name), name);
    database.attach(row, `~/Library/Messages/Attachments/${name}`, { hide_attachment: name === 'hidden.txt' ? 1 : 0 });
  }
  const listed = connection.read((snapshot) => attachmentsOf(snapshot, row));
  expect(listed.map(({ n, name }) => [n, name])).toEqual([
    [undefined, 'first.txt'],
    [2, 'last.txt'],
  ]);
  expect(connection.read((snapshot) => attachmentPaths(snapshot, row))).toEqual(listed.map(({ path: file }) => file));
  const contents = await Promise.all(
    [0, 1, 2, 3].map(async (n) => {
      const file = await files.open(String(row), n);
      return file && (await buffer(file.read(0, file.bytes - 1))).toString();
    }),
  );
  expect(contents).toEqual(['first.txt', undefined, 'last.txt', undefined]);
});

test.each(['GroupPhotoImage', 'BrandLogoImage'])('the icon %s is not an attachment, and is counted', (icon) => {
  const row = database.message({ item_type: 3, group_action_type: 1 });
  for (const [at, name] of [icon, 'sent.jpg'].entries()) {
    database.attach(row, `~/Library/Messages/Attachments/${at}.jpg`, { transfer_name: name });
  }
  const listed = connection.read((snapshot) => attachmentsOf(snapshot, row));
  expect(listed.map(({ n, name }) => [n, name])).toEqual([[1, 'sent.jpg']]);
});

test('a file that is exchanged for a pipe or a link while it is opened neither blocks nor leads elsewhere', async () => {
  mkdirSync(attachments, { recursive: true });
  const target = join(attachments, 'a.txt');
  const secret = join(folder, 'secret.txt');
  writeFileSync(secret, 'secret');
  for (const name of ['inside', 'inside-2']) writeFileSync(join(folder, name), 'inside');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync(secret, join(folder, 'link'));
  linkSync(join(folder, 'inside'), target);
  const row = database.message({ text: 'a file' });
  database.attach(row, target);
  const others = ['inside', 'pipe', 'inside-2', 'link'].map((name) => join(folder, name));
  const swapper = spawn(process.execPath, ['-e', SWAP, target, ...others], { stdio: 'inherit' });
  const ended = once(swapper, 'exit');
  try {
    const found = new Set<string | undefined>();
    for (let round = 0; round < (isLong ? 2000 : 400); round += 1) {
      const file = await files.open(String(row), 0);
      found.add(file && (await buffer(file.read(0, file.bytes - 1))).toString());
    }
    expect([...found].filter((text) => text !== undefined)).toEqual(['inside']);
  } finally {
    swapper.kill('SIGKILL');
    await ended;
  }
});
