import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { OWNER } from '../../src/core/model/owner.ts';
import { problem } from '../../src/core/model/problems.ts';
import type { Upload } from '../../src/core/model/upload.ts';
import { UploadStore } from '../../src/core/state/upload-store.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { HttpGateway, KEY, MESSAGE } from '../support/http-gateway.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

let folders = 0;
async function open(options: Parameters<typeof HttpGateway.start>[0] = {}) {
  folders += 1;
  const folder = join(root, String(folders));
  const clock = new FakeClock();
  const store = new UploadStore({ folder, clock, log: collectingLog(), keptBytes: () => [] });
  const gateway = await HttpGateway.start({ uploads: store.of(OWNER), ...options });
  ends.push(() => gateway.close());
  const kept = (): readonly string[] => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  };
  return { gateway, folder, store, kept };
}

const PATH = '/api/v1/attachments';
const NAMED = { 'content-disposition': 'attachment; filename="photo.jpg"', 'content-type': 'image/jpeg' };

interface Part {
  readonly head: string;
  readonly body: string;
}

function form(...parts: readonly Part[]) {
  const body = parts.map(({ head, body }) => `--B\r\n${head}\r\n\r\n${body}\r\n`).join('');
  return { headers: { 'content-type': 'multipart/form-data; boundary=B' }, body: `${body}--B--\r\n` };
}

const file = (name: string, body = 'picture', more = ''): Part => ({
  head: `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/jpeg${more}`,
  body,
});
const field = (name: string, body: string): Part => ({ head: `Content-Disposition: form-data; name="${name}"`, body });

describe('POST /attachments', () => {
  test('keeps the bytes of the request under the name in Content-Disposition', async () => {
    const { gateway, folder } = await open();
    const answer = await gateway.call('POST', PATH, { headers: NAMED, body: 'picture' });
    expect(answer).toMatchObject({ status: 201, json: { name: 'photo.jpg', mime_type: 'image/jpeg', bytes: 7 } });
    const { id } = answer.json as Upload;
    expect(readFileSync(join(folder, id, 'photo.jpg'), 'utf8')).toBe('picture');
  });

  test.each([
    ['', { headers: NAMED, body: 'picture' }],
    [' in a form', form(file('photo.jpg'))],
  ])('a file%s is not kept if a strict request has an unknown parameter', async (_where, { headers, body }) => {
    const { gateway, kept } = await open();
    const strict = { ...headers, prefer: 'handling=strict' };
    const answer = await gateway.call('POST', `${PATH}?x=1`, { headers: strict, body });
    expect([answer.status, kept()]).toEqual([400, []]);
  });

  test.each([
    ['attachment; filename="x.txt"; filename*=UTF-8\'\'Gr%C3%BC%C3%9Fe%20%F0%9F%91%8B.txt', 'Grüße 👋.txt'],
    ['attachment; filename=plain.txt', 'plain.txt'],
    ['attachment; filename="a \\"b\\".txt"', 'a "b".txt'],
    ['attachment; filename="../../config.toml"', 'config.toml'],
    ["attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", 'passwd'],
    ['attachment; filename="C:\\fakepath\\x.jpg"', 'x.jpg'],
    [Buffer.from('attachment; filename="ü.txt"').toString('latin1'), 'ü.txt'],
    ['attachment; filename=my plain name.txt; size=3', 'my plain name.txt'],
    // filename* wins, before or after filename, unless it is malformed.
    ["attachment; filename*=utf-8'de'Gr%C3%BC%C3%9Fe.txt; filename=x.txt", 'Grüße.txt'],
    ["attachment; FileName*=iso-8859-1''Gr%FC%DFe.txt; filename=x.txt", 'Grüße.txt'],
    ["attachment; filename=x.txt; filename*=UTF-8''%FF.txt", 'x.txt'],
    ["attachment; filename=x.txt; filename*=UTF-8''100%.txt", 'x.txt'],
    // Encoded words, as .NET writes them; one character of the last is in two words.
    ['attachment; filename="=?utf-8?B?R3LDvMOfZS9iw7YuanBn?="', 'bö.jpg'],
    ['attachment; filename="=?UTF-8?Q?Gr=C3=BC=C3=9Fe_an_alle.jpg?="', 'Grüße an alle.jpg'],
    ['attachment; filename="=?utf-8?B?R3LD?= =?utf-8?B?vC5qcGc=?="', 'Grü.jpg'],
    ['attachment; filename="=?utf-8?Q?=FF?=.jpg"', '=?utf-8?Q?=FF?=.jpg'],
    // Percent-encoding as aiohttp writes it, and only what it could have written.
    ['attachment; filename="Garten%20Kamera%20%C3%A9%20%281%29.jpg"', 'Garten Kamera é (1).jpg'],
    ['attachment; filename="..%2F..%2Fetc%2Fpasswd"', 'passwd'],
    ['attachment; filename="%2e%00%2e%2ex%0d%0a.jpg"', 'x.jpg'],
    ['attachment; filename="50%25 off%20.txt"', '50%25 off%20.txt'],
    ['attachment; filename="100%.txt"', '100%.txt'],
    ['attachment; filename="100%20%.txt"', '100%20%.txt'],
    ['attachment; filename="%FF%20.txt"', '%FF%20.txt'],
    // Browsers encode only quotes and line breaks.
    ['attachment; filename="the %22big%22 one%0D%0A.txt"', 'the "big" one.txt'],
  ])('reads the name in %j, in the header and in a form', async (disposition, name) => {
    const { gateway } = await open();
    const headers = { 'content-disposition': disposition };
    const head = `Content-Disposition: ${disposition.replace('attachment', 'form-data; name="file"')}`;
    const inForm = form({ head, body: 'x' });
    const answers = [
      await gateway.call('POST', PATH, { headers, body: 'x' }),
      await gateway.call('POST', PATH, { ...inForm, body: Buffer.from(inForm.body, 'latin1') }),
    ];
    expect(answers.map(({ json }) => (json as Upload).name)).toEqual([name, name]);
  });

  test('takes a form with one file', async () => {
    const { gateway } = await open();
    const answer = await gateway.call('POST', PATH, form(file('ü.jpg')));
    expect(answer).toMatchObject({ status: 201, json: { name: 'ü.jpg', mime_type: 'image/jpeg', bytes: 7 } });
  });

  test('stores a file of several megabytes byte for byte, in any chunks', async () => {
    const { gateway, folder } = await open();
    const bytes = Buffer.alloc(3_000_000, 'abc\r\n--B\r\n--');
    const text = bytes.toString();
    const inForm = await gateway.call('POST', PATH, {
      ...form(file('a.bin', '')),
      body: `--BB\r\n${file('a.bin').head}\r\n\r\n${text}\r\n--BB--\r\n`,
      headers: { 'content-type': 'multipart/form-data; boundary=BB' },
    });
    const raw = await gateway.call('POST', PATH, { headers: NAMED, body: bytes });
    for (const [answer, name] of [
      [inForm, 'a.bin'],
      [raw, 'photo.jpg'],
    ] as const) {
      expect(answer.status).toBe(201);
      expect(readFileSync(join(folder, (answer.json as Upload).id, name)).equals(bytes)).toBe(true);
    }
  });

  test('refuses a file without a name, compressed or too large, and keeps no part', async () => {
    const { gateway, kept } = await open();
    const nameless = await gateway.call('POST', PATH, { body: 'x' });
    expect(nameless).toMatchObject({ status: 400, json: { errors: [{ pointer: 'Content-Disposition' }] } });
    const gzip = await gateway.call('POST', PATH, { headers: { ...NAMED, 'content-encoding': 'gzip' }, body: 'x' });
    expect(gzip).toMatchObject({ status: 415 });
    const large = await gateway.raw(
      `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\nContent-Disposition: attachment; filename=x\r\nContent-Length: 100000001\r\n\r\n`,
    );
    expect(large).toMatch(/^HTTP\/1.1 413 /);
    expect(kept()).toEqual([]);
  });

  test.each([
    ['an upload', { headers: NAMED, body: 'picture' }],
    ['a form', form(file('a.jpg'))],
  ])('keeps nothing of %s whose key ended while it arrived', async (_what, call) => {
    const assertAlive = (): never => {
      throw problem('limited_key_refused');
    };
    const { gateway, kept } = await open({ assertAlive });
    expect((await gateway.call('POST', PATH, call)).status).toBe(401);
    expect(kept()).toEqual([]);
  });

  test('needs the key before anything is kept', async () => {
    const { gateway, kept } = await open();
    expect((await gateway.call('POST', PATH, { headers: NAMED, body: 'x', key: false })).status).toBe(401);
    expect((await gateway.call('POST', PATH, { ...form(file('a')), key: false })).status).toBe(401);
    expect(kept()).toEqual([]);
  });

  test.each([
    ['no file', form(field('a', 'b'))],
    ['two files', form(file('a'), file('b'))],
    ['a field beside the file', form(file('a'), field('b', 'c'))],
    ['a part without a name', form({ head: 'Content-Type: text/plain', body: 'x' })],
  ])('a form with %s is 400, and nothing is kept', async (_what, call) => {
    const { gateway, kept } = await open();
    expect((await gateway.call('POST', PATH, call)).status).toBe(400);
    expect(kept()).toEqual([]);
  });
});

describe('a hostile form', () => {
  const many = (count: number, part: Part): Part[] => Array.from({ length: count }, () => part);
  const bytesOf = (body: string, type = 'multipart/form-data; boundary=B') => ({
    headers: { 'content-type': type },
    body,
  });
  test.each([
    ['without a boundary', bytesOf('x', 'multipart/form-data'), 400],
    ['with an empty boundary', bytesOf('--\r\n\r\n', 'multipart/form-data; boundary='), 400],
    ['that is empty', bytesOf(''), 400],
    ['that ends within a file', bytesOf(`--B\r\n${file('a').head}\r\n\r\npictu`), 400],
    ['that ends within the head of a part', bytesOf('--B\r\nContent-Disposition: form-da'), 400],
    ['that never begins', bytesOf('x'.repeat(100_000)), 400],
    ['with 11 files', form(...many(11, file('a'))), 413],
    ['with 41 fields', form(...many(41, field('a', 'b'))), 413],
    ['with a field over 1 MiB', form(field('body', 'x'.repeat(1024 * 1024 + 1))), 413],
  ])('%s is refused, and no part is kept', async (_what, call, status) => {
    const { gateway, kept } = await open();
    for (const path of [PATH, '/api/v1/messages']) {
      const answer = await gateway.call('POST', path, call);
      expect(answer.status).toBe(path === PATH ? status : answer.status);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
    expect(gateway.sender.sent).toEqual([]);
    expect(kept()).toEqual([]);
    expect((await gateway.get('/api/v1/health')).status).toBe(200);
  });

  test('cannot set what an object inherits', async () => {
    const { gateway } = await open();
    const call = form(field('recipient', 'a'), field('body', 'b'), field('__proto__', 'x'), field('constructor', 'y'));
    expect((await gateway.call('POST', '/api/v1/messages', call)).status).toBe(201);
    expect(gateway.sender.sent).toMatchObject([{ recipient: 'a', body: 'b' }]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

describe('a message as a form', () => {
  test('is sent with its files, which are gone then', async () => {
    const { gateway, kept } = await open();
    const call = form(field('recipient', '+15550100'), file('a.jpg'), field('body', 'Grüße'), file('b.jpg', 'other'));
    const contents: string[] = [];
    gateway.sender.answer = ({ uploads = [] }) => {
      contents.push(...uploads.map(({ path }) => readFileSync(path, 'utf8')));
      return { confirmed: true, message: MESSAGE, replayed: false };
    };
    expect((await gateway.call('POST', '/api/v1/messages', call)).status).toBe(201);
    expect(gateway.sender.sent).toMatchObject([
      { recipient: '+15550100', body: 'Grüße', attachments: [], uploads: [{ name: 'a.jpg' }, { name: 'b.jpg' }] },
    ]);
    expect(contents).toEqual(['picture', 'other']);
    expect(kept()).toEqual([]);
  });

  test('sends its own files before those that its attachment_ids name', async () => {
    const { gateway } = await open();
    const { id } = (await gateway.call('POST', PATH, { headers: NAMED, body: 'earlier' })).json as Upload;
    const call = form(field('attachment_ids', id), field('recipient', 'a'), file('a.jpg'));
    expect((await gateway.call('POST', '/api/v1/messages', call)).status).toBe(201);
    expect(gateway.sender.sent).toMatchObject([{ uploads: [{ name: 'a.jpg' }, { name: 'photo.jpg' }] }]);
  });

  test('needs no body when it has a file, and names every mistake', async () => {
    const { gateway, kept } = await open();
    expect((await gateway.call('POST', '/api/v1/messages', form(field('recipient', 'a'), file('a')))).status).toBe(201);
    const wrong = await gateway.call(
      'POST',
      '/api/v1/messages',
      form(field('recipient', ' '), field('dry_run', 'perhaps'), file('a'), field('attachments', 'relative')),
    );
    expect(wrong.status).toBe(400);
    const { errors } = wrong.json as { errors: { pointer: string }[] };
    expect(errors.map(({ pointer }) => pointer).sort()).toEqual(['/attachments/0', '/dry_run', '/recipient']);
    expect(kept()).toEqual([]);
  });

  test('that fails keeps none of its files', async () => {
    const { gateway, kept } = await open();
    gateway.sender.answer = () => Promise.reject(new Error('Messages failed'));
    expect((await gateway.call('POST', '/api/v1/messages', form(field('recipient', 'a'), file('a')))).status).toBe(500);
    expect(kept()).toEqual([]);
  });
});

describe('a send with attachment_ids', () => {
  const send = (gateway: HttpGateway, ids: unknown, more = {}) =>
    gateway.post('/api/v1/messages', { recipient: 'a', body: '', attachment_ids: ids, ...more });

  test('sends the uploads, and removes them once they are sent', async () => {
    const { gateway, kept } = await open();
    const { id } = (await gateway.call('POST', PATH, { headers: NAMED, body: 'x' })).json as Upload;
    gateway.sender.answer = () => Promise.reject(new Error('Messages failed'));
    expect((await send(gateway, [id])).status).toBe(500);
    expect(kept()).toHaveLength(2);
    gateway.sender.answer = () => ({ confirmed: true, message: MESSAGE, replayed: false });
    expect((await send(gateway, [id])).status).toBe(201);
    expect(gateway.sender.sent).toMatchObject([{ uploads: [{ id }] }, { uploads: [{ id }] }]);
    expect(kept()).toEqual([`${id}.json`]);
  });

  test('is 404 for a missing upload, and 400 for something other than a list of ids', async () => {
    const { gateway } = await open();
    const { id } = (await gateway.call('POST', PATH, { headers: NAMED, body: 'x' })).json as Upload;
    expect(await send(gateway, [id, 'x', '../..'])).toMatchObject({
      status: 404,
      json: { code: 'upload_not_found', errors: [{ pointer: '/attachment_ids/1' }, { pointer: '/attachment_ids/2' }] },
    });
    expect((await send(gateway, 'x')).status).toBe(400);
    expect((await send(gateway, [1])).status).toBe(400);
    expect(
      (
        await send(
          gateway,
          Array.from({ length: 11 }, () => id),
        )
      ).status,
    ).toBe(400);
  });
});

describe('an upload that is slow', () => {
  const HEAD = `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\nContent-Disposition: attachment; filename=x\r\nContent-Length: 1000\r\n\r\n`;
  const TIGHT = { headersMs: 3000, requestMs: 3000, checkMs: 50 };

  async function begin(gateway: HttpGateway, clock: FakeClock): Promise<{ client: Socket; answer: () => string }> {
    const client = connect(gateway.port, '127.0.0.1');
    let text = '';
    client.on('data', (chunk) => (text += String(chunk)));
    client.on('error', () => {});
    client.write(Buffer.from(HEAD, 'latin1'));
    // Timers of the connection, of the whole upload and of its next bytes.
    await eventually(() => expect(clock.pending).toBe(3));
    return { client, answer: () => text };
  }

  test('may take longer than every other request', async () => {
    const clock = new FakeClock();
    const { gateway } = await open({ clock, timeouts: TIGHT });
    const { client, answer } = await begin(gateway, clock);
    // When this request has timed out, so would the upload, which began earlier.
    expect(await gateway.raw(HEAD.replace(PATH, '/api/v1/messages'))).toMatch(/^HTTP\/1.1 408 /);
    client.write(Buffer.alloc(1000));
    await once(client, 'close');
    expect(answer()).toMatch(/^HTTP\/1.1 201 /);
  });

  test('ends when nothing arrives for 30 s, and leaves nothing', async () => {
    const clock = new FakeClock();
    const { gateway, kept } = await open({ clock });
    const { answer } = await begin(gateway, clock);
    await clock.advance(30_000);
    await eventually(() => expect(answer()).toMatch(/^HTTP\/1.1 408 /));
    expect(kept()).toEqual([]);
  });

  test('ends after 10 minutes, no matter how it progresses', async () => {
    const clock = new FakeClock();
    const { gateway, folder, kept } = await open({ clock });
    const { client, answer } = await begin(gateway, clock);
    for (let step = 1; step < 30; step += 1) {
      client.write('x');
      const path = join(folder, kept()[0] ?? '', 'x');
      await eventually(() => expect(statSync(path).size).toBe(step));
      await clock.advance(20_000);
    }
    expect([answer(), kept().length]).toEqual(['', 1]);
    await clock.advance(20_000);
    await eventually(() => expect(answer()).toMatch(/^HTTP\/1.1 408 /));
    expect(kept()).toEqual([]);
  });

  test('whose client goes away leaves nothing', async () => {
    const clock = new FakeClock();
    const { gateway, kept } = await open({ clock });
    const { client } = await begin(gateway, clock);
    client.write('x');
    await eventually(() => expect(kept()).toHaveLength(1));
    client.destroy();
    await eventually(() => expect(kept()).toEqual([]));
  });

  test('does not hold up a service that stops', async () => {
    const clock = new FakeClock();
    const { gateway, kept } = await open({ clock });
    const { client, answer } = await begin(gateway, clock);
    client.write('x');
    await eventually(() => expect(kept()).toHaveLength(1));
    const closed = gateway.server.close(60_000);
    await eventually(() => expect(answer()).toMatch(/^HTTP\/1.1 503 /));
    client.destroy();
    await closed;
    expect(kept()).toEqual([]);
  });
});
