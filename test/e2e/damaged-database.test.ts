import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { linesOf } from '../support/archive-fixture.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { damagePage } from '../support/damaged-pages.ts';
import { eventually } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROWS = 500;
const CHAT = 'any;-;+15550101';
const folder = temporaryFolder();
/** Root may write everywhere, so it runs the program as a user whom file modes restrict. */
const nobody = process.geteuid?.() === 0 ? 65_534 : undefined;

/** Writes a configuration for this chat.db, and returns the arguments and environment of commands that use it. */
function machine(name: string, chatDbPath: string) {
  const home = join(folder, name, 'home');
  const config = join(home, 'config');
  mkdirSync(config, { recursive: true, mode: 0o700 });
  writeFileSync(
    join(config, 'config.toml'),
    `[server]\nport = 0\n[auth]\napi_key = "0123456789abcdef"\n[backend]\nchat_db_path = "${chatDbPath}"\nosascript_path = "/usr/bin/false"\n`,
    { mode: 0o600 },
  );
  return {
    home,
    run: (...args: string[]) => postern([...args, '--config-dir', config], { env: { HOME: home } }),
    runAsNobody: async (...args: string[]) => {
      const paths = [home, config, join(config, 'config.toml')];
      for (const above of [dirname(folder), folder, join(folder, name)]) chmodSync(above, 0o711);
      for (const path of paths) if (nobody !== undefined) chownSync(path, nobody, nobody);
      return postern([...args, '--config-dir', config], { env: { HOME: home }, uid: nobody });
    },
  };
}

function filled(path: string, rows = ROWS): string {
  const fixture = new ChatFixture(path);
  const chat = fixture.chat(CHAT, ['+15550101']);
  const handle_id = fixture.handle('+15550101');
  fixture.transaction(() => {
    for (let n = 1; n <= rows; n += 1) {
      const text = `message ${n} ${'x'.repeat(100)}`;
      fixture.message({ chat, handle_id, text, date: appleNs('2026-01-01T00:00:00Z', n * 1e9) });
    }
  });
  fixture.close();
  return path;
}

/** The ids of the messages that SQLite cannot read even one by one. */
function lostRows(path: string): readonly number[] {
  const database = new Database(path, { readonly: true });
  const row = database.prepare('SELECT * FROM message WHERE ROWID = ?');
  const lost = Array.from({ length: ROWS }, (_, n) => n + 1).filter((id) => {
    try {
      return row.get(id) === undefined;
    } catch {
      return true;
    }
  });
  database.close();
  return lost;
}

test('a damaged page costs an archive its rows alone, in every run, and doctor says what to do', async () => {
  const path = filled(join(folder, 'archive', 'db', 'chat.db'));
  const { run } = machine('archive', path);
  const out = join(folder, 'archive', 'out');
  await run('export', '--out', out, '--html', 'off', '--until', '2026-01-01T00:04:00Z');
  const before = linesOf(out).length;
  damagePage(path, 'message', { at: 1 / 3 });
  damagePage(path, 'message', { at: 0 });
  const lost = lostRows(path);
  const named = `${lost.length} of message (row ids ${lost[0]}-`;
  for (const added of [ROWS - lost.length, 0]) {
    const ended = await run('export', '--out', out, '--html', 'off', '--json');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    const report = JSON.parse(ended.stdout) as { added: number; removed: number; warnings: readonly string[] };
    expect(report).toMatchObject({ removed: 0, unreadable: { message: lost.length } });
    expect(report.added).toBeLessThanOrEqual(added);
    expect(report.warnings.join()).toContain(named);
  }
  expect(linesOf(out).length).toBeGreaterThanOrEqual(before);
  const manifest = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ runs: 3, unreadable: { message: lost.length } });
  expect((await run('export', 'verify', out)).exitCode).toBe(0);

  const { stdout, exitCode } = await run('doctor', '--json');
  const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; what_to_do: string }[] };
  expect(findings.find(({ name }) => name === 'chat_database')).toMatchObject({
    state: 'problem',
    sentence: expect.stringContaining(named),
    what_to_do: expect.stringContaining('.recover'),
  });
  expect(exitCode).toBe(1);
});

test('a damaged page costs clients its rows alone: lists, changes, search and new messages go on', async () => {
  const path = filled(join(folder, 'service', 'Messages', 'chat.db'));
  damagePage(path, 'message');
  const lost = lostRows(path);
  const service = await Service.here({
    chatDbPath: path,
    settings: { search: { enabled: true }, changes: { enabled: true } },
  });
  await eventually(async () => {
    const { status, json } = await service.get('/messages?limit=5');
    expect([status, (json as unknown[]).length]).toEqual([200, 5]);
  });
  await eventually(async () => expect((await service.get('/events?changes=true')).status).toBe(200));
  await eventually(async () => {
    const { json } = await service.get('/status');
    expect(json).toMatchObject({
      backend: { connected: true, message: expect.stringContaining(`${lost.length} of message`) },
      search: { state: 'complete', indexed_rows: ROWS - lost.length },
    });
  });
  const writer = new ChatFixture(path, 'macos-26', { isThere: true });
  const id = writer.message({ chat: 1, handle_id: 1, text: 'quince', date: appleNs('2026-03-01T00:00:00Z') });
  await eventually(async () => {
    const { json } = await service.get('/status');
    expect(json).toMatchObject({ newest_event: { row_id: id } });
  });
  await eventually(async () => expect((await service.get('/search?q=quince')).text).toContain(`"${id}"`));
  const { json } = await service.get(`/messages?limit=200&conversation_id=${encodeURIComponent(CHAT)}&order=asc`);
  expect((json as unknown[]).length).toBe(200);
  expect((await service.get(`/messages/${lost[0]}`)).status).toBe(404);
  expect((await service.get(`/messages/${(lost[0] ?? 0) - 1}`)).status).toBe(200);
  writer.close();
});

test('a copy in a folder that cannot be written is read as it is; with a -wal, the sentence says what to copy', async () => {
  const path = filled(join(folder, 'read-only', 'db', 'chat.db'), 3);
  const out = join(folder, 'read-only', 'home', 'out');
  chmodSync(path, 0o444);
  chmodSync(dirname(path), 0o555);
  const copy = machine('read-only', path);
  expect(await copy.runAsNobody('export', '--out', out, '--html', 'off')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readdirSync(dirname(path))).toEqual(['chat.db']);
  chmodSync(dirname(path), 0o755);

  const writer = new ChatFixture(path.replace('chat.db', 'live.db'));
  writer.message({ text: 'in the -wal' });
  copyFileSync(`${writer.path}-wal`, `${path}-wal`);
  copyFileSync(writer.path, path.replace('chat.db', 'other.db'));
  writer.close();
  chmodSync(`${path}-wal`, 0o444);
  chmodSync(dirname(path), 0o555);
  const { exitCode, stderr } = await copy.runAsNobody('export', '--out', out, '--html', 'off');
  expect(exitCode).not.toBe(0);
  expect(stderr.replace(/\s+/g, ' ')).toMatch(/a folder that cannot be written.*Copy chat\.db, with chat\.db-wal/);
  const doctor = await copy.runAsNobody('doctor');
  expect(doctor.stdout.replace(/\s+/g, ' ')).toMatch(/✗ chat database: .*folder that cannot be written.*Copy chat\.db/);
  chmodSync(dirname(path), 0o755);
});

test.each([
  ['the sms.db of iOS 5', /no column message\.guid.*sms\.db of iOS 5/],
  ['a folder', /is a folder.*with its file name/],
  ['a text', /damaged or not an SQLite database.*\.recover/],
])('doctor says of %s that it is no chat.db', async (what, said) => {
  const path = join(folder, what.replaceAll(' ', '-'), 'chat.db');
  mkdirSync(dirname(path));
  if (what === 'a folder') mkdirSync(path);
  else if (what === 'a text') writeFileSync(path, 'Dear Ada,\n'.repeat(1000));
  else {
    const database = new Database(path);
    database.exec(
      'CREATE TABLE message (ROWID INTEGER PRIMARY KEY, address TEXT, text TEXT, date INTEGER); CREATE TABLE madrid_chat (ROWID INTEGER PRIMARY KEY)',
    );
    database.close();
  }
  const { run } = machine(what.replaceAll(' ', '-'), path);
  const { stdout, exitCode } = await run('doctor');
  expect(stdout.replace(/\s+/g, ' ')).toMatch(said);
  expect(exitCode).toBe(1);
});

test('doctor names a folder that Postern cannot write to', async () => {
  const { home, runAsNobody } = machine('closed', filled(join(folder, 'closed', 'chat.db'), 1));
  expect((await runAsNobody('doctor')).stdout).toContain('✓ state: ');
  chmodSync(join(home, 'config'), 0o500);
  const { exitCode, stdout } = await runAsNobody('doctor');
  expect(stdout).toContain(`✗ state: Postern cannot write to ${join(home, 'config')} (EACCES).`);
  expect(exitCode).toBe(1);
});

test('a backup that may not be read says so', async () => {
  const { runAsNobody } = machine('unread', filled(join(folder, 'unread', 'chat.db'), 1));
  const file = join(folder, 'unread', 'closed.backup');
  writeFileSync(file, 'x', { mode: 0o000 });
  expect((await runAsNobody('restore', file)).stderr).toContain('EACCES');
});
