import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { eventually } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';

interface Told {
  readonly type: string;
  readonly data: { readonly id: string; readonly body: string; readonly details?: MessageDetails };
  readonly changes?: readonly string[];
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let byKind: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  const { chatDbPath, osascriptPath } = mac;
  service = await Service.here({ chatDbPath, osascriptPath });
  const settings = { backend: { associated_rows: 'by_kind' } };
  byKind = await Service.here({ chatDbPath, osascriptPath, settings });
});
afterAll(async () => {
  await byKind.dispose();
  await service.dispose();
  await mac.dispose();
});

const rowOf = (answer: unknown): number => (answer as { readonly row: number }).row;

/** Returns the offset at which a new reader with changes begins. */
async function begun(at: Service): Promise<string> {
  const answer = await at.get('/events?changes=true&include=details');
  expect(answer.status).toBe(200);
  return nextOf(answer) ?? '';
}

/** Returns what a reader is told about a row after an offset. */
async function toldOf(at: Service, from: string, row: number): Promise<readonly Told[]> {
  const events = (await at.get(from)).json as readonly Told[];
  return events.filter(({ data }) => data.id === String(row));
}

const namesOf = (told: readonly Told[]): readonly string[] => told.flatMap(({ type, changes }) => changes ?? type);

const detailsOf = async (row: number): Promise<MessageDetails | undefined> =>
  ((await service.get(`/messages/${row}?include=details`)).json as Told['data']).details;

test('an unsent message is unsent in its change and its details, and its file is not listed', async () => {
  const from = await begun(service);
  const attachment = { name: 'photo.jpg', bytes: 10 };
  const row = rowOf(await mac.command({ do: 'receive', from: ANA, text: 'oops', attachment }));
  await eventually(async () => expect(namesOf(await toldOf(service, from, row))).toEqual(['message.received']));
  expect(await detailsOf(row)).toMatchObject({ attachments: [{ name: 'photo.jpg' }] });
  await mac.command({ do: 'unsend', row });
  await eventually(async () =>
    expect(namesOf(await toldOf(service, from, row))).toEqual(['message.received', 'unsent']),
  );
  const retracted = { edited_at: null, retracted_at: expect.any(String), attachments: [] };
  expect(await detailsOf(row)).toMatchObject(retracted);
  expect((await toldOf(service, from, row)).at(-1)?.data).toMatchObject({ body: '', details: retracted });
  expect((await service.get(`/messages/${row}/attachments/0`)).status).toBe(404);
});

test('a text with a link is confirmed, and both of its rows were sent here', async () => {
  const sent = await service.post('/messages', { recipient: ANA, body: 'look https://example.com/a' });
  expect(sent.status).toBe(201);
  const message = sent.json as { readonly id: string; readonly body: string; readonly guid: string };
  expect(message.body).toBe('look');
  await eventually(async () => {
    const newest = ((await service.get('/messages?limit=1&include=details')).json as Told['data'][])[0];
    expect(newest).toMatchObject({
      body: 'https://example.com/a',
      details: { kind: 'link', part_of: { id: message.id, guid: message.guid }, origin: { by: 'gateway' } },
    });
  });
  expect(await detailsOf(Number(message.id))).toMatchObject({ origin: { by: 'gateway' } });
});

test('a message to oneself that was published as incoming is reported as a copy, once', async () => {
  const from = await begun(service);
  const copy = { do: 'write_to_self', address: OWN_ADDRESS, text: 'buy milk' } as const;
  const row = rowOf(await mac.command({ ...copy, isIncoming: true }));
  await eventually(async () => expect(namesOf(await toldOf(service, from, row))).toEqual(['message.received']));
  expect(await detailsOf(row)).not.toHaveProperty('mirror');
  const own = rowOf(await mac.command({ ...copy, isIncoming: false }));
  await eventually(async () => expect(namesOf(await toldOf(service, from, own))).toEqual(['message.sent']));
  await eventually(async () =>
    expect(namesOf(await toldOf(service, from, row))).toEqual(['message.received', 'mirror']),
  );
  expect((await toldOf(service, from, row)).at(-1)?.data.details?.mirror).toBe(true);
  await service.becomeProcess();
  await service.kill();
  await service.launch();
  // A reader that catches up gets the row in its current state.
  expect(await toldOf(service, from, row)).toMatchObject([
    { type: 'message.received', data: { details: { mirror: true } } },
  ]);
});

describe('rows of apps and polls', () => {
  test('are reactions by default, whose details say what they are', async () => {
    const from = await begun(service);
    const row = rowOf(await mac.command({ do: 'app', from: ANA, text: 'Your turn', type: 2 }));
    const poll = rowOf(await mac.command({ do: 'poll', from: ANA }));
    const vote = rowOf(await mac.command({ do: 'vote', poll, from: ANA }));
    for (const [id, kind] of [
      [row, 'app'],
      [vote, 'poll_vote'],
    ] as const) {
      await eventually(async () =>
        expect(await toldOf(service, from, id)).toMatchObject([
          { type: 'reaction.added', data: { details: { kind } } },
        ]),
      );
      expect((await service.get(`/messages/${id}`)).status).toBe(404);
    }
  });

  test('by kind are messages, and votes and new options change their poll', async () => {
    const from = await begun(byKind);
    const row = rowOf(await mac.command({ do: 'app', from: ANA, text: 'Your turn', type: 3 }));
    await eventually(async () => expect(namesOf(await toldOf(byKind, from, row))).toEqual(['message.received']));
    expect((await byKind.get(`/messages/${row}`)).json).toMatchObject({ body: 'Your turn' });
    const poll = rowOf(await mac.command({ do: 'poll', from: ANA }));
    await eventually(async () => expect(namesOf(await toldOf(byKind, from, poll))).toEqual(['message.received']));
    const vote = rowOf(await mac.command({ do: 'vote', poll, from: ANA }));
    await eventually(async () =>
      expect(namesOf(await toldOf(byKind, from, poll))).toEqual(['message.received', 'poll']),
    );
    await mac.command({ do: 'add_option', poll, from: ANA });
    await eventually(async () =>
      expect(namesOf(await toldOf(byKind, from, poll))).toEqual(['message.received', 'poll', 'poll']),
    );
    expect(await toldOf(byKind, from, vote)).toEqual([]);
    expect((await byKind.get(`/messages/${vote}`)).status).toBe(404);
  });
});
