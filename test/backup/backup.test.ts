import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Ended, MAIN, postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const root = temporaryFolder();
/** Link to the folder of Messages, so that the same path can later lead to another Mac's. */
const messages = join(root, 'Messages');

function macWith(name: string): { database: ChatFixture; receive: (body: string) => string } {
  const database = new ChatFixture(join(root, name, 'chat.db'));
  const chat = database.chat(`any;-;${ANA}`, [ANA]);
  const from = { handle_id: database.handle(ANA) };
  return { database, receive: (body) => String(database.message({ chat, text: body, ...from })) };
}

const mac = macWith('mac');
const otherMac = macWith('other-mac');
let receiver: Receiver;
let service: Service;
let backup: string;
let webhook: string;

const SETTINGS = { name: 'n8n', on_failure: 'hold', filter: { is_from_me: false } };

beforeAll(async () => {
  for (let count = 0; count < 5; count += 1) mac.receive('old');
  for (let count = 0; count < 50; count += 1) otherMac.receive('old, on the other Mac');
  symlinkSync(join(root, 'mac'), messages);
  receiver = await Receiver.start();
  service = await Service.here({ chatDbPath: join(messages, 'chat.db') });
  const answer = await service.post('/webhooks', { url: receiver.url, events: ['message.received'], secret: 's3cret' });
  webhook = (answer.json as { id: string }).id;
  const changed = await service.request('PATCH', `/webhooks/${webhook}`, {
    body: JSON.stringify({ ...SETTINGS, headers: { Authorization: 'Bearer x' }, secret: 's4cret' }),
    headers: { 'content-type': 'application/json' },
  });
  expect(changed.status).toBe(200);
  const row = mac.receive('before the backup');
  await waitFor(() => receiver.deliveries.find(({ event }) => event.data.id === row));
  // Waits until the delivery is stored.
  await waitFor(async () => {
    const { json } = await service.get(`/webhooks/${webhook}/deliveries`);
    return (json as unknown[]).length === 1;
  });
  backup = join(root, 'postern.backup');
  const { exitCode, stdout } = await run('backup', backup);
  expect(stdout).toContain(`Wrote ${backup}`);
  expect(exitCode).toBe(0);
});
afterAll(async () => {
  await service.dispose();
  await receiver.close();
  mac.database.close();
  otherMac.database.close();
});

function run(command: string, file: string, ...options: string[]): Promise<Ended> {
  return postern([command, file, '--config-dir', service.configFolder, ...options]);
}

const received = (): readonly string[] => receiver.deliveries.map(({ event }) => event.data.id);

/** Counts folders, so that each test has a new, empty one. */
let folders = 0;
function emptyFolder(): string {
  folders += 1;
  return join(root, `folder-${folders}`);
}
const restoreInto = (folder: string, file: string, ...options: string[]): Promise<Ended> =>
  postern(['restore', file, '--config-dir', folder, ...options]);

describe('a backup', () => {
  test('is one private file that says it holds the key, made while the service runs', async () => {
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(readFileSync(backup, 'latin1')).toContain(
      'It holds the API key and the secrets of webhooks: keep it private.',
    );
    expect(readFileSync(backup, 'latin1')).toContain(KEY);
    expect(readdirSync(root).filter((name) => name.includes('postern.backup'))).toEqual(['postern.backup']);
    const { stdout } = await run('backup', join(root, 'second.backup'));
    expect(stdout).toContain('It holds the API key and the secrets of webhooks: keep it private.');
    expect(stdout).not.toContain(KEY);
    expect((await service.get('/health')).status).toBe(200);
  });

  test('for which its disk has no room ends with 1, and does not blame the state', () => {
    const file = join(root, 'no-room');
    const command = [process.execPath, MAIN, 'backup', file, '--config-dir', service.configFolder];
    const full = spawnSync('/bin/sh', ['-c', 'ulimit -f 40; exec "$@"', 'sh', ...command], { encoding: 'utf8' });
    expect(full.stderr).toMatch(/^No backup was written: (?!.*state).*\.\n$/);
    expect([full.status, existsSync(file)]).toEqual([1, false]);
  });

  test('replaces an existing file only with --force', async () => {
    const file = join(root, 'valuable');
    writeFileSync(file, 'valuable');
    const refused = await run('backup', file);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('already exists') });
    expect(readFileSync(file, 'utf8')).toBe('valuable');
    expect((await run('backup', file, '--force')).exitCode).toBe(0);
    expect(readFileSync(file).subarray(0, 15).toString()).toBe('SQLite format 3');
  });

  test('never replaces a folder, or anything else that is no file', async () => {
    const folder = join(root, 'folder');
    mkdirSync(folder);
    const pipe = join(root, 'pipe');
    spawnSync('mkfifo', [pipe]);
    for (const path of [folder, pipe]) {
      for (const options of [[], ['--force']]) {
        expect(await run('backup', path, ...options)).toEqual({
          exitCode: 1,
          stdout: '',
          stderr: `No backup was written: ${path} is not a file.\n  Name another file.\n`,
        });
      }
    }
  });

  test('never replaces a file of the service, and names the faults of the configuration', async () => {
    const own = await run('backup', join(service.configFolder, 'state.db'), '--force');
    expect(own).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is a file of the service itself') });
    const index = await run('backup', join(service.configFolder, 'search.db'), '--force');
    expect(index).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is a file of the service itself') });
    const link = join(root, 'link');
    symlinkSync(service.configFolder, link);
    const linked = await run('backup', join(link, 'CONFIG.toml'), '--force');
    expect(linked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is a file of the service itself') });
    const folder = emptyFolder();
    mkdirSync(folder);
    const none = await postern(['backup', join(root, 'none'), '--config-dir', folder]);
    expect(none).toMatchObject({ exitCode: 78, stderr: expect.stringContaining('There is no such file.') });
    writeFileSync(
      join(folder, 'config.toml'),
      '[server]\nport = "x"\nrate_limit_per_minute = -1\n[auth]\napi_key = "k"\n',
    );
    const wrong = await postern(['backup', join(root, 'none'), '--config-dir', folder]);
    expect(wrong.stderr).toMatch(/server\.port[\s\S]*server\.rate_limit_per_minute/);
    expect(existsSync(join(root, 'none'))).toBe(false);
  });
});

describe('a restore', () => {
  test('is refused while the service runs', async () => {
    const { exitCode, stderr } = await run('restore', backup, '--force');
    expect(stderr).toContain('Nothing was restored: another Postern is using');
    expect(exitCode).toBe(69);
    expect((await service.get('/webhooks')).json).toHaveLength(1);
  });

  test('with the same chat.db continues where the backup was, without gap or repeat', async () => {
    await service.stop();
    const before = received();
    const missed = [mac.receive('while it was down'), mac.receive('and another')];
    rmSync(service.configFolder, { recursive: true });
    const { exitCode, stdout } = await run('restore', backup);
    expect(stdout).toContain('The backup has 1 webhook and the API key of that time.');
    expect(stdout).toContain('is the database from the backup. Events and webhooks resume where they stopped.');
    expect(exitCode).toBe(0);
    expect(statSync(service.configFolder).mode & 0o777).toBe(0o700);
    for (const name of ['config.toml', 'state.db']) {
      expect(statSync(join(service.configFolder, name)).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(service.configFolder).toSorted()).toEqual(['config.toml', 'lock.db', 'state.db']);

    await service.launch();
    const now = mac.receive('after the restore');
    await eventually(() => expect(received()).toContain(now));
    expect(received()).toEqual([...before, ...missed, now]);
    const headers = receiver.deliveries.at(-1)?.headers;
    expect(headers).toMatchObject({ authorization: 'Bearer x', 'x-webhook-signature': expect.any(String) });
    expect(String(headers?.['webhook-signature']).split(' ')).toHaveLength(2);
    expect((await service.get(`/webhooks/${webhook}`)).json).toMatchObject(SETTINGS);
  });

  test('replaces existing files only with --force', async () => {
    await service.stop();
    const before = readFileSync(join(service.configFolder, 'state.db'));
    const { exitCode, stderr } = await run('restore', backup);
    expect(stderr).toContain('has a config.toml and a state.db already.');
    expect(stderr).toContain('--force');
    expect(exitCode).toBe(1);
    expect(readFileSync(join(service.configFolder, 'state.db'))).toEqual(before);
    await service.launch();
  });

  test('with another chat.db replays nothing, and says so', async () => {
    await service.post('/webhooks', { url: 'http://127.0.0.1:9/later', events: ['message.sent'] });
    await service.becomeProcess();
    await service.kill();
    // Files of a killed service must not be taken for part of the restored state.
    expect(existsSync(join(service.configFolder, 'state.db-wal'))).toBe(true);
    rmSync(messages);
    symlinkSync(join(root, 'other-mac'), messages);
    const before = received();
    const { exitCode, stdout } = await run('restore', backup, '--force');
    expect(stdout).toContain('is not the database from the backup. Events and webhooks begin after its newest message');
    expect(exitCode).toBe(0);
    await service.launch();
    expect((await service.get('/webhooks')).json).toEqual([expect.objectContaining({ id: webhook })]);
    await eventually(() => expect(service.output).toContain('the Messages database was replaced'));
    const now = otherMac.receive('new, on the other Mac');
    await eventually(() => expect(received()).toContain(now));
    expect(received()).toEqual([...before, now]);
  });

  test('without a chat.db says what will decide', async () => {
    const { stdout } = await restoreInto(emptyFolder(), await withConfig(`${join(root, 'nowhere', 'chat.db')}`));
    expect(stdout).toContain(
      'cannot be read from here. If it is the database from the backup, events resume where they stopped',
    );
  });

  test('names each scheduled message whose time has passed, and counts those that will be sent', async () => {
    const file = join(root, 'scheduled.backup');
    copyFileSync(backup, file);
    const columns = 'id, key_id, state, recipient, is_approved, attachments, options';
    const add = (id: string, atMs: number): void =>
      change(
        file,
        `INSERT INTO scheduled (${columns}, send_at_ms, send_until_ms, created_ms)
           VALUES ('${id}', 'owner', 'scheduled', '${ANA}', 0, '[]', '{}', ${atMs}, ${atMs + 1}, 0)`,
      );
    for (const [n, year] of [2024, 2025, 2999].entries()) add(`id-${n}`, Date.UTC(year, 0, 1));
    const { stdout } = await restoreInto(emptyFolder(), file);
    const named = stdout.split('\n').filter((line) => line.includes(ANA));
    expect(named).toEqual(
      [2024, 2025].map(
        (year) =>
          `Will not be sent: the message to ${ANA}, which was due at ${year}-01-01T00:00:00Z. It may have been sent before the restore.`,
      ),
    );
    expect(stdout).toMatch(/Postern will send 1 scheduled message: .* scheduled list/);
  });

  test('that was interrupted is neither served nor backed up, and can be done again', async () => {
    const folder = emptyFolder();
    expect((await restoreInto(folder, backup)).exitCode).toBe(0);
    writeFileSync(join(folder, 'restore.unfinished'), '');
    writeFileSync(join(folder, '.restored-config.toml'), 'half of it');
    const { exitCode, stderr } = await postern(['serve', '--config-dir', folder]);
    expect(stderr).toContain(`A restore into ${folder} was interrupted.`);
    expect(stderr).toContain(`restore FILE --force --config-dir ${folder}`);
    expect(exitCode).toBe(78);
    const mixed = await postern(['backup', join(root, 'mixed'), '--config-dir', folder]);
    expect(mixed).toMatchObject({ exitCode: 78, stderr: expect.stringContaining('was interrupted') });
    expect((await restoreInto(folder, backup, '--force')).exitCode).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual(['config.toml', 'lock.db', 'state.db']);
  });
});

/** Returns a backup with this chat_db_path. */
async function withConfig(chatDbPath: string): Promise<string> {
  const file = join(root, 'other-path.backup');
  copyFileSync(backup, file);
  change(file, `UPDATE postern_backup SET config = replace(config, '${join(messages, 'chat.db')}', '${chatDbPath}')`);
  return file;
}

function change(file: string, sql: string): void {
  const database = openSqlite(file);
  database.exec(sql);
  database.close();
}

describe('a file that is no usable backup is refused with every mistake, and nothing is written', () => {
  const folder = join(root, 'untouched');
  const file = join(root, 'wrong.backup');
  afterEach(() => rmSync(file, { recursive: true, force: true }));

  const made = (sql: string) => (): void => {
    copyFileSync(backup, file);
    chmodSync(file, 0o600);
    change(file, sql);
  };
  const CASES: readonly (readonly [string, () => void, readonly string[]])[] = [
    ['is missing', () => undefined, ['there is no such file']],
    ['is a folder', () => void mkdirSync(file), ['it is not a file']],
    ['is a named pipe', () => void spawnSync('mkfifo', [file]), ['it is not a file']],
    ['is no database', () => writeFileSync(file, 'x'.repeat(5000)), ['file is not a database']],
    ['is empty', () => writeFileSync(file, ''), ['it is a database of another program']],
    ['is the state alone', () => copyFileSync(join(service.configFolder, 'state.db'), file), ['another program']],
    [
      'was cut off',
      () => {
        copyFileSync(backup, file);
        truncateSync(file, 8192);
      },
      ['malformed'],
    ],
    [
      'is of a newer Postern',
      made("UPDATE postern_backup SET format = 2, version = '9.9.9'"),
      ['newer version', '9.9.9'],
    ],
    ['holds no configuration', made('DELETE FROM postern_backup'), ['it holds no configuration']],
    [
      'has mistakes in configuration and state',
      made(`UPDATE postern_backup SET config = '[server]' || char(10) || 'port = 0.5' || char(10) || 'host = 7';
        DROP TABLE send`),
      [
        'config.toml: server.port',
        'config.toml: server.host',
        'config.toml: auth.api_key',
        'state.db: ',
        'no column send.',
      ],
    ],
    ['has a newer state', made('PRAGMA user_version = 1000'), ['written by a newer version of Postern']],
  ];

  test.each(CASES)('when it %s', async (_, make, words) => {
    make();
    const { exitCode, stderr, stdout } = await restoreInto(folder, file);
    for (const word of words) expect(stderr).toContain(word);
    expect(stderr).not.toContain(KEY);
    expect(exitCode).toBe(65);
    expect(stdout).toBe('');
    const left = existsSync(folder) ? readdirSync(folder).filter((name) => name !== 'lock.db') : [];
    expect(left).toEqual([]);
  });
});
