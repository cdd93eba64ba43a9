import { describe, expect, test } from '@jest/globals';
import type { MessageDetails, Origin } from '../../src/core/model/details.ts';
import type { OwnRow } from '../../src/core/model/ports/sending-ports.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { failed } from '../support/in-memory-messages.ts';
import { NO_DETAILS } from '../support/no-details.ts';
import { idle, obedient, other, photo, setUp } from '../support/sender-fixture.ts';

const ELSEWHERE: Origin = { by: 'elsewhere' };
const MINUTE = 60_000;

type World = ReturnType<typeof setUp>;

/** Returns the reported origin of a row, with its current details. */
function originOf({ chat, origins }: World, rowId: number, details: Partial<MessageDetails> = {}): Origin | undefined {
  const message = chat.message(rowId);
  if (message === undefined) throw new Error(`there is no row ${rowId}`);
  const row = chat.rows.find((one) => one.rowId === rowId);
  const attachments = (row?.attachmentNames ?? []).map((name) => `/files/${name}`);
  return origins.added({ ...message, attachments }, { ...NO_DETAILS, ...details }).origin;
}

async function started(more: Parameters<typeof setUp>[0] = {}): Promise<World> {
  const world = setUp(more);
  world.chat.know('any;-;+15550100', null, '+15550100');
  await world.sender.start();
  return world;
}

/** Adds an own row, dated now. */
const row = ({ chat, clock }: World, columns: Partial<OwnRow>): number =>
  chat.add({ datedMs: clock.now(), ...columns });

/** Makes a send that is answered with 202. */
async function unconfirmed(world: World, request: Parameters<World['send']>[0] = {}): Promise<void> {
  const sending = world.send(request);
  await idle();
  await world.clock.advance(3000);
  expect((await sending).confirmed).toBe(false);
}

describe('an own message', () => {
  test('that this service sent says so, with the request and its key', async () => {
    const world = await started();
    obedient(world);
    await world.send({ requestId: 'r-1', idempotencyKey: { kind: 'client', key: 'k-1' } });
    await world.send({ requestId: 'r-2' });
    expect(originOf(world, 1)).toEqual({ by: 'gateway', request_id: 'r-1', idempotency_key: 'k-1' });
    expect(originOf(world, 2)).toEqual({ by: 'gateway', request_id: 'r-2' });
  });

  test('says so for every part of one send', async () => {
    const world = await started();
    obedient(world);
    await world.send({ requestId: 'r-1', attachments: [photo, other] });
    const origins = world.chat.rows.map(({ rowId }) => originOf(world, rowId));
    expect(origins).toEqual(Array.from({ length: 3 }, () => ({ by: 'gateway', request_id: 'r-1' })));
  });

  test('with another text, or in another conversation, was sent elsewhere', async () => {
    const world = await started();
    await unconfirmed(world);
    expect(originOf(world, row(world, { body: 'something else' }))).toEqual(ELSEWHERE);
    expect(originOf(world, row(world, { body: 'hello', address: '-;+15550111' }))).toEqual(ELSEWHERE);
  });

  test('from before sends were recorded says nothing', async () => {
    const world = setUp();
    row(world, { body: 'old' });
    await world.sender.start();
    expect(originOf(world, 1)).toBeUndefined();
    expect(originOf(world, row(world, { body: 'new' }))).toEqual(ELSEWHERE);
  });

  test('that comes after the answer is paired within ten minutes', async () => {
    for (const [waitMs, expected] of [
      [9 * MINUTE, { by: 'gateway', request_id: 'late' }],
      [11 * MINUTE, undefined],
    ] as const) {
      const world = await started();
      await unconfirmed(world, { requestId: 'late' });
      await world.clock.advance(waitMs);
      expect(originOf(world, row(world, { body: 'hello' }))).toEqual(expected);
    }
  });

  test('is paired before it is edited, even if nobody reads it', async () => {
    const world = await started();
    await unconfirmed(world, { requestId: 'r-1' });
    const rowId = row(world, { body: 'hello' });
    await world.clock.advance(1000);
    world.chat.rows[0] = { ...(world.chat.rows[0] as OwnRow), body: 'edited' };
    expect(originOf(world, rowId, { edited_at: '2026-01-02T03:05:00Z' })).toMatchObject({ by: 'gateway' });
  });

  test('that was edited says nothing while the row of a send is missing', async () => {
    const world = await started();
    await unconfirmed(world);
    const edited = { edited_at: '2026-01-02T03:05:00Z' };
    expect(originOf(world, row(world, { body: 'edited' }), edited)).toBeUndefined();
    expect(originOf(world, row(world, { body: '' }))).toBeUndefined();
    expect(originOf(world, row(world, { body: 'edited', address: '-;+15550111' }), edited)).toEqual(ELSEWHERE);
  });

  test('whose chat is not known yet says nothing, then says what is right', async () => {
    const world = await started();
    await unconfirmed(world, { requestId: 'r-1' });
    const rowId = row(world, { body: 'hello', address: null });
    expect(originOf(world, rowId)).toBeUndefined();
    world.chat.rows[0] = { ...(world.chat.rows[0] as OwnRow), address: '-;+15550100' };
    expect(originOf(world, rowId)).toEqual({ by: 'gateway', request_id: 'r-1' });
  });

  test('like one that Messages refused was sent elsewhere', async () => {
    const world = await started();
    world.messages.endWith(failed(-1728), failed(-1728), failed(-1728), failed(-1728), failed(-1728));
    await expect(world.send()).rejects.toMatchObject({ code: 'send_failed' });
    expect(originOf(world, row(world, { body: 'hello' }))).toEqual(ELSEWHERE);
  });

  test('of a send whose outcome is unknown is paired', async () => {
    const world = await started();
    world.messages.endWith(failed(-609));
    await expect(world.send({ requestId: 'r-1' })).rejects.toMatchObject({ code: 'send_outcome_unknown' });
    expect(originOf(world, row(world, { body: 'hello' }))).toEqual({ by: 'gateway', request_id: 'r-1' });
  });

  test('is the first of two equal ones, though the later is read first', async () => {
    const world = await started();
    await unconfirmed(world, { requestId: 'first' });
    await unconfirmed(world, { requestId: 'second' });
    const [one, two, three] = ['hello', 'hello', 'hello'].map((body) => row(world, { body }));
    expect(originOf(world, three ?? 0)).toEqual(ELSEWHERE);
    expect(originOf(world, two ?? 0)).toEqual({ by: 'gateway', request_id: 'second' });
    expect(originOf(world, one ?? 0)).toEqual({ by: 'gateway', request_id: 'first' });
  });

  test('says nothing when chat.db was away as it was sent', async () => {
    const world = await started();
    world.chat.isAway = true;
    await world.send({ body: 'away' });
    world.chat.isAway = false;
    expect(originOf(world, row(world, { body: 'away' }))).toBeUndefined();
    expect(originOf(world, row(world, { body: 'other' }))).toEqual(ELSEWHERE);
  });

  test('says nothing more when sends cannot be recorded', async () => {
    const broken = setUp().sentParts;
    const world = await started({
      sentParts: {
        ...broken,
        record() {
          throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
        },
      },
    });
    expect(originOf(world, row(world, { body: 'before' }))).toEqual(ELSEWHERE);
    obedient(world);
    expect((await world.send()).confirmed).toBe(true);
    expect(originOf(world, 2)).toBeUndefined();
    expect(originOf(world, 1)).toBeUndefined();
  });
});

describe('after a crash', () => {
  /** Opens the same chat.db and state.db in another process. */
  function restarted(old: World, afterMs = 0): World {
    const clock = new FakeClock(old.clock.now() + afterMs);
    const world = setUp({ sentParts: old.sentParts, clock, lookup: old.chat });
    return { ...world, chat: old.chat, clock };
  }

  test('between the send and its pairing the row is found by its content', async () => {
    const before = await started();
    void before.send({ requestId: 'r-1', idempotencyKey: { kind: 'client', key: 'k-1' } });
    await idle();
    const mine = row(before, { body: 'hello' });
    const theirs = row(before, { body: 'typed elsewhere' });
    const world = restarted(before);
    await world.sender.start();
    expect(originOf(world, mine)).toEqual({ by: 'gateway', request_id: 'r-1', idempotency_key: 'k-1' });
    expect(originOf(world, theirs)).toEqual(ELSEWHERE);
  });

  test('a row that came while the service was down for a day is paired, one dated later is not', async () => {
    for (const [datedAfterMs, by] of [
      [9 * MINUTE, 'gateway'],
      [11 * MINUTE, undefined],
    ] as const) {
      const before = await started();
      void before.send({ requestId: 'r-1' });
      await idle();
      const mine = before.chat.add({ body: 'hello', datedMs: before.clock.now() + datedAfterMs });
      const world = restarted(before, 24 * 60 * MINUTE);
      await world.sender.start();
      expect(originOf(world, mine)?.by).toBe(by);
    }
  });

  test('rows that were sent while chat.db was away at the start get their origin when it is back', async () => {
    const world = setUp();
    row(world, { body: 'old' });
    world.chat.isAway = true;
    await world.sender.start();
    world.chat.isAway = false;
    expect(originOf(world, 1)).toBeUndefined();
    expect(originOf(world, row(world, { body: 'new' }))).toEqual(ELSEWHERE);
  });
});
