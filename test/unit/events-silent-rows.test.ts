import { expect, test } from '@jest/globals';
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
