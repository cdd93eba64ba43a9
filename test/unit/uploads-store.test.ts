import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { isAppError } from '../../src/core/model/errors.ts';
import { safeFileName } from '../../src/core/model/file-name.ts';
import { OWNER } from '../../src/core/model/owner.ts';
import { UploadStore } from '../../src/core/state/upload-store.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let folders = 0;
const DAY_MS = 24 * 60 * 60 * 1000;

interface SetUpOptions {
  readonly folder?: string;
  /** The sizes of the files of held and scheduled sends, by key. */
  readonly kept?: Readonly<Record<string, number>>;
  readonly clock?: FakeClock;
}

function setUp({ folder = '', kept = {}, clock = new FakeClock() }: SetUpOptions = {}) {
  folders += 1;
  const parts = { folder: folder || join(root, `uploads-${folders}`), clock, log: collectingLog() };
  const keptBytes = Object.entries(kept).map(([keyId, bytes]) => ({ keyId, bytes }));
  const store = new UploadStore({ ...parts, keptBytes: () => keptBytes });
  return { ...parts, store, owner: store.of(OWNER) };
}

async function* content(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

const photo = (name = 'photo.jpg') => ({ name, mimeType: 'image/jpeg', content: content('pic', 'ture') });

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'none';
  } catch (error) {
    return isAppError(error) ? error.code : String(error);
  }
}

describe('an upload', () => {
  test('is a private file with its own name', async () => {
    const { owner, folder } = setUp();
    const upload = await owner.add(photo());
    expect(upload).toMatchObject({
      name: 'photo.jpg',
      mime_type: 'image/jpeg',
      bytes: 7,
      expires_at: '2026-01-03T03:04:05Z',
    });
    const [file] = owner.files([upload.id]);
    expect(readFileSync(file?.path ?? '', 'utf8')).toBe('picture');
    expect(statSync(file?.path ?? '').mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, upload.id)).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, `${upload.id}.json`)).mode & 0o777).toBe(0o600);
  });

  test('that is renamed keeps its content, gets a safe name, and survives a restart', async () => {
    const { owner, folder, clock } = setUp();
    const { id } = await owner.add(photo('blob'));
    const renamed = await owner.rename(id, '../Garden é.jpg');
    expect(renamed).toMatchObject({ id, name: 'Garden é.jpg', bytes: 7 });
    expect(readFileSync(renamed.path, 'utf8')).toBe('picture');
    expect(readdirSync(join(folder, id))).toEqual(['Garden é.jpg']);
    const { store } = setUp({ folder, clock });
    await store.start();
    expect(store.of(OWNER).files([id])).toEqual([renamed]);
    expect(await codeOf(store.of('another').rename(id, 'x'))).toBe('upload_not_found');
  });

  test('does not exist for another key, in the words for an unknown one', async () => {
    const { owner, store } = setUp();
    const { id } = await owner.add(photo());
    const messages = [id, 'never', '../config.toml'].map((one) => {
      try {
        store.of('other').files([one]);
        return 'there';
      } catch (error) {
        return JSON.stringify(error);
      }
    });
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toContain('upload_not_found');
    await store.of('other').discard([id]);
    await store.of('other').remove([id]);
    expect(owner.files([id])[0]?.isGone).toBe(false);
  });

  test('that broke off leaves nothing', async () => {
    const { owner, folder } = setUp();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('pic');
      throw new Error('gone');
    }
    await expect(owner.add({ ...photo(), content: broken() })).rejects.toThrow('gone');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('expires after a day, also when it was not sent, and after a restart', async () => {
    const { owner, folder, clock, store } = setUp();
    await owner.add(photo());
    store.close();
    const later = setUp({ folder, clock });
    await later.store.start();
    await clock.advance(DAY_MS - 1000);
    expect(readdirSync(folder)).toHaveLength(2);
    await clock.advance(2000);
    await eventually(() => expect(readdirSync(folder)).toEqual([]));
  });

  test('that an earlier process was killed in is removed at the start', async () => {
    const { owner, folder, clock } = setUp();
    const { id } = await owner.add(photo());
    mkdirSync(join(folder, '00000000-0000-4000-8000-000000000001'));
    writeFileSync(join(folder, '00000000-0000-4000-8000-000000000001/half.mov'), 'half');
    writeFileSync(join(folder, '00000000-0000-4000-8000-000000000002.json.new'), '{');
    writeFileSync(join(folder, '00000000-0000-4000-8000-000000000003.json'), '{"id":"../../config"}');
    symlinkSync(root, join(folder, 'link'));
    const later = setUp({ folder, clock });
    await later.store.start();
    expect(readdirSync(folder).sort()).toEqual([id, `${id}.json`].sort());
    expect(later.owner.files([id])).toHaveLength(1);
    expect(existsSync(root)).toBe(true);
  });

  test('that was sent has no content any more, and still identifies its repeat', async () => {
    const { owner, folder, clock } = setUp();
    const { id } = await owner.add(photo());
    const [before] = owner.files([id]);
    await clock.advance(DAY_MS - 1000);
    await owner.discard([id]);
    expect(readdirSync(folder)).toEqual([`${id}.json`]);
    const later = setUp({ folder, clock });
    await later.store.start();
    // Its record is kept for a day after the send.
    await clock.advance(DAY_MS - 1000);
    expect(later.owner.files([id])).toEqual([{ ...before, isGone: true }]);
    await clock.advance(DAY_MS + 1000);
    await eventually(() => expect(readdirSync(folder)).toEqual([]));
  });

  test('of a key that ended is removed', async () => {
    const { store, owner, folder } = setUp();
    await store.of('agent').add(photo());
    const { id } = await owner.add(photo());
    await store.removeOf('agent');
    expect(readdirSync(folder).sort()).toEqual([id, `${id}.json`].sort());
  });
});

describe('the room', () => {
  const MEGABYTE = Buffer.alloc(1_000_000);
  async function* megabytes(count: number): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < count; index += 1) yield MEGABYTE;
  }

  test('ends at 100 MB for one file, which leaves nothing', async () => {
    const { owner, folder } = setUp();
    expect(await codeOf(owner.add({ ...photo(), content: megabytes(101) }))).toBe('upload_too_large');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('ends at 1 GB together with the files of held and scheduled sends', async () => {
    const { owner, store, folder } = setUp({ kept: { [OWNER]: 990_000_000, agent: 8_000_000 } });
    await owner.add({ ...photo(), content: megabytes(2) });
    expect(await codeOf(owner.add(photo()))).toBe('storage_full');
    expect(await codeOf(store.of('agent').add(photo()))).toBe('storage_full');
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test('is given once for an upload that copies replace, and not again once they have', async () => {
    const { owner, store } = setUp();
    const files = owner.files([(await owner.add(photo())).id]);
    const left = store.left(OWNER, files);
    expect(store.left(OWNER, [...files, ...files])).toBe(left);
    await owner.discard(files.map(({ id }) => id));
    expect(store.left(OWNER, files)).toBe(left);
  });

  test.each(['ENOSPC', 'EDQUOT'])('ends with that of the disk: %s', async (code) => {
    const { owner, folder } = setUp();
    async function* full(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begun');
      throw Object.assign(new Error(code), { code });
    }
    expect(await codeOf(owner.add({ ...photo(), content: full() }))).toBe('storage_full');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is not used up by limited keys: half is the owner’s', async () => {
    const { owner, store } = setUp({ kept: { agent: 499_000_000, [OWNER]: 200_000_000 } });
    const agent = store.of('agent');
    await owner.add({ ...photo(), content: megabytes(3) });
    await agent.add({ ...photo(), content: megabytes(1) });
    expect(await codeOf(store.of('another').add(photo()))).toBe('storage_full');
  });

  test('is reserved by at most ten uploads of one key at a time', async () => {
    const { owner, store } = setUp();
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* waiting(): AsyncGenerator<Uint8Array> {
      await released;
      yield Buffer.from('late');
    }
    const arriving = Array.from({ length: 10 }, () => owner.add({ ...photo(), content: waiting() }));
    expect(await codeOf(owner.add(photo()))).toBe('too_many_uploads');
    expect(await codeOf(store.of('agent').add(photo()))).toBe('none');
    release();
    await Promise.all(arriving);
    expect(await codeOf(owner.add(photo()))).toBe('none');
  });
});

describe('the name of an upload', () => {
  test.each([
    ['photo.jpg', 'photo.jpg'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\photo.jpg', 'photo.jpg'],
    ['/etc/', 'file'],
    ['..', 'file'],
    ['.bashrc', 'bashrc'],
    ['', 'file'],
    [' . ', 'file'],
    ['a\0b\nc\r\u007fd.txt', 'abcd.txt'],
    ['invoice\u202Efdp.exe', 'invoicefdp.exe'],
    ['half\uD800.txt', 'half\uFFFD.txt'],
    ['a:b.txt', 'a_b.txt'],
    ['-rf', '-rf'],
    ['$(id) `id` "x" \'y\'.txt', '$(id) `id` "x" \'y\'.txt'],
    ['👩‍👩‍👧.heic', '👩‍👩‍👧.heic'],
  ])('%j is kept as %j', (given, kept) => {
    expect(safeFileName(given)).toBe(kept);
  });

  test('is at most 200 bytes long and keeps its extension', () => {
    const name = safeFileName(`${'ü'.repeat(500)}.jpeg`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    expect(name).toMatch(/ü\.jpeg$/u);
    expect(Buffer.byteLength(safeFileName('x'.repeat(5000)))).toBe(200);
  });
});
