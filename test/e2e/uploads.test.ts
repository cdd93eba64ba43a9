import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Approval } from '../../src/client/access-types.ts';
import type { Upload } from '../../src/core/model/upload.ts';
import { AccessFixture, ANA, BEN } from '../support/access-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { type Answer, KEY } from '../support/service.ts';

const SECRET_NAME = 'diagnosis of Ana.pdf';
const SECRET_TEXT = 'nobody may read this in a log';

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

const folder = (): string => join(fixture.service.configFolder, 'uploads');
const kept = (): readonly string[] => (existsSync(folder()) ? readdirSync(folder()) : []);

const upload = (key: string = KEY, name = SECRET_NAME, body = SECRET_TEXT): Promise<Answer> =>
  fixture.service.request('POST', '/attachments', {
    headers: { 'x-api-key': key, 'content-disposition': `attachment; filename="${name}"` },
    body,
  });
const idOf = (answer: Answer): string => (answer.json as Upload).id;
const files = () =>
  fixture.osascript.runs().flatMap(({ env }) => (env.POSTERN_ATTACHMENT === undefined ? [] : [env.POSTERN_ATTACHMENT]));

describe('an upload', () => {
  test('is sent under its name, and never again', async () => {
    const id = idOf(await upload());
    const body = { recipient: ANA, body: '', attachment_ids: [id] };
    expect((await fixture.service.post('/messages', body)).status).toBe(202);
    expect(files().at(-1)).toBe(join(folder(), id, SECRET_NAME));
    expect(kept()).toEqual([`${id}.json`]);
    expect((await fixture.service.post('/messages', body)).status).toBe(404);
  });

  test('is not sent twice by a repeat with the same Idempotency-Key that uploads it again', async () => {
    const send = async (text = SECRET_TEXT) => {
      const body = { recipient: ANA, body: 'once', attachment_ids: [idOf(await upload(KEY, 'a.txt', text))] };
      return fixture.service.post('/messages', body, { 'idempotency-key': 'rent' });
    };
    expect((await send()).status).toBe(202);
    const before = files().length;
    const again = await send();
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect((await send('another')).status).toBe(422);
    expect(files()).toHaveLength(before);
  });

  test('that was complete outlives a crash; one that was not leaves nothing', async () => {
    await fixture.service.becomeProcess();
    const id = idOf(await upload());
    const before = kept().length;
    const client = connect(fixture.service.port, '127.0.0.1');
    client.on('error', () => {});
    client.write(
      `POST /api/v1/attachments HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nContent-Disposition: attachment; filename=half\r\nContent-Length: 1000\r\n\r\nhalf`,
    );
    await eventually(() => expect(kept()).toHaveLength(before + 1));
    await fixture.service.kill();
    client.destroy();
    await fixture.service.launch();
    expect(kept()).toHaveLength(before);
    const sent = await fixture.service.post('/messages', { recipient: ANA, body: '', attachment_ids: [id] });
    expect(sent.status).toBe(202);
  });
});

describe('an upload of a limited key', () => {
  test('is sent without send.attachment_roots, and only by this key', async () => {
    const one = await fixture.key({ scopes: ['send'], send: [ANA], approval: 'never' });
    const other = await fixture.key({ scopes: ['send'], send: [ANA], approval: 'never' });
    const id = idOf(await upload(one.record.key, 'own.txt'));
    const send = { recipient: ANA, body: '', attachment_ids: [id] };
    const refusals = [
      await other.post('/messages', send),
      await fixture.service.post('/messages', send),
      await other.post('/messages', { ...send, attachment_ids: ['00000000-0000-4000-8000-000000000000'] }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(refusals.map(({ text }) => text)).size).toBe(1);
    expect((await one.post('/messages', { ...send, recipient: BEN })).status).toBe(403);
    const byPath = { recipient: ANA, body: '', attachments: [join(folder(), id, 'own.txt')] };
    expect((await one.post('/messages', byPath)).status).toBe(403);
    expect((await fixture.service.post('/messages', byPath)).status).toBe(400);
    expect((await one.post('/messages', send)).status).toBe(202);
  });

  test('needs the right to send', async () => {
    const { record } = await fixture.key({ scopes: ['read'], read: [ANA] });
    expect(await upload(record.key)).toMatchObject({ status: 403, json: { code: 'scope_missing' } });
  });

  test('is copied when its send is held, and sent as it was', async () => {
    const agent = await fixture.key({ scopes: ['send'], send: [ANA] });
    const id = idOf(await upload(agent.record.key, 'held.txt'));
    const held = await agent.post('/messages', { recipient: ANA, body: 'see', attachment_ids: [id] });
    const { approval } = held.json as { approval: Approval };
    expect(approval.attachments).toMatchObject([{ name: 'held.txt', bytes: SECRET_TEXT.length }]);
    expect(kept()).not.toContain(id);
    const { shown } = (await fixture.service.get(`/approvals/${approval.id}`)).json as Approval;
    await fixture.service.post(`/approvals/${approval.id}/approve`, { shown });
    await eventually(() => expect(files().at(-1)).toMatch(/held\.txt$/));
  });

  test('is removed with its key', async () => {
    const { record } = await fixture.key({ scopes: ['send'], send: [ANA] });
    const id = idOf(await upload(record.key));
    await fixture.service.request('DELETE', `/keys/${record.id}`);
    await eventually(() => expect(kept().filter((name) => name.startsWith(id))).toEqual([]));
  });
});

describe('the command line', () => {
  const work = mkdtempSync(join(tmpdir(), 'postern-files-'));
  const keyFile = join(work, 'key.txt');
  beforeAll(() => writeFileSync(keyFile, KEY));
  afterAll(() => rmSync(work, { recursive: true, force: true }));
  const run = (args: readonly string[], more: readonly string[] = []) =>
    postern(['--config-dir', fixture.service.configFolder, ...args, ...more], { cwd: work });

  test('uploads a file and prints the id to send it by', async () => {
    writeFileSync(join(work, 'a b.jpg'), 'picture');
    const { stdout } = await run(['attachments', 'upload', 'a b.jpg']);
    const sent = { recipient: ANA, body: '', attachment_ids: [stdout.trim()] };
    expect((await fixture.service.post('/messages', sent)).status).toBe(202);
    expect(files().at(-1)).toMatch(/\/a b\.jpg$/);
    const record = await run(['attachments', 'upload', 'a b.jpg', '--json']);
    expect(JSON.parse(record.stdout)).toMatchObject({ name: 'a b.jpg', mime_type: 'image/jpeg', bytes: 7 });
  });

  test('sends a file to a service that it only knows the URL of, and never twice with the same key', async () => {
    writeFileSync(join(work, 'far.txt'), 'far away');
    const url = ['--url', fixture.service.url.replace('/api/v1', ''), '--key-file', keyFile];
    const send = ['send', ANA, '--attach', 'far.txt', '--idempotency-key', 'far', ...url];
    const before = files().length;
    for (let turn = 0; turn < 2; turn += 1) expect(await postern(send, { cwd: work })).toMatchObject({ exitCode: 0 });
    expect(files().slice(before)).toEqual([expect.stringMatching(/\/far\.txt$/)]);
  });

  test('gets an attachment, under a name that is only a name, and replaces nothing', async () => {
    const path = join(fixture.folder, 'Attachments', 'odd.txt');
    writeFileSync(path, 'content');
    const chat = fixture.chatIds[`any;-;${ANA}`] ?? 0;
    const message = fixture.chats.message({ chat, text: '', handle_id: fixture.chats.handle(ANA) });
    fixture.chats.attach(message, path, { transfer_name: '../../.ssh/authorized_keys' });
    const get = ['attachments', 'get', String(message)];
    expect(await run(get)).toMatchObject({ exitCode: 0, stdout: 'Wrote authorized_keys.\n' });
    expect(readFileSync(join(work, 'authorized_keys'), 'utf8')).toBe('content');
    expect(statSync(join(work, 'authorized_keys')).mode & 0o777).toBe(0o600);
    expect(await run(get)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('already exists') });
    fixture.chats.attach(message, path, { transfer_name: '--checkpoint=1' });
    expect(await run(get, ['1'])).toMatchObject({ exitCode: 0, stdout: 'Wrote _-checkpoint=1.\n' });
    expect(await run(get, ['0', '--out', 'other'])).toMatchObject({ exitCode: 0 });
    expect(await run(get, ['7'])).toMatchObject({
      exitCode: 65,
      stderr: expect.stringContaining('no such attachment'),
    });
  });

  test('keeps no part of an attachment whose other part never comes', async () => {
    const server = createServer((_request, response) => {
      const disposition = "attachment; filename*=UTF-8''photo.jpg";
      response.writeHead(200, { 'content-length': 100, 'content-disposition': disposition });
      response.write('part', () => response.destroy());
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const get = [
      'attachments',
      'get',
      '1',
      '--out',
      'part',
      '--url',
      `http://127.0.0.1:${port}`,
      '--key-file',
      keyFile,
    ];
    expect(await postern(get, { cwd: work })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('part could not be written'),
    });
    server.close();
    expect(existsSync(join(work, 'part'))).toBe(false);
  });

  test('names a file that cannot be read', async () => {
    for (const file of ['nowhere.txt', '.']) {
      const { exitCode, stderr } = await run(['send', ANA, '--attach', file]);
      expect([exitCode, stderr]).toEqual([65, expect.stringContaining('Nothing was sent')]);
    }
  });
});

test('neither name nor content of a file is in the log', () => {
  for (const secret of [SECRET_NAME, 'own.txt', 'held.txt', SECRET_TEXT, KEY]) {
    expect(fixture.service.output).not.toContain(secret);
  }
  expect(readFileSync(join(fixture.service.configFolder, 'config.toml'), 'utf8')).toContain(KEY);
});
