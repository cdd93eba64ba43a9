import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Origin } from '../../src/core/model/details.ts';
import type { OwnRow, RunOutcome, SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { failed } from '../support/in-memory-messages.ts';
import { NO_DETAILS } from '../support/no-details.ts';
import { folder, idle, setUp } from '../support/sender-fixture.ts';

const ANA = '+15550100';
const GROUP = 'any;+;chat7';
const MINUTE = 60_000;
type World = ReturnType<typeof setUp>;

async function started(more: Parameters<typeof setUp>[0] = {}): Promise<World> {
  const world = setUp(more);
  world.chat.know(`any;-;${ANA}`, null, ANA);
  world.chat.know(GROUP, null);
  await world.sender.start();
  return world;
}

/** Opens the same chat.db and state.db in another process. */
async function restarted(old: World, afterMs = 0): Promise<World> {
  const clock = new FakeClock(old.clock.now() + afterMs);
  const world = setUp({ sentParts: old.sentParts, clock, lookup: old.chat, idempotency: old.store });
  await world.sender.start();
  return { ...world, chat: old.chat, clock };
}

const row = ({ chat, clock }: World, columns: Partial<OwnRow> = {}): number =>
  chat.add({ datedMs: Math.floor(clock.now() / 1000) * 1000, body: 'hello', ...columns });

/** Sends with this key, and writes these rows during the run. Fails unless it is answered within 3 s. */
async function send(world: World, key: string, rows: readonly Partial<OwnRow>[], more: Partial<SendRequest> = {}) {
  const before = world.messages.runs.length;
  world.messages.behave = (): RunOutcome => {
    if (world.messages.runs.length === before + 1) for (const columns of rows) row(world, columns);
    return { kind: 'done' };
  };
  const sending = world.send({ requestId: key, idempotencyKey: { kind: 'client', key }, ...more });
  await eventually(() => expect(world.messages.runs.length).toBeGreaterThan(before));
  await world.clock.advance(3000);
  return sending;
}

/** Repeats a request: Messages is not asked again. Returns the row id, or the problem's code. */
async function repeated(world: World, key: string, more: Partial<SendRequest> = {}): Promise<string> {
  const runs = world.messages.runs.length;
  try {
    const { message } = await world.send({ requestId: key, idempotencyKey: { kind: 'client', key }, ...more });
    return message.id;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    expect(world.messages.runs).toHaveLength(runs);
  }
}

function originOf({ chat, origins }: World, rowId: number): Origin | undefined {
  const message = chat.message(rowId);
  return message && origins.added(message, NO_DETAILS).origin;
}

const gateway = (key: string): Origin => ({ by: 'gateway', request_id: key, idempotency_key: key });

test.each([
  ['a person', {}, {}],
  ['a group', { recipient: GROUP }, { address: '+;chat7' }],
  ['a person without a conversation', { recipient: '+15550999' }, { address: '-;+15550999' }],
])(
  'after a ghost to %s each equal send has its own row, and only the ghost stays unknown',
  async (_, more, columns) => {
    const world = await started();
    expect((await send(world, 'k1', [], more)).confirmed).toBe(false);
    for (const [key, rowId] of [
      ['k2', '1'],
      ['k3', '2'],
      ['k4', '3'],
    ] as const) {
      expect(await send(world, key, [columns], more)).toMatchObject({ confirmed: true, message: { id: rowId } });
      expect(originOf(world, Number(rowId))).toEqual(gateway(key));
      await world.clock.advance(5000);
    }
    expect(await repeated(world, 'k1', more)).toBe('');
    const later = await restarted(world);
    expect(await repeated(later, 'k1', more)).toBe('');
    expect(await repeated(later, 'k3', more)).toBe('2');
    await later.clock.advance(10 * MINUTE);
    expect(await repeated(later, 'k1', more)).toBe('send_outcome_unknown');
  },
);

test('a ghost stays unknown when the equal send comes after a restart', async () => {
  const world = await started();
  await send(world, 'k1', []);
  const later = await restarted(world, 20_000);
  expect(await send(later, 'k2', [{}])).toMatchObject({ confirmed: true, message: { id: '1' } });
  expect([await repeated(later, 'k1'), await repeated(later, 'k2')]).toEqual(['', '1']);
});

test('a row that a killed process did not see belongs to its send, not to the ghost before it', async () => {
  const world = await started();
  await send(world, 'k1', []);
  world.messages.behave = () => new Promise(() => {});
  void world.send({ requestId: 'k2', idempotencyKey: { kind: 'client', key: 'k2' } });
  await idle();
  const rowId = row(world);
  const later = await restarted(world, 5000);
  await later.clock.advance(1000);
  expect(originOf(later, rowId)).toEqual(gateway('k2'));
  expect(await repeated(later, 'k1')).toBe('');
});

test('a row in another conversation of the person, which Messages chose, is found after a restart too', async () => {
  const world = await started();
  world.messages.behave = ({ chatId }) => (chatId === null ? { kind: 'done' } : failed(-1728));
  const sending = world.send({ requestId: 'k1', idempotencyKey: { kind: 'client', key: 'k1' } });
  await idle();
  await world.clock.advance(3000);
  await sending;
  const later = await restarted(world, 5000);
  const rowId = row(later, { address: '-;ana@example.com' });
  await later.clock.advance(1000);
  expect(originOf(later, rowId)).toEqual(gateway('k1'));
});

test('a ghost among the parts of a message does not take the file of the next message', async () => {
  const attachments = [join(folder, 'plan.pdf')];
  for (const path of attachments) writeFileSync(path, 'x');
  const world = await started();
  await send(world, 'k1', [], { body: '', attachments });
  const file = { body: '', attachmentNames: ['plan.pdf'] };
  expect(await send(world, 'k2', [file], { body: '', attachments })).toMatchObject({ message: { id: '1' } });
  expect(await repeated(world, 'k1', { body: '', attachments })).toBe('');
});

test('two files with one name in a message have their rows in order, and the next message has its own', async () => {
  const attachments = ['one', 'two'].map((name) => join(folder, name, 'plan.png'));
  for (const path of attachments) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
  }
  const world = await started();
  const found: number[] = [];
  world.messages.behave = ({ content }) => {
    found.push(world.chat.rows.length);
    const name = 'attachment' in content ? (content.attachment.split('/').at(-1) ?? '') : '';
    // The row of a file comes after its run.
    world.clock.after(200, () => row(world, { body: '', attachmentNames: [name] }));
    return { kind: 'done' };
  };
  const sends = ['k1', 'k2'].map((key) => world.send({ requestId: key, body: '', attachments }));
  let isDone = false;
  const answers = Promise.all(sends).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await idle();
    await world.clock.advance(100);
  }
  expect((await answers).map(({ message }) => message.id)).toEqual(['1', '3']);
  // Each run begins once the runs before it have their rows.
  expect(found).toEqual([0, 1, 2, 3]);
  await world.clock.advance(3000);
  const origins = [1, 2, 3, 4].map((rowId) => originOf(world, rowId)?.by === 'gateway' && originOf(world, rowId));
  expect(origins.map((origin) => origin && origin.by === 'gateway' && origin.request_id)).toEqual([
    'k1',
    'k1',
    'k2',
    'k2',
  ]);
});

test('rows that Messages writes together after it has hung belong to their sends in order', async () => {
  const world = await started();
  await send(world, 'k1', []);
  expect(await send(world, 'k2', [{}, {}])).toMatchObject({ message: { id: '2' } });
  expect(await repeated(world, 'k1')).toBe('1');
  expect([originOf(world, 1), originOf(world, 2)]).toEqual([gateway('k1'), gateway('k2')]);
});

test('equal sends that wait for no row have theirs in order', async () => {
  const world = await started({ confirmMs: 0 });
  for (const key of ['k1', 'k2']) await send(world, key, []);
  row(world);
  await repeated(world, 'k1');
  row(world);
  expect([await repeated(world, 'k1'), await repeated(world, 'k2')]).toEqual(['1', '2']);
});

test('the row of a send is found after chat.db could not be read for a quarter of an hour', async () => {
  const world = await started();
  await send(world, 'k1', []);
  row(world);
  world.chat.isAway = true;
  await world.clock.advance(15 * MINUTE);
  world.chat.isAway = false;
  expect(await repeated(world, 'k1')).toBe('1');
});

test('rows written out of order belong to the sends that their dates show', async () => {
  const world = await started();
  const earlier = { datedMs: Math.floor(world.clock.now() / 1000) * 1000 };
  await send(world, 'k1', []);
  expect(await send(world, 'k2', [{}, earlier])).toMatchObject({ message: { id: '1' } });
  expect(await repeated(world, 'k1')).toBe('2');
});

test('a late row that is older than the next equal send belongs to the earlier one', async () => {
  const world = await started();
  const earlier = { datedMs: Math.floor(world.clock.now() / 1000) * 1000 };
  await send(world, 'k1', []);
  expect(await send(world, 'k2', [earlier])).toMatchObject({ confirmed: false });
  expect([await repeated(world, 'k1'), await repeated(world, 'k2')]).toEqual(['1', '']);
});

test('the clock being set back does not give a row to the ghost', async () => {
  const world = await started();
  await send(world, 'k1', []);
  world.clock.step(-2000);
  expect(await send(world, 'k2', [{}])).toMatchObject({ message: { id: '1' } });
  await send(world, 'k3', []);
  world.messages.behave = () => {
    world.clock.step(-3000);
    row(world);
    return { kind: 'done' };
  };
  const sending = world.send({ requestId: 'k4' });
  await idle();
  await world.clock.advance(3000);
  expect((await sending).message.id).toBe('2');
  expect(await repeated(world, 'k3')).toBe('');
});

test('equal texts of this service and of another device in one moment have no origin', async () => {
  const world = await started();
  expect(await send(world, 'k1', [{}, {}])).toMatchObject({ confirmed: true });
  await world.clock.advance(1000);
  expect([originOf(world, 1), originOf(world, 2)]).toEqual([undefined, undefined]);
  expect(originOf(await restarted(world), 1)).toBeUndefined();
  expect(await repeated(world, 'k1')).toBe('1');
  expect(originOf(world, row(world, { body: 'other' }))).toEqual({ by: 'elsewhere' });
});

test('an equal text of another device in another conversation, or later, leaves the origin certain', async () => {
  const world = await started();
  await send(world, 'k1', [{ address: '-;+15550111' }, {}]);
  await world.clock.advance(2000);
  const typed = row(world);
  await world.clock.advance(2000);
  expect([1, 2, typed].map((rowId) => originOf(world, rowId))).toEqual([
    { by: 'elsewhere' },
    gateway('k1'),
    { by: 'elsewhere' },
  ]);
});

test('a message that Messages wrote before it reported an error was sent', async () => {
  const world = await started();
  world.messages.behave = () => {
    row(world, { address: null });
    return failed(-10_000);
  };
  const sending = world.send({ requestId: 'k1' });
  await idle();
  world.chat.rows[0] = { ...(world.chat.rows[0] as OwnRow), address: `-;${ANA}` };
  await world.clock.advance(100);
  expect(await sending).toMatchObject({ confirmed: true, message: { id: '1' } });
});

test('a row that appears long after Messages reported an error is the send’s', async () => {
  const world = await started();
  world.messages.endWith(failed(-10_000));
  const failing = expect(world.send({ requestId: 'r-1' })).rejects.toMatchObject({ code: 'send_outcome_unknown' });
  await idle();
  await world.clock.advance(1000);
  await failing;
  expect(originOf(world, row(world))).toEqual({ by: 'gateway', request_id: 'r-1' });
});

test('a send that was cancelled before its run leaves no part behind', async () => {
  const world = await started();
  const check = (): never => {
    throw new Error('cancelled');
  };
  await expect(world.send({ check })).rejects.toThrow('cancelled');
  expect(world.sentParts.open()).toEqual([]);
  expect(originOf(world, row(world))).toEqual({ by: 'elsewhere' });
});

test('equal sends to two people without a conversation each have the row of their own person', async () => {
  const world = await started();
  const [ben, cho] = [{ recipient: '+1 555 0998' }, { recipient: 'any;-;+15550999' }];
  expect((await send(world, 'k1', [], ben)).confirmed).toBe(false);
  const rows = [{ address: '-;+15550999' }, { address: '-;+15550998' }];
  expect(await send(world, 'k2', rows, cho)).toMatchObject({ confirmed: true, message: { id: '1' } });
  expect([await repeated(world, 'k1', ben), await repeated(world, 'k2', cho)]).toEqual(['2', '1']);
});
