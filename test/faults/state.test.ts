import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let isMounted = false;
// Runs before the folder is removed, which a mounted disk would prevent.
afterAll(() => {
  if (isMounted) spawnSync('umount', [disk]);
});
const root = temporaryFolder();
const disk = join(root, 'disk');
mkdirSync(disk, { mode: 0o700 });
isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', disk]).status === 0;
/** Uses a disk that is really full; skipped if the test may not mount one. */
const onFullDisk = testIf(isMounted, 'needs the right to mount a disk');

let service: Service | undefined;
afterEach(async () => {
  await service?.dispose();
  service = undefined;
});

const HOOK = { url: 'http://127.0.0.1:9/x', events: ['message.received'] };
const register = (running: Service): ReturnType<Service['post']> => running.post('/webhooks', HOOK);
const send = (running: Service): ReturnType<Service['post']> =>
  running.post('/messages', { recipient: '+15550100', body: 'x' }, { 'idempotency-key': 'once' });

/** Returns the log's line about this request, which may arrive after the answer. */
function logged(running: Service, requestId: string | null): Promise<string> {
  return waitFor(() =>
    running.output
      .split('\n')
      .filter((line) => line.includes(String(requestId)))
      .find((line) => line.includes('a request failed')),
  );
}

describe('state.db that cannot be written', () => {
  onFullDisk(
    'because the disk is full: 503 that says so, the cause in the log, and as before when there is room',
    async () => {
      const running = await Service.start({ chatDbPath: join(root, 'chat.db') });
      service = running;
      await running.stop();
      // Moves the configuration folder to the small disk.
      writeFileSync(join(disk, 'config.toml'), running.stateFile('config.toml'), { mode: 0o600 });
      rmSync(running.configFolder, { recursive: true });
      spawnSync('ln', ['-s', disk, running.configFolder]);
      await running.launch();
      expect((await register(running)).status).toBe(201);
      const filler = join(disk, 'filler');
      spawnSync('sh', ['-c', 'cat /dev/zero > "$1"', 'sh', filler]);

      for (const attempt of [register, send]) {
        const answer = await attempt(running);
        expect(answer).toMatchObject({
          status: 503,
          json: { code: 'disk_full', hint: expect.stringContaining('Make room') },
        });
        expect(await logged(running, answer.headers.get('x-request-id'))).toContain('SQLITE_FULL');
      }
      expect((await running.get('/webhooks')).json).toHaveLength(1);
      expect(running.output).not.toContain('cannot rollback');
      rmSync(filler);
      expect((await register(running)).status).toBe(201);
      expect(await running.stop()).toBe(0);
    },
  );

  test('because the disk fails: 503 with the code that SQLite gave, and the cause in the log', async () => {
    // Writes beyond 400 KiB of a file fail (EFBIG), like on a file system at its limit.
    const running = await Service.start({
      chatDbPath: join(root, 'chat.db'),
      through: ['sh', '-c', 'ulimit -f 800; exec "$@"', 'sh'],
    });
    service = running;
    let answer = await register(running);
    for (let count = 0; answer.status === 201 && count < 60; count += 1) answer = await register(running);
    expect(answer.status).toBe(503);
    expect(['disk_full', 'state_db_unavailable']).toContain((answer.json as { code: string }).code);
    expect(await logged(running, answer.headers.get('x-request-id'))).toMatch(/SQLITE_(FULL|IOERR)/);
    expect((await running.get('/health')).status).toBe(200);
  });
});

/** Creates a usable configuration folder. */
function folder(name: string): string {
  const path = join(root, name);
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, 'config.toml'), '[server]\nport = 1\n[auth]\napi_key = "k"\n', { mode: 0o600 });
  return path;
}

const MISTAKES: readonly (readonly [what: string, make: (path: string) => void])[] = [
  ['a named pipe', (path) => void spawnSync('mkfifo', [path])],
  ['not a database', (path) => writeFileSync(path, 'x'.repeat(9000))],
  ['no such table', (path) => void writeFileSync(path, emptyOfVersion1())],
];

function emptyOfVersion1(): Buffer {
  const header = Buffer.alloc(4096);
  header.write('SQLite format 3\0');
  // Page size, format, reserved space, fractions, pages, encoding, user_version, and an empty first page.
  header.writeUInt16BE(4096, 16);
  header.set([1, 1, 0, 64, 32, 32], 18);
  header.writeUInt32BE(1, 28);
  header.writeUInt32BE(4, 44);
  header.writeUInt32BE(1, 56);
  header.writeUInt32BE(1, 60);
  header.set([13, 0, 0, 0, 0, 16, 0], 100);
  return header;
}

describe('an unusable state.db ends the start with 78 and a sentence', () => {
  test.each(MISTAKES)('%s', async (what, make) => {
    const path = folder(`unusable ${what}`);
    make(join(path, 'state.db'));
    const { exitCode, stderr } = await postern(['serve', '--config-dir', path]);
    expect(stderr).toMatch(/^Postern does not start: The state database .* cannot be used: /);
    expect(stderr).toContain(what);
    expect(stderr.trim().split('\n')).toHaveLength(2);
    expect(exitCode).toBe(78);
    const supervised = await postern(['serve', '--supervised', '--config-dir', path]);
    expect([supervised.exitCode, supervised.stderr]).toEqual([0, '']);
    expect(supervised.stdout).toContain(what);
  });

  test('a lock.db that is a named pipe, too', async () => {
    const path = folder('locked');
    spawnSync('mkfifo', [join(path, 'lock.db')]);
    const { exitCode, stderr } = await postern(['serve', '--config-dir', path]);
    expect(stderr).toContain('lock.db is a named pipe, not a file');
    expect(exitCode).toBe(78);
  });
});

test('files that others may read become private, and a folder that others may write to is warned about', async () => {
  const running = await Service.start({ chatDbPath: join(root, 'chat.db') });
  service = running;
  await running.stop();
  const files = ['config.toml', 'state.db'].map((name) => join(running.configFolder, name));
  for (const file of files) chmodSync(file, 0o644);
  chmodSync(running.configFolder, 0o777);
  await running.launch();
  await register(running);
  for (const file of [...files, `${files[1]}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  await eventually(() => expect(running.output).toContain('is now readable by its owner only (0600)'));
  await eventually(() => expect(running.output).toContain(`can replace files in ${running.configFolder}`));
  expect(readFileSync(files[0] ?? '', 'utf8')).toContain('api_key');
});

test('a state.db of no bytes at all starts as a new one', async () => {
  const running = await Service.start({ chatDbPath: join(root, 'chat.db') });
  service = running;
  await running.stop();
  truncateSync(join(running.configFolder, 'state.db'), 0);
  await running.launch();
  expect((await running.get('/webhooks')).json).toEqual([]);
});
