import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { ChangeStream } from '../../src/core/log/change-stream.ts';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { encodeOffset, rowOffset } from '../../src/core/model/offset.ts';
import { problem } from '../../src/core/model/problems.ts';
import type { WebhookEventType } from '../../src/core/model/webhook.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { changeStore } from '../../src/core/state/changes-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { DeliveredEvents } from '../../src/core/webhooks/delivered-events.ts';
import { Dispatcher } from '../../src/core/webhooks/dispatcher.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { plainJson } from '../support/event-json.ts';
import { eventually } from '../support/eventually.ts';
import { collectingLog } from '../support/log.ts';
import { MemoryLog } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { newReceiver } from '../support/webhook-fixture.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const folder = temporaryFolder();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
let files = 0;

/** Creates five published rows, a change log, and a dispatcher that is not started yet. */
function fixture(isAllowed = true) {
  files += 1;
  const state = openStateDatabase(join(folder, `state-${files}.db`));
  closers.push(() => state.close());
  const messages = new MemoryLog();
  messages.addMany(1, 5);
  const channel = new Channel();
  const changes = changeStore(state);
  const stream = new ChangeStream({ log: changes, messages });
  const control = {
    noteAsked() {
      if (!isAllowed) throw problem('changes_disabled');
    },
  };
  const log = collectingLog();
  const feed = new Feed({ channel, changes: { stream, control }, messages, clock: systemClock, log });
  channel.restart(rowOffset(5));
  if (isAllowed) changes.begin(0, new Map());
  stream.restart(5);
  const store = webhookStore(state, systemClock);
  const poster = new Poster({ version: '1', clock: systemClock, retryWaitsMs: [10, 10] });
  const rowNow = (rowId: number): LogEntry | undefined => messages.rows.get(rowId);
  const events = new DeliveredEvents({
    ...{ feed, rowNow, json: plainJson(), ready: () => undefined },
    silentRows: () => 0,
  });
  const dispatcher = new Dispatcher({ feed, events, store, poster, clock: systemClock, log });
  closers.push(() => dispatcher.close(0));
  /** Records a change of a row at that time. */
  const update = (rowId: number, atMs: number): void => {
    changes.record([{ kind: 'updated', rowId, changes: ['edited'] }], new Map(), atMs);
    while (stream.publishChanges());
  };
  return { messages, channel, stream, changes, store, dispatcher, feed, log, update };
}

const hook = (url: string, events: readonly WebhookEventType[]) => ({
  url,
  events,
  secret: null,
  include: includeSet([]),
});

test('a webhook that is behind the oldest kept change gets one event to read everything again', async () => {
  const { store, dispatcher, update, changes, stream } = fixture();
  const receiver = await newReceiver();
  store.add(hook(receiver.url, ['message.removed', 'message.updated']), { rowId: 5, change: 0 });
  update(1, 0);
  update(2, 0);
  update(3, 31 * DAY_MS);
  expect(changes.floor()).toBe(2);
  // As after a start of the service: before it, the channel still holds them.
  stream.restart(5);
  dispatcher.start();
  await eventually(() => expect(receiver.deliveries).toHaveLength(2));
  expect(receiver.deliveries.map(({ event }) => [event.type, event.data.id ?? event.data])).toEqual([
    ['messages.changed', { first_id: '1', last_id: '5', count: 2 }],
    ['message.updated', '3'],
  ]);
  update(4, 31 * DAY_MS);
  await eventually(() => expect(receiver.deliveries).toHaveLength(3));
});

test('a webhook without changes skips them all, and one that names removals gets those and ranges', async () => {
  const { dispatcher, update, changes, stream } = fixture();
  const [rows, removals] = [await newReceiver(), await newReceiver()];
  dispatcher.add(hook(rows.url, ['message.received']));
  const { id } = dispatcher.add(hook(removals.url, ['message.removed']));
  update(1, 0);
  changes.record([{ kind: 'removed', rowId: 2, guid: 'G2', conversationId: '' }], new Map(), 0);
  changes.record([{ kind: 'many', firstRowId: 1, lastRowId: 5, count: 5 }], new Map(), 0);
  while (stream.publishChanges());
  await eventually(() => expect(dispatcher.status(id)).toMatchObject({ row_id: 5, behind: 0 }));
  expect(removals.deliveries.map(({ event }) => event.type)).toEqual(['message.removed', 'messages.changed']);
  expect(rows.deliveries).toEqual([]);
});

test('a replay from an offset repeats changes under the same ids; from a row id it repeats rows alone', async () => {
  const { dispatcher, update, feed } = fixture();
  const receiver = await newReceiver();
  const { id } = dispatcher.add(hook(receiver.url, ['message.received', 'message.updated']));
  const ids = () => receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
  update(1, 0);
  update(2, 0);
  await eventually(() => expect(receiver.deliveries).toHaveLength(2));
  const after = { rowId: 5, change: 0, generation: feed.changeGeneration() };
  dispatcher.replay(id, after);
  await eventually(() => expect(receiver.deliveries).toHaveLength(4));
  expect(ids().slice(2)).toEqual(ids().slice(0, 2));
  // A delivery is done once its answer has arrived.
  await eventually(() => expect(dispatcher.status(id).behind).toBe(0));
  dispatcher.replay(id, { rowId: 3 });
  await eventually(() => expect(receiver.deliveries).toHaveLength(6));
  expect(receiver.deliveries.slice(4).map(({ event }) => [event.type, event.data.id])).toEqual([
    ['message.received', '4'],
    ['message.received', '5'],
  ]);
  expect(() => dispatcher.replay(id, { ...after, change: 3 })).toThrow(expect.objectContaining({ status: 410 }));
  expect(() => dispatcher.replay(id, { rowId: 6 })).toThrow(expect.objectContaining({ status: 400 }));
  expect(receiver.deliveries[0]?.event).toHaveProperty(
    'offset',
    encodeOffset({ rowId: 5, change: 1 }, after.generation),
  );
});

test('a replay from an offset of a client with changes repeats rows to a webhook without', async () => {
  const { dispatcher, update, feed } = fixture();
  const receiver = await newReceiver();
  const { id } = dispatcher.add(hook(receiver.url, ['message.received']));
  update(1, 0);
  dispatcher.replay(id, { rowId: 3, change: 1, generation: feed.changeGeneration() });
  await eventually(() => expect(receiver.deliveries.map(({ event }) => event.data.id)).toEqual(['4', '5']));
});

test('a webhook that wants no more changes drops a change that it holds', async () => {
  const { dispatcher, update } = fixture();
  const receiver = await newReceiver((response) => void response.writeHead(503).end());
  const { id } = dispatcher.add({ ...hook(receiver.url, ['message.updated']), on_failure: 'hold' });
  update(1, 0);
  await eventually(() => expect(dispatcher.status(id).state).toBe('held'));
  dispatcher.change(id, { events: ['message.received'] });
  expect(dispatcher.status(id)).toMatchObject({ state: 'healthy', held: null, behind: 0 });
});

test('changes that were dropped are kept by a replay from a row id, and gone once the log no longer has them', async () => {
  const { dispatcher, update, stream } = fixture();
  const receiver = await newReceiver((response) => void response.writeHead(500).end());
  const { id } = dispatcher.add(hook(receiver.url, ['message.updated']));
  update(5, 0);
  update(4, 0);
  await eventually(() => expect(dispatcher.status(id).dropped).toBe(2));
  dispatcher.replay(id, { rowId: 3 });
  expect(dispatcher.status(id).dropped).toBe(2);
  receiver.answerWith((response) => void response.end());
  update(1, 31 * DAY_MS);
  await eventually(() => expect(dispatcher.deliveries(id)[0]?.outcome).toBe('delivered'));
  // As after a start of the service: before it, the channel still holds them.
  stream.restart(5);
  dispatcher.replay(id, 'dropped');
  await eventually(() => expect(dispatcher.status(id).dropped).toBe(0));
  expect(dispatcher.deliveries(id)).toContainEqual(expect.objectContaining({ outcome: 'gone', row_id: 5 }));
});

test('a webhook that begins to ask for changes skips earlier ones, although its progress could not be stored', async () => {
  const { dispatcher, store, update, messages, channel } = fixture();
  const receiver = await newReceiver();
  const { id } = dispatcher.add(hook(receiver.url, ['message.received']));
  const advance = store.advance.bind(store);
  store.advance = () => {
    throw new Error('disk full');
  };
  update(1, 0);
  messages.addMany(6, 6);
  channel.publish(messages.entries(rowOffset(5), rowOffset(6), 1));
  await eventually(() => expect(dispatcher.status(id).row_id).toBe(6));
  dispatcher.change(id, { events: ['message.received', 'message.updated'] });
  store.advance = advance;
  expect(dispatcher.status(id).behind).toBe(0);
  expect(store.get(id)?.offset).toEqual({ rowId: 6, change: 1 });
});

test('while changes are off no webhook for them can be registered, and an earlier one gets new rows and a line in the log', async () => {
  const { dispatcher, store, messages, channel, log } = fixture(false);
  const receiver = await newReceiver();
  expect(() => dispatcher.add(hook(receiver.url, ['message.updated']))).toThrow(
    expect.objectContaining({ code: 'changes_disabled' }),
  );
  expect(store.list()).toEqual([]);
  store.add(hook(receiver.url, ['message.received', 'message.updated']), rowOffset(5));
  dispatcher.start();
  messages.addMany(6, 6);
  channel.publish(messages.entries(rowOffset(5), rowOffset(6), 1));
  await eventually(() => expect(receiver.deliveries).toHaveLength(1));
  expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('a webhook with changes waits while chat.db is away, and continues by itself', async () => {
  const { dispatcher, store, messages, stream, changes, update } = fixture();
  const receiver = await newReceiver();
  store.add(hook(receiver.url, ['message.updated']), { rowId: 5, change: 0 });
  // As at a start before chat.db was first read.
  changes.end();
  stream.restart(5);
  messages.isAway = true;
  dispatcher.start();
  messages.isAway = false;
  changes.begin(0, new Map());
  stream.restart(5);
  update(1, 0);
  await eventually(() => expect(receiver.deliveries).toHaveLength(1));
});
