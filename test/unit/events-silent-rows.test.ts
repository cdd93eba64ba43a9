import { expect, test } from '@jest/globals';
import { LateJoins } from '../../src/core/log/late-joins.ts';
import type { Event, PendingRow } from '../../src/core/model/event.ts';
import type { Change } from '../../src/core/model/ports/changes-ports.ts';
import { eventPipeline, ids, look, nothing } from '../support/event-pipeline.ts';
import { arrival } from '../support/memory-log.ts';

test('a vote is no event, and the cursor passes it', async () => {
  const pipeline = eventPipeline();
  pipeline.publisher.start();
  await look(pipeline);
  const reader = pipeline.feed.live(nothing);
  pipeline.messages.add(arrival(1), arrival(2, { isSilent: true }), arrival(3), arrival(4, { isSilent: true }));
  await look(pipeline);
  expect(ids(reader.take(10).entries)).toEqual([1, 3]);
  expect(pipeline.cursor.saved.at(-1)?.offset.rowId).toBe(4);
  expect(reader.isCaughtUp()).toBe(true);
});

test('a vote that nothing follows does not make health say that events are behind', async () => {
  const pipeline = eventPipeline();
  pipeline.publisher.start();
  await look(pipeline);
  pipeline.messages.add(arrival(1, { isSilent: true }));
  await look(pipeline);
  expect(pipeline.publisher.warning()).toBeUndefined();
  await pipeline.clock.advance(60_000);
  expect(pipeline.publisher.warning()).toBeUndefined();
});

test('only messages without a conversation that still exist are reported as joined later', () => {
  const unjoined = (rowId: number, { event } = arrival(rowId)): PendingRow =>
    arrival(rowId, { event: { ...event, data: { ...event.data, conversation_id: '' } } as Event });
  const reaction = { type: 'reaction.added', data: { conversation_id: '' } } as unknown as Event;
  const joins = new LateJoins();
  joins.note([unjoined(1), unjoined(2), arrival(3, { event: reaction })]);
  const rows = new Map([1, 3].map((rowId) => [rowId, arrival(rowId)]));
  const take = () => joins.take({ entries: ({ rowId }) => [rows.get(rowId + 1) ?? []].flat() }).map(numberOf);
  expect(take()).toEqual([1]);
  rows.set(2, arrival(2));
  expect(take()).toEqual([]);
});

const numberOf = (change: Change): number | undefined => ('rowId' in change ? change.rowId : undefined);
