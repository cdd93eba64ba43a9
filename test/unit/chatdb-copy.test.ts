import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

function connect(path: string): Connection {
  const connection = new Connection({ path, home: '/Users/ada', log: collectingLog() });
  connection.check();
  return connection;
}

test('removes the -wal and -shm that reading a copy has made, but not those of Messages or of others', () => {
  const path = join(folder, 'copy', 'chat.db');
  new ChatFixture(path).close();
  const first = connect(path);
  expect(existsSync(`${path}-shm`)).toBe(true);
  first.close();
  expect(readdirSync(dirname(path))).toEqual(['chat.db']);

  const other = new Database(path);
  other.prepare('SELECT 1 FROM message').get();
  const second = connect(path);
  second.close();
  expect(readdirSync(dirname(path))).toHaveLength(3);
  other.close();

  const messages = join(folder, 'mac', 'Library', 'Messages', 'chat.db');
  mkdirSync(dirname(messages), { recursive: true });
  copyFileSync(path, messages);
  const own = new Connection({ path: messages, home: join(folder, 'mac'), log: collectingLog() });
  own.check();
  own.close();
  expect(readdirSync(dirname(messages))).toHaveLength(3);
});

test('names a folder where chat.db should be', () => {
  const connection = connect(folder);
  expect(connection.health().message).toMatch(/is a folder.*with its file name/);
});
