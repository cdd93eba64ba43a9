import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { writeBackup } from '../../src/features/backup/backup-file.ts';
import { restore } from '../../src/features/backup/restore-command.ts';
import { FEATURES } from '../../src/features/list.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let folders = 0;
let place: string;
beforeEach(() => {
  folders += 1;
  place = join(root, String(folders));
  mkdirSync(place);
});

const CONFIG = '[auth]\napi_key = "a key of at least 16 characters"\n';

/** Makes a backup with this configuration, then changes it by hand. */
function backupWith(config: string, sql = ''): string {
  const file = join(place, 'postern.backup');
  openStateDatabase(join(place, 'source.db'), FEATURES).close();
  writeFileSync(file, '');
  writeBackup(join(place, 'source.db'), file, { version: '0.1.0', createdAt: '2026-11-22T11:00:00Z', config });
  const database = openSqlite(file);
  database.exec(sql);
  database.close();
  return file;
}

async function restored(file: string) {
  const printed: string[] = [];
  const print = (...lines: readonly string[]): void => void printed.push(...lines);
  const environment = { env: { PATH: '/usr/bin:/bin' }, platform: 'darwin', homeFolder: place, features: FEATURES };
  const context = {
    ...PLAIN,
    environment,
    features: FEATURES,
    version: '0',
    isTerminal: false,
    stdout: print,
    stderr: print,
  };
  const folder = join(place, 'restored');
  const exitCode = await restore(file, { configDir: folder }, context);
  return { exitCode, text: printed.join('\n'), folder };
}

test('the restore of a strange backup names what it would run, open and post to before the first start', async () => {
  const { exitCode, text } = await restored(
    backupWith(
      `${CONFIG}[server]\nhost = "0.0.0.0"\n[bluebubbles]\nport = 1234\nhost = "::"\n[backend]\nosascript_path = "/Users/Shared/evil"\n`,
      `INSERT INTO webhook (id, url, events, created_at) VALUES ('w', 'https://user:secret@evil.example/x', '["message.received"]', '2026-11-22T11:00:00Z');
       INSERT INTO consumer (name, row_id, change) VALUES ('webhook/w', 0, 0);`,
    ),
  );
  expect(text).toContain('The webhooks post to evil.example.');
  expect(text).toContain('Postern will listen on 0.0.0.0.');
  expect(text).toContain('Postern will listen on ::.');
  expect(text).toContain('Postern will send with the program /Users/Shared/evil, not with osascript of this machine.');
  expect(text).not.toContain('secret');
  expect(exitCode).toBe(0);
});

test('the restore of a backup with only defaults warns of nothing', async () => {
  const { text } = await restored(backupWith(CONFIG));
  expect(text).not.toMatch(/Postern will|The webhooks post|limited key/);
});

test('an approved send that somebody put into a backup is void, so the first start sends nothing', async () => {
  const columns =
    'id, key_id, state, recipient, members, text, attachments, shown, ask, request_hash, text_hmac, created_ms, expires_ms';
  const file = backupWith(
    CONFIG,
    `INSERT INTO approval (${columns}) VALUES ('a', 'k', 'approved', '+15550100', '[]', 'send me', '[]', '', '', '', '', 0, 9e15)`,
  );
  const { folder } = await restored(file);
  const state = openSqlite(join(folder, 'state.db'));
  expect(state.prepare('SELECT state, text, problem FROM approval').all()).toEqual([['void', null, 'restored']]);
  state.close();
  expect(readFileSync(join(folder, 'state.db')).includes('send me')).toBe(false);
});

test('a configuration that begins with a byte order mark is restored', async () => {
  const { exitCode, folder } = await restored(backupWith(`\uFEFF${CONFIG}`));
  expect(exitCode).toBe(0);
  expect(existsSync(join(folder, 'config.toml'))).toBe(true);
});

test('a configuration that no start would read is refused by restore already', async () => {
  const { exitCode, text, folder } = await restored(backupWith(`${CONFIG}# ${'x'.repeat(1024 * 1024)}\n`));
  expect(text).toContain('config.toml: The file has 1048');
  expect(exitCode).toBe(65);
  expect(existsSync(join(folder, 'config.toml'))).toBe(false);
});

test('a view in place of the table of the backup is refused before anybody reads it', async () => {
  const { exitCode, text } = await restored(
    backupWith(
      CONFIG,
      `DROP TABLE postern_backup;
       CREATE VIEW postern_backup AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
       SELECT max(i) AS format, '1' AS version, '' AS created_at, '' AS config FROM n`,
    ),
  );
  expect(text).toContain('it holds a trigger or a view, which Postern never makes');
  expect(exitCode).toBe(65);
});

test.each([
  ['an index', 'CREATE INDEX slow ON webhook (hex(zeroblob(100)))', 'index slow'],
  ['a table', 'CREATE TABLE more (a)', 'table more'],
  [
    'an index of its own under the name of ours',
    'DROP INDEX audit_by_time; CREATE INDEX audit_by_time ON webhook (url)',
    'index audit_by_time',
  ],
])('%s that Postern never makes is refused', async (_what, sql, named) => {
  const { exitCode, text, folder } = await restored(backupWith(CONFIG, sql));
  expect(text).toContain(`its schema defines ${named} differently than Postern does`);
  expect(exitCode).toBe(65);
  expect(existsSync(join(folder, 'state.db'))).toBe(false);
});
