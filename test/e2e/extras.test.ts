import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { type Answer, KEY, Service } from '../support/service.ts';

const ANA = '+15550100';
const home = mkdtempSync(join(tmpdir(), 'postern-extras-'));
const messages = join(home, 'Library/Messages');
const folder = join(messages, 'Attachments/a');
const database = new ChatFixture(join(messages, 'chat.db'));
mkdirSync(folder, { recursive: true });
const BYTES = Buffer.from('0123456789');
const NAME = 'Grüße "1".txt';
writeFileSync(join(folder, NAME), BYTES);
writeFileSync(join(folder, 'empty'), '');
writeFileSync(join(home, 'outside.txt'), 'outside');
symlinkSync(join(home, 'outside.txt'), join(folder, 'link.txt'));
linkSync(database.path, join(folder, 'hard-link.db'));

const chat = database.chat(`any;-;${ANA}`, [ANA]);
const from = { handle_id: database.handle(ANA) };
const hello = database.message({
  chat,
  text: 'Hello',
  ...from,
  service: 'RCS',
  date: appleNs('2026-01-01T10:00:00Z'),
  date_edited: appleNs('2026-01-01T10:01:00Z'),
  thread_originator_guid: 'AN-EARLIER-ONE',
});
const react = (type: number, seconds: number, columns = {}): number =>
  database.message({
    chat,
    text: 'reacted',
    ...from,
    date: appleNs(`2026-01-01T11:00:0${seconds}Z`),
    associated_message_type: type,
    associated_message_guid: `p:0/${database.guid(hello)}`,
    ...columns,
  });
react(2000, 1);
react(3000, 2);
const thumb = react(2001, 3);
const own = react(2003, 4, { is_from_me: 1, handle_id: 0 });
const files = database.message({ chat, text: '\uFFFC\uFFFC', ...from, date: appleNs('2026-01-01T12:00:00Z') });
const stored = { mime_type: 'text/plain', total_bytes: 10, transfer_state: 5, transfer_name: NAME };
for (const [name, columns] of [
  [`~/Library/Messages/Attachments/a/${NAME}`, stored],
  ['~/Library/Messages/Attachments/a/gone.heic', { transfer_state: 0, mime_type: 'text/html\r\nX-Evil: 1' }],
  ['~/Library/Messages/Attachments/a/link.txt', {}],
  [join(home, 'outside.txt'), {}],
  ['~/Library/Messages/Attachments/a/../../chat.db', {}],
  ['~/Library/Messages/Attachments/a/hard-link.db', {}],
  ['~/Library/Messages/Attachments/a', {}],
  ['~/Library/Messages/Attachments/a/empty', { mime_type: 'text/html\r\nX-Evil: 1' }],
] as const) {
  database.attach(files, name, columns);
}
const [TEXT, GONE, LINK, OUTSIDE, DATABASE, HARD_LINK, FOLDER, EMPTY] = [0, 1, 2, 3, 4, 5, 6, 7];

let service: Service;

beforeAll(async () => {
  service = await Service.here({ chatDbPath: database.path });
});
afterAll(async () => {
  await service.dispose();
  database.close();
  rmSync(home, { recursive: true, force: true });
});

interface Item {
  readonly id: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

describe('include=details', () => {
  test('adds what section H names to a message, and nothing else changes', async () => {
    const plain = (await service.get(`/messages/${hello}`)).json as Item;
    const { details, ...rest } = (await service.get(`/messages/${hello}?include=details`)).json as Item;
    expect(rest).toEqual(plain);
    expect(details).toEqual({
      service: 'RCS',
      kind: 'message',
      sentence: 'Hello (edited)',
      reply_to_guid: 'AN-EARLIER-ONE',
      reply_to: null,
      edited_at: '2026-01-01T10:01:00Z',
      retracted_at: null,
      delivered_at: null,
      read_at: null,
      error: null,
      attachments: [],
      reactions: [
        expect.objectContaining({ id: String(thumb), reaction_type: 'thumbs_up', message_id: String(hello) }),
        expect.objectContaining({ id: String(own), reaction_type: 'haha', is_from_me: true }),
      ],
    });
  });

  test('tells of attachments in the order of the message', async () => {
    const message = (await service.get(`/messages/${files}?include=details`)).json as Item & { attachments: string[] };
    const listed = message.details?.attachments as { path: string }[];
    expect(listed.map(({ path }) => path)).toEqual(message.attachments);
    expect(listed[TEXT]).toEqual({
      name: NAME,
      mime_type: 'text/plain',
      bytes: 10,
      transfer: 'finished',
      state: 'available',
      path: join(folder, NAME),
      guid: expect.any(String),
    });
    expect(listed[GONE]).toMatchObject({ name: 'gone.heic', bytes: 0, transfer: 'waiting', state: 'in_cloud' });
  });

  test('works on lists and stays in the link to the next page; without it there are none', async () => {
    const answer = await service.get('/messages?include=details&limit=1');
    expect((answer.json as Item[]).every(({ details }) => details !== undefined)).toBe(true);
    expect(answer.headers.get('link')).toContain('include=details');
    expect(((await service.get('/messages')).json as Item[]).some((item) => 'details' in item)).toBe(false);
  });

  test.each(['/messages?include=all', '/messages?include=', `/messages/${hello}?include=details,x`])(
    'refuses %s',
    async (path) => {
      expect((await service.get(path)).status).toBe(400);
    },
  );

  test('works on the WebSocket and at a webhook that asked for it', async () => {
    const receiver = await Receiver.start();
    const [plain, detailed] = [await service.socket(), await service.socket('&include=details')];
    try {
      await service.post('/webhooks', { url: receiver.url, events: ['message.received'], include: ['details'] });
      const id = String(database.message({ chat, text: 'now', ...from }));
      const frame = await detailed.event(({ data }) => data.id === id);
      expect(frame.data.details).toMatchObject({ kind: 'message', reactions: [] });
      expect((await plain.event(({ data }) => data.id === id)).data).not.toHaveProperty('details');
      const delivery = await waitFor(() => receiver.deliveries.find(({ event }) => event.data.id === id));
      expect(delivery.event).toEqual(frame);
      await expect(service.socket('&include=all')).rejects.toThrow('400');
    } finally {
      await plain.close();
      await detailed.close();
      await receiver.close();
    }
  });
});

describe('an attachment', () => {
  const at = (n: number | string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    service.request(method, `/messages/${files}/attachments/${n}`, { headers });

  test('is streamed with its type and name, to be saved and never shown', async () => {
    const { status, text, headers } = await at(TEXT);
    expect([status, text]).toEqual([200, '0123456789']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '10',
      'content-disposition': `attachment; filename="Gr__e _1_.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.txt`,
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    });
  });

  test('that a client has is not transferred again', async () => {
    const { headers } = await at(TEXT);
    expect(headers.get('cache-control')).toMatch(/^private\b/);
    const again = await at(TEXT, { 'if-none-match': headers.get('etag') ?? '' });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('answers HEAD without a body', async () => {
    const { status, text, headers } = await at(TEXT, {}, 'HEAD');
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '10']);
  });

  test.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['Bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['bytes=4-2', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ])('gives the range %s', async (range, status, text, contentRange) => {
    const answer = await at(TEXT, { range });
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, contentRange]);
  });

  test('is sent whole for a range under a condition, which nothing here can meet', async () => {
    const answer = await at(TEXT, { range: 'bytes=2-4', 'if-range': '"an-etag"' });
    expect([answer.status, answer.text]).toEqual([200, '0123456789']);
  });

  test.each(['bytes=10-', 'bytes=-0'])('has no range %s', async (range) => {
    const answer = await at(TEXT, { range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  });

  test('may be empty, and a malformed type is not repeated', async () => {
    const { status, text, headers } = await at(EMPTY);
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'application/octet-stream']);
    expect(headers.has('x-evil')).toBe(false);
  });

  test.each([
    ['not on disk', GONE],
    ['a link out of the folder', LINK],
    ['outside of the folder', OUTSIDE],
    ['the database', DATABASE],
    ['the database under another name', HARD_LINK],
    ['a folder', FOLDER],
    ['not there', 99],
    ['not a number', 'x'],
    ['negative', '-1'],
  ])('that is %s is 404', async (_what, n) => {
    const answer = await at(n);
    expect([answer.status, (answer.json as { code: string }).code]).toEqual([404, 'attachment_not_found']);
  });

  test('needs the key', async () => {
    expect((await at(TEXT, { 'x-api-key': '' })).status).toBe(401);
  });
});

describe('/metrics', () => {
  const read = async (): Promise<string> =>
    (await fetch(service.url.replace('/api/v1', '/metrics'), { headers: { 'x-api-key': KEY } })).text();

  test('needs the key', async () => {
    expect((await fetch(service.url.replace('/api/v1', '/metrics'))).status).toBe(401);
  });

  test('counts by pattern and outcome, and names nobody', async () => {
    await service.get(`/conversations/any;-;${ANA}`);
    await service.post('/messages', { recipient: ANA, body: 'x' });
    const text = await read();
    expect(text).toContain('postern_up 1\n');
    expect(text).toMatch(/^postern_newest_row_id \d+$/m);
    expect(text).toMatch(/^postern_events_published_total [1-9]\d*$/m);
    expect(text).toMatch(/^postern_webhook_deliveries_total\{outcome="delivered"\} 1$/m);
    expect(text).toMatch(/^postern_sends_total\{outcome="\w+"\} 1$/m);
    expect(text).toContain('{method="GET",route="/api/v1/conversations/{id}",status="200"} 1');
    expect(text).not.toContain(ANA);
  });
});
