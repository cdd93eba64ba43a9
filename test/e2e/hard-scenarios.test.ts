import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isSince26, MACOS_VERSIONS } from '../../src/features/simulator/macos-versions.ts';
import { eventually } from '../support/eventually.ts';
import { type Listener, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let listener: Listener;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'history' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  listener = await service.socket();
});
afterAll(async () => {
  await listener.close();
  await service.dispose();
  await mac.dispose();
});

const receive = (options: object): Promise<{ row: number; guid: string }> =>
  mac.command({ do: 'receive', from: ANA, text: 'a text', ...options });
const heard = (row: number) => listener.event(({ data }) => data.id === String(row));

describe('what Messages does to its database', () => {
  test('a row before its chat: the event waits and has its conversation', async () => {
    const { row } = await receive({ joinAfterMs: 100 });
    expect((await heard(row)).data).toMatchObject({ conversation_id: `any;-;${ANA}`, body: 'a text' });
  });

  test('an attachment that comes late, without a name at first: the event waits and has its path', async () => {
    const { row } = await receive({ text: 'look', attachment: { name: 'photo.heic', bytes: 100, afterMs: 200 } });
    const { data } = await heard(row);
    expect(data.body).toBe('look');
    expect(data.attachments).toEqual([expect.stringMatching(/^\/.*photo\.heic$/)]);
  });

  test.each([1000, 2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 3000, 3003, 3006, 3007, 4000])(
    'a tapback of type %i, which replaces the one before and leaves a gap',
    async (type) => {
      const { row: target } = await receive({});
      const react = (kind: number) =>
        mac.command<{ row: number }>({ do: 'react', to: target, from: ANA, type: kind, emoji: '🦜' });
      await react(2000);
      const { row } = await react(type);
      const event = await heard(row);
      expect(event.type).toBe(type >= 3000 && type < 4000 ? 'reaction.removed' : 'reaction.added');
      expect(event.data).toMatchObject({ message_id: String(target), associated_message_type: type });
    },
  );

  test('an edit and an unsend change what reads say, and make no second event', async () => {
    const { row } = await receive({ text: 'helo' });
    await heard(row);
    await mac.command({ do: 'edit', row, text: 'hello' });
    expect((await service.get(`/messages/${row}`)).json).toMatchObject({ body: 'hello' });
    await mac.command({ do: 'unsend', row });
    expect((await service.get(`/messages/${row}`)).json).toMatchObject({ body: '' });
    const { row: next } = await receive({});
    await heard(next);
    expect(listener.events.filter(({ data }) => data.id === String(row))).toHaveLength(1);
  });

  test('a message for later is pending, and does not make its conversation the newest', async () => {
    await receive({ from: '+15550111' });
    const { row } = await mac.command<{ row: number }>({ do: 'schedule', to: ANA, text: 'tomorrow', inMs: 86_400_000 });
    expect((await heard(row)).data).toMatchObject({ status: 'pending', body: 'tomorrow' });
    const [first] = (await service.get('/conversations')).json as { id: string }[];
    expect(first?.id).toBe('any;-;+15550111');
  });

  test('a renamed group is a row like any other, with an empty body', async () => {
    const { guid } = await mac.command<{ guid: string }>({ do: 'group', identifier: 'chat5', participants: [ANA] });
    const { row } = await mac.command<{ row: number }>({ do: 'rename_group', chat: guid, name: 'Trip', by: ANA });
    expect((await heard(row)).data).toMatchObject({ body: '', conversation_id: guid });
    expect((await service.get(`/conversations/${encodeURIComponent(guid)}`)).json).toMatchObject({
      display_name: 'Trip',
    });
  });

  test('a backfill is published, each row once and in order; the timestamp tells', async () => {
    const before = listener.frames.length;
    await mac.command({ do: 'backfill', from: ANA, count: 300 });
    await eventually(() => expect(listener.frames.length).toBeGreaterThanOrEqual(before + 300));
    const rows = listener.events.slice(before).map(({ data }) => Number(data.id));
    expect(rows).toEqual(rows.toSorted((a, b) => a - b));
  });

  test('what the person deleted is in no list any more', async () => {
    const { row } = await receive({ text: 'delete me' });
    await heard(row);
    await mac.command({ do: 'delete', row, recoverable: true });
    const listed = (await service.get('/messages')).json as { id: string }[];
    expect(listed.map(({ id }) => id)).not.toContain(String(row));
  });

  test('killed and started again, with -wal and -shm created again: nothing is lost', async () => {
    const { row } = await receive({ text: 'before the crash' });
    await heard(row);
    await mac.kill();
    await mac.start({ isReborn: true });
    const { row: after } = await receive({ text: 'after it' });
    expect(after).toBeGreaterThan(row);
    await heard(after);
  });

  test('a command that means nothing is answered with a sentence, and the process stays', async () => {
    await expect(mac.command({ do: 'nonsense' } as never)).rejects.toThrow(/no command/);
    await expect(mac.command({ do: 'react', to: 999_999, type: 2000 })).rejects.toThrow(/no row/);
    await heard((await receive({})).row);
  });

  test('another database in its place: the loss is logged, no replay, and life continues', async () => {
    const before = listener.frames.length;
    await mac.command({ do: 'replace' });
    // This may be noticed even earlier: the -wal is removed first, and the old file without it lacks its last rows.
    await eventually(() => expect(service.output).toMatch(/"now_at_row_id":1,.*database was replaced/));
    const { row } = await receive({ text: 'new life' });
    await eventually(() => expect(listener.frames.length).toBeGreaterThan(before));
    expect(listener.events.slice(before).map(({ data }) => data.id)).toEqual([String(row)]);
  });

  test('a larger database in its place: no old message is an event to a client that resumes, and pages can be read', async () => {
    const rows = Number(listener.events.at(-1)?.data.id) + 30;
    await mac.command({ do: 'replace', rows });
    await eventually(() => expect(service.output).toContain(`"now_at_row_id":${rows},`));
    const { row } = await receive({ text: 'after it' });
    await heard(row);
    for (const after of [1, rows - 1]) {
      const refused = await service.get(`/events?after=${after}`);
      expect([refused.status, refused.json]).toMatchObject([410, { code: 'after_unknown', highest_row_id: row }]);
    }
    expect((await service.get(`/events?after=${rows}`)).json).toMatchObject([{ data: { body: 'after it' } }]);
    const texts: string[] = [];
    let query = 'after=0&limit=20';
    for (let page = 0; page < 9 && texts.at(-1) !== 'after it'; page += 1) {
      const { json, headers } = await service.get(`/events?${query}`);
      texts.push(...(json as readonly { data: { body: string } }[]).map(({ data }) => data.body));
      query = /\?(.*)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
    }
    expect(texts).toEqual([...Array<string>(rows).fill('restored'), 'after it']);
  });
});

describe.each(MACOS_VERSIONS)('the schema of macOS %s', (macosVersion) => {
  test('is read, listed and followed; sending works', async () => {
    const other = await simulatedMac({ macosVersion });
    await other.command({ do: 'receive', from: ANA, text: 'Grüße 👋' });
    const gateway = await Service.here({ chatDbPath: other.chatDbPath, osascriptPath: other.osascriptPath });
    try {
      const prefix = isSince26(macosVersion) ? 'any' : 'iMessage';
      expect((await gateway.get('/messages')).json).toEqual([
        expect.objectContaining({ body: 'Grüße 👋', sender: ANA, conversation_id: `${prefix};-;${ANA}` }),
      ]);
      const ear = await gateway.socket();
      const { row } = await other.command<{ row: number }>({
        do: 'receive',
        from: ANA,
        text: 'news',
        service: 'iMessage',
      });
      await ear.event(({ data }) => data.id === String(row));
      const sent = await gateway.post('/messages', { recipient: ANA, body: 'back' });
      expect(sent.status).toBe(201);
      await ear.event(({ type, data }) => type === 'message.sent' && data.body === 'back');
      await ear.close();
    } finally {
      await gateway.dispose();
      await other.dispose();
    }
  });
});
