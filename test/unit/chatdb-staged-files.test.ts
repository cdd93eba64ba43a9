import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readStagedFoldersInUse } from '../../src/core/chatdb/attachment-files.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const homeFolder = temporaryFolder();
const chatDbPath = join(homeFolder, 'Library/Messages/chat.db');
const stagingFolder = join(homeFolder, 'Library/Messages/Attachments/Postern');
const database = new ChatFixture(chatDbPath);
const ask = () => readStagedFoldersInUse({ chatDbPath, homeFolder, stagingFolder });

describe('a staged file that a conversation refers to', () => {
  test('is found under every spelling of its path, in any folder below its own', () => {
    const row = database.message({ text: 'with files' });
    for (const path of [
      '~/Library/Messages/Attachments/Postern/aaa/photo.png',
      `${stagingFolder}/bbb/deep/photo.png`,
      '/System/Volumes/Data/Users/me/Library/Messages/Attachments/Postern/ccc/photo.png',
      '~/Library/Messages/Attachments/1f/15/at_0_GUID/Postern/photo.png',
      '~/Library/Messages/Attachments/Postern',
      '~/Library/Messages/Attachments/PosternX/ddd/photo.png',
    ]) {
      database.attach(row, path);
    }
    database.attach(row, null);
    expect([...ask()].sort()).toEqual(['aaa', 'bbb', 'ccc']);
  });

  test('is found among many thousands', () => {
    const row = database.message({ text: 'with many files' });
    database.sqlite.transaction(() => {
      for (let count = 0; count < 11_000; count += 1) database.attach(row, `~/Library/Messages/Attachments/${count}`);
    });
    database.attach(row, `${stagingFolder}/last/photo.png`);
    expect(ask()).toContain('last');
  });

  test('is not known of while chat.db cannot be read: that is an error, never an empty answer', () => {
    expect(() =>
      readStagedFoldersInUse({ chatDbPath: join(homeFolder, 'none.db'), homeFolder, stagingFolder }),
    ).toThrow(expect.objectContaining({ status: 503 }));
  });
});
