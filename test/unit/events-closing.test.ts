import { expect, test } from '@jest/globals';
import { eventPipeline, look } from '../support/event-pipeline.ts';

test('a publisher that closes publishes the batch under way, and leaves the others to the next start', async () => {
  const pipeline = eventPipeline();
  const { publisher, messages, feed, cursor } = pipeline;
  publisher.start();
  await look(pipeline);
  messages.addMany(1, 1000);
  const closing = new Promise<void>((resolve) => {
    feed.live(() => resolve(publisher.close()));
  });
  await look(pipeline);
  await pipeline.clock.advance(250);
  await closing;
  expect([feed.lastPublished().rowId, cursor.saved.at(-1)?.offset.rowId]).toEqual([256, 256]);
});
