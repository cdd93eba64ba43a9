import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

interface Told {
  readonly type: string;
  readonly data: {
    readonly id: string;
    readonly body?: string;
    readonly attachments?: readonly string[];
    readonly status?: string;
  };
  readonly changes?: readonly string[];
  readonly offset: string;
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let next = '/events?changes=true';
const told: Told[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  await poll();
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

/** Reads the next page of events with changes. */
async function poll(): Promise<void> {
  const answer = await service.get(next);
  expect(answer.status).toBe(200);
  told.push(...(answer.json as Told[]));
  next = nextOf(answer) ?? next;
}

/** Waits for the events of one message, ignoring repeated names: receipts come one by one. */
async function expectTold(row: number, names: readonly string[]): Promise<Told> {
  await eventually(async () => {
    await poll();
    const ofRow = told.filter(({ data }) => data.id === String(row));
    expect(ofRow.flatMap(({ type, changes }) => changes ?? type)).toEqual(names);
  });
  return told.filter(({ data }) => data.id === String(row)).at(-1) as Told;
}

const rowOf = (answer: unknown): number => (answer as { readonly row: number }).row;

test('an incoming message is read, edited and unsent', async () => {
  const row = rowOf(await mac.command({ do: 'receive', from: '+15550100', text: 'good' }));
  await expectTold(row, ['message.received']);
  await mac.command({ do: 'read', row });
  expect((await expectTold(row, ['message.received', 'read'])).data.status).toBe('read');
  await mac.command({ do: 'edit', row, text: 'better' });
  expect((await expectTold(row, ['message.received', 'read', 'edited'])).data.body).toBe('better');
  await mac.command({ do: 'edit', row, text: 'bester' });
  await expectTold(row, ['message.received', 'read', 'edited', 'edited']);
  await mac.command({ do: 'unsend', row });
  expect((await expectTold(row, ['message.received', 'read', 'edited', 'edited', 'unsent'])).data.body).toBe('');
});

test('a message is deleted, restored, and deleted for good, also while the service is away', async () => {
  await service.becomeProcess();
  const row = rowOf(await mac.command({ do: 'receive', from: '+15550100', text: 'secret' }));
  await expectTold(row, ['message.received']);
  await mac.command({ do: 'delete', row, recoverable: true });
  await expectTold(row, ['message.received', 'deleted']);
  await mac.command({ do: 'recover', row });
  await expectTold(row, ['message.received', 'deleted', 'restored']);
  const other = rowOf(await mac.command({ do: 'receive', from: '+15550100', text: 'meanwhile' }));
  await expectTold(other, ['message.received']);
  await service.kill();
  await mac.command({ do: 'delete', row });
  await mac.command({ do: 'edit', row: other, text: 'in the meantime' });
  await service.launch();
  await expectTold(row, ['message.received', 'deleted', 'restored', 'message.removed']);
  expect((await expectTold(other, ['message.received', 'edited'])).data.body).toBe('in the meantime');
});

test('an own message is delivered and read, and one fails', async () => {
  const sent = await service.post('/messages', { recipient: '+15550100', body: 'hi' });
  const row = Number((sent.json as { readonly id: string }).id);
  await eventually(async () => {
    await poll();
    const names = told.flatMap(({ data, changes }) => (data.id === String(row) ? (changes ?? []) : []));
    expect(names).toEqual(expect.arrayContaining(['read']));
  });
  await mac.command({ do: 'scenario', name: 'error_22' });
  await service.post('/messages', { recipient: '+15550100', body: 'no' });
  await eventually(async () => {
    await poll();
    expect(told.some(({ changes }) => changes?.includes('failed'))).toBe(true);
  });
});

test('an attachment that arrives late is reported', async () => {
  const row = rowOf(await mac.command({ do: 'receive', from: '+15550100', text: '\uFFFC' }));
  await expectTold(row, ['message.received']);
  const insert = (table: string, values: Readonly<Record<string, string | number>>) =>
    mac.command({ do: 'insert', table, values });
  const file = {
    guid: 'at_0_photo',
    original_guid: 'at_0_photo',
    filename: '~/Library/Messages/Attachments/photo.jpg',
    transfer_state: 5,
  };
  const attachment = rowOf(await insert('attachment', file));
  await insert('message_attachment_join', { message_id: row, attachment_id: attachment });
  const last = await expectTold(row, ['message.received', 'attachment']);
  expect(last.data.attachments).toHaveLength(1);
});

test('the status and the metrics show that changes are detected', async () => {
  expect((await service.get('/status')).json).toMatchObject({ changes: { state: 'on', swept_at: expect.any(String) } });
});
