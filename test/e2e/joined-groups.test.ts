import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { type Listener, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const OLD = 'any;+;chat100';
const NEW = 'any;+;chat200';
const path = (id: string): string => `/conversations/${encodeURIComponent(id)}`;
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let listener: Listener;

beforeAll(async () => {
  mac = await simulatedMac();
  const group = { do: 'group', participants: [ANA, BEN], name: 'Trip' } as const;
  await mac.command({ ...group, identifier: 'chat100' });
  await mac.command({ ...group, identifier: 'chat200', joins: OLD });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  listener = await service.socket();
});
afterAll(async () => {
  await listener.close();
  await service.dispose();
  await mac.dispose();
});

async function receive(chat: string, text: string): Promise<number> {
  const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text, chat });
  return row;
}

test('a group of two chats is one conversation in lists, threads, events, keys and sends', async () => {
  const rows = [await receive(OLD, 'by MMS'), await receive(NEW, 'by RCS')];
  for (const row of rows) {
    const { data } = await listener.event((event) => event.data.id === String(row));
    expect(data.conversation_id).toBe(OLD);
  }
  const listed = (await service.get('/conversations?include=details')).json as { id: string; details: object }[];
  expect(listed).toMatchObject([{ id: OLD, details: { other_ids: [NEW] } }]);
  expect((await service.get(path(NEW))).json).toMatchObject({ id: OLD, display_name: 'Trip' });
  const thread = (await service.get(`/messages?order=asc&conversation_id=${encodeURIComponent(NEW)}`)).json;
  expect(thread).toMatchObject([{ body: 'by MMS' }, { body: 'by RCS' }]);

  const key = async (body: object) => {
    const { json } = await service.post('/keys', { name: 'trip', preset: 'reader', ...body });
    return { 'x-api-key': (json as { key: string }).key };
  };
  for (const id of [OLD, NEW]) {
    const headers = await key({ read: [id] });
    expect((await service.get('/messages?order=asc', headers)).json).toEqual(thread);
    expect((await service.get(path(NEW), headers)).json).toMatchObject({ id: OLD });
  }
  const other = await key({ read: [ANA] });
  expect((await service.get('/messages', other)).json).toEqual([]);
  expect((await service.get(path(NEW), other)).status).toBe(404);

  for (const recipient of [OLD, NEW]) {
    const sent = await service.post('/messages', { recipient, body: `to ${recipient}` });
    // A row is pending until Messages has marked it; an answer without a row is 202.
    const json = { conversation_id: OLD, id: expect.stringMatching(/^\d+$/), body: `to ${recipient}` };
    expect(sent).toMatchObject({ status: 201, json });
    const { id } = sent.json as { id: string };
    await eventually(async () => {
      const { status } = (await service.get(`/messages/${id}`)).json as { status: string };
      expect(['sent', 'delivered', 'read']).toContain(status);
    });
  }
  const found = (await service.get(`/messages?limit=2&conversation_id=${encodeURIComponent(OLD)}`)).json;
  expect(found).toMatchObject([{ body: `to ${NEW}` }, { body: `to ${OLD}` }]);
});

test.each([OLD, NEW])('keys forbid with the other id takes back what a key got by %s', async (id) => {
  const made = await service.post('/keys', { name: `forbid ${id}`, preset: 'reader', read: [id] });
  const { id: keyId, key } = made.json as { id: string; key: string };
  const headers = { 'x-api-key': key };
  expect((await service.get(path(OLD), headers)).status).toBe(200);
  const other = id === OLD ? NEW : OLD;
  expect(await postern(['--config-dir', service.configFolder, 'keys', 'forbid', keyId, '--read', other])).toMatchObject(
    { exitCode: 0 },
  );
  for (const one of [OLD, NEW]) expect((await service.get(path(one), headers)).status).toBe(404);
});

test('the picture of a group, and a row in two chats, are in the group that they name', async () => {
  const { row: picture } = await mac.command<{ row: number }>({ do: 'group_picture', chat: NEW, by: ANA });
  expect((await listener.event(({ data }) => data.id === String(picture))).data.conversation_id).toBe(OLD);
  const { row } = await mac.command<{ row: number }>({ do: 'receive', from: BEN, text: 'both' });
  await listener.event(({ data }) => data.id === String(row));
  await mac.command({ do: 'also_in', row, chat: OLD, named: true });
  expect((await service.get(`/messages/${row}`)).json).toMatchObject({ conversation_id: OLD });
});
