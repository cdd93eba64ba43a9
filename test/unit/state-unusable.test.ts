import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { errorCode, isAppError } from '../../src/core/model/errors.ts';
import { NO_INCLUDES } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { isLong, testIf } from '../support/conditions.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { seededChance } from '../support/seed.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const FLIPS = isLong ? 2000 : 60;
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(folder, `state-${files}.db`);
};

/** A closed state.db with something in every table. */
const whole = ((): Buffer => {
  const path = newFile();
  const database = openStateDatabase(path);
  const webhooks = webhookStore(database, new FakeClock());
  const webhook = {
    url: 'http://127.0.0.1:9/x',
    events: ['message.received', 'message.updated', 'message.removed', 'messages.changed'],
    secret: 's',
    include: NO_INCLUDES,
  } as const;
  for (let count = 0; count < 20; count += 1) {
    const { id } = webhooks.add(webhook, rowOffset(count));
    const record = { id: `d${count}`, at: '2026-01-01T00:00:00Z', event: 'message.received', row_id: count } as const;
    const delivery = { outcome: 'delivered', attempts: 1, status: 200, error: null, duration_ms: 12 } as const;
    webhooks.advance([{ id, offset: rowOffset(count), records: [{ ...record, ...delivery }] }]);
    idempotencyStore(database).claim({ kind: 'client', key: `key ${count}` }, 'hash', 0);
  }
  cursorStore(database).save({ offset: rowOffset(41), guid: 'A', inode: '7' });
  database.close();
  return readFileSync(path);
})();

/** Reads and writes what the service does before it serves. */
function start(path: string): void {
  const database = openStateDatabase(path);
  try {
    cursorStore(database).load();
    const webhooks = webhookStore(database, new FakeClock());
    for (const { id } of webhooks.list()) webhooks.health(id);
    idempotencyStore(database);
  } finally {
    database.close();
  }
}

/** Returns the sentence with which the start ends; undefined if it starts. Rethrows anything else. */
function refusal(path: string): string | undefined {
  try {
    start(path);
    return undefined;
  } catch (error) {
    if (!isAppError(error) || errorCode(error) !== 'state_db_unusable') throw error;
    expect(error.message).toContain(`The state database ${path} cannot be used: `);
    expect(error.message).not.toMatch(/\n|undefined|\[object/);
    expect(error.hint).toBeTruthy();
    return error.message;
  }
}

function written(content: Uint8Array): string {
  const path = newFile();
  writeFileSync(path, content);
  return path;
}

/** Returns a copy that was changed by SQL. */
function changed(sql: string): string {
  const path = written(whole);
  const database = openSqlite(path);
  database.exec(sql);
  database.close();
  return path;
}

test('a state database that nothing is wrong with starts', () => {
  expect(refusal(written(whole))).toBeUndefined();
  expect(refusal(newFile())).toBeUndefined();
  // What a crash leaves between creating the file and filling it.
  expect(refusal(written(Buffer.alloc(0)))).toBeUndefined();
  expect(refusal(written(Buffer.alloc(1, 7)))).toBeUndefined();
});

describe('a state database is refused with a sentence', () => {
  test('when it is cut off at any page but before the first', () => {
    const pages = whole.length / 4096;
    expect(pages).toBeGreaterThan(5);
    for (let page = 1; page < pages; page += 1) {
      const path = written(whole);
      truncateSync(path, page * 4096);
      expect([page, refusal(path)]).toEqual([page, expect.stringMatching(/malformed|damaged/)]);
    }
  });

  test('or starts, when bytes of it are anything else', () => {
    const chance = seededChance('changed bytes of state.db');
    let refused = 0;
    // About two in five are refused; there are more rounds if fewer were.
    for (let round = 0; round < FLIPS || refused < FLIPS / 4; round += 1) {
      const content = Buffer.from(whole);
      // Either a few bytes or a stretch of garbage.
      const length = chance.below(2) === 0 ? 1 + chance.below(4) : 1 + chance.below(6000);
      const at = chance.below(content.length);
      for (let place = at; place < Math.min(at + length, content.length); place += 1) {
        content[place] = chance.below(256);
      }
      if (refusal(written(content)) !== undefined) refused += 1;
      expect(round).toBeLessThan(FLIPS * 10);
    }
  });

  test('when it is garbage of two bytes or more', () => {
    const chance = seededChance('garbage as state.db');
    for (let round = 0; round < 50; round += 1) {
      // SQLite takes a file of a single byte for an empty one.
      const content = Buffer.from(Array.from({ length: 2 + chance.below(9000) }, () => chance.below(256)));
      expect(refusal(written(content))).toMatch(/not a database/);
    }
  });

  test.each([
    ['is a negative version', 'PRAGMA user_version = -1', 'its version is -1'],
    ['is of a newer version', 'PRAGMA user_version = 1000', 'newer version of Postern'],
    ['is of an older version than its tables', 'PRAGMA user_version = 0', 'belongs to another program'],
    ['has lost a table', 'DROP TABLE send', 'no column send.'],
    [
      'has lost all its tables',
      'DROP TABLE send; DROP TABLE delivery; DROP TABLE webhook; DROP TABLE cursor',
      'no column ',
    ],
    ['has lost a column', 'ALTER TABLE webhook DROP COLUMN last_success_at', 'no column webhook.last_success_at'],
    [
      'has a webhook with an event that there is not',
      "UPDATE webhook SET events = '[1]'",
      'a webhook in it is damaged',
    ],
    [
      'has a webhook with a name that is almost an event',
      'UPDATE webhook SET events = \'["message.changed"]\'',
      'a webhook in it is damaged',
    ],
    ['has a webhook whose url is none', "UPDATE webhook SET url = 'notaurl'", 'a webhook in it is damaged'],
    ['has a trigger', 'CREATE TRIGGER t AFTER DELETE ON send BEGIN SELECT 1; END', 'a trigger or a view'],
    ['has a webhook with damaged events', "UPDATE webhook SET events = '[\"message'", 'a webhook in it is damaged'],
    ['has a webhook without a position', 'DELETE FROM consumer WHERE row_id = 3', 'position of a webhook is missing'],
  ])('when it %s', (_, sql, words) => {
    expect(refusal(changed(sql))).toContain(words);
  });

  test('when it is the database of another program, which stays as it is', () => {
    const path = newFile();
    const database = openSqlite(path);
    database.exec('CREATE TABLE message (text TEXT)');
    database.close();
    const before = readFileSync(path);
    expect(refusal(path)).toContain('it belongs to another program');
    expect(readFileSync(path)).toEqual(before);
  });

  test.each([
    ['a named pipe', (path: string) => void spawnSync('mkfifo', [path])],
    ['a folder', (path: string) => void mkdirSync(path)],
    ['a symbolic link', (path: string) => symlinkSync(written(whole), path)],
    ['a symbolic link', (path: string) => symlinkSync(ABSENT, path)],
  ])('when it, or its write-ahead log, is %s', (kind, make) => {
    const path = newFile();
    make(path);
    expect(refusal(path)).toContain(`${path} is ${kind}, not a file.`);
    const other = written(whole);
    make(`${other}-wal`);
    expect(refusal(other)).toContain(`${other}-wal is ${kind}, not a file.`);
  });

  const asRoot = testIf(process.getuid?.() === 0, 'needs root');
  asRoot('when it belongs to another user', () => {
    const path = written(whole);
    chownSync(path, 65_534, 65_534);
    expect(refusal(path)).toContain('belongs to another user (uid 65534)');
  });
});

test('a state database that others may read is theirs no more, side files too', () => {
  const path = written(whole);
  chmodSync(path, 0o644);
  const database = openStateDatabase(path);
  cursorStore(database).save({ offset: rowOffset(1), guid: null, inode: '1' });
  for (const file of [path, `${path}-wal`, `${path}-shm`]) chmodSync(file, 0o666);
  const again = openStateDatabase(path);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  again.close();
  database.close();
});
