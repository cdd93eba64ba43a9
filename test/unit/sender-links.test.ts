import { describe, expect, test } from '@jest/globals';
import type { MessageDetails, Origin } from '../../src/core/model/details.ts';
import type { OwnRow } from '../../src/core/model/ports/sending-ports.ts';
import { NO_DETAILS } from '../support/no-details.ts';
import { idle, setUp } from '../support/sender-fixture.ts';

const URL = 'https://example.com/a?b=1';
type World = ReturnType<typeof setUp>;

async function started(): Promise<World> {
  const world = setUp();
  world.chat.know('any;-;+15550100', null, '+15550100');
  await world.sender.start();
  return world;
}

/** Sends a text, for which Messages writes these rows, dated now. */
async function sent(world: World, body: string, rows: readonly Partial<OwnRow>[]) {
  const { chat, clock, messages } = world;
  messages.behave = () => {
    for (const row of rows) chat.add({ datedMs: clock.now(), ...row });
    return { kind: 'done' };
  };
  const sending = world.send({ body, requestId: body });
  await idle();
  await clock.advance(3000);
  return sending;
}

function originOf({ chat, origins }: World, rowId: number, details: Partial<MessageDetails> = {}): Origin | undefined {
  const message = chat.message(rowId);
  if (message === undefined) throw new Error(`there is no row ${rowId}`);
  return origins.added(message, { ...NO_DETAILS, ...details }).origin;
}

describe('a text with a link that Messages writes as two rows', () => {
  test.each([
    ['behind the text', `look ${URL}`, 'look'],
    ['before the text', `${URL} look`, 'look'],
    ['behind an ideographic space', `見て\u3000${URL}`, '見て'],
    ['behind a space that does not break', `look\u00A0${URL}`, 'look'],
    ['on a line of its own', `look\nhere\n${URL}`, 'look\nhere'],
    ['before a text that keeps its space', `${URL}  look `, ' look '],
  ])('is confirmed by the text, when the link stands %s', async (_, body, text) => {
    const world = await started();
    const result = await sent(world, body, [{ body: text }, { body: URL, textGuid: 'G1' }]);
    expect(result).toMatchObject({ confirmed: true, message: { id: '1' } });
  });

  test('is confirmed by the link, when the chat of the text is late', async () => {
    const world = await started();
    const rows = [
      { body: 'look', address: null },
      { body: '', textGuid: 'G1' },
    ];
    expect(await sent(world, `look ${URL}`, rows)).toMatchObject({ confirmed: true, message: { id: '1' } });
  });

  test('has one origin for both rows', async () => {
    const world = await started();
    await sent(world, `look ${URL}`, [{ body: 'look' }, { body: URL, textGuid: 'G1' }]);
    const origin = { by: 'gateway', request_id: `look ${URL}` };
    expect(originOf(world, 1)).toEqual(origin);
    expect(originOf(world, 2, { part_of: { id: '1', guid: 'G1' } })).toEqual(origin);
  });

  test('has the origin elsewhere for both rows, when it was written on another device', async () => {
    const world = await started();
    world.chat.add({ body: 'look' });
    world.chat.add({ body: URL, textGuid: 'G1' });
    expect(originOf(world, 1)).toEqual({ by: 'elsewhere' });
    expect(originOf(world, 2, { part_of: { id: '1', guid: 'G1' } })).toEqual({ by: 'elsewhere' });
  });

  test('is found later too, also after a restart', async () => {
    const world = await started();
    expect(await sent(world, `look ${URL}`, [])).toMatchObject({ confirmed: false });
    const open = world.sentParts.open();
    expect(open).toHaveLength(1);
    const again = setUp({ sentParts: world.sentParts, lookup: world.chat, clock: world.clock });
    await again.sender.start();
    world.chat.add({ body: 'look', datedMs: world.clock.now() });
    await world.clock.advance(1000);
    expect(world.sentParts.ofRow(1)).toMatchObject({ requestId: `look ${URL}` });
  });

  test('while its row is missing, leaves the origin of an equal text open', async () => {
    const world = await started();
    await sent(world, `look ${URL}`, []);
    await world.clock.advance(600_000);
    expect(originOf(world, world.chat.add({ body: 'look' }))).toBeUndefined();
    expect(originOf(world, world.chat.add({ body: 'else' }))).toEqual({ by: 'elsewhere' });
  });
});

test('a row with all of one text goes to that one, not to an earlier send of the same text with a link', async () => {
  const world = await started();
  await sent(world, `look ${URL}`, []);
  expect(await sent(world, 'look', [{ body: 'look' }])).toMatchObject({ confirmed: true, message: { id: '1' } });
  expect(originOf(world, 1)).toMatchObject({ request_id: 'look' });
});

test.each([
  ['no link', 'no'],
  ['a https://example.com b', 'a'],
  [URL, ''],
  ['https:// x', 'x'],
  ['see https://', 'see'],
])('%j is confirmed as a whole alone', async (body, part) => {
  expect(await sent(await started(), body, [{ body: part }])).toMatchObject({ confirmed: false });
  expect(await sent(await started(), body, [{ body }])).toMatchObject({ confirmed: true });
});

test('a text with a link that Messages writes to a new conversation beside its group is reported as misdirected', async () => {
  const world = setUp();
  world.chat.know('any;+;chat7', null, 'any;+;chat7');
  const { chat, clock, messages } = world;
  messages.behave = () => {
    chat.add({ address: '-;chat7', body: 'look' });
    return { kind: 'done' };
  };
  const sending = world.send({ recipient: 'any;+;chat7', body: `look ${URL}` }).catch((error: unknown) => error);
  await idle();
  await clock.advance(3000);
  expect(await sending).toMatchObject({ code: 'misdirected', extra: { message_id: '1' } });
  expect(originOf(world, 1)).toMatchObject({ by: 'gateway' });
});
