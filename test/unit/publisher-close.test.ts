import { expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventPipeline, look } from '../support/event-pipeline.ts';

test('the publisher stops within a backlog when it is closed, and publishes nothing afterwards', async () => {
  const pipeline = eventPipeline();
  pipeline.messages.addMany(1, 5000);
  pipeline.cursor.save({ offset: rowOffset(0), guid: '', inode: '1' });
  pipeline.publisher.start();
  pipeline.publisher.publishPending();
  const { length: batches } = pipeline.cursor.saved;
  await pipeline.publisher.close();
  await look(pipeline);
  expect(pipeline.cursor.saved).toHaveLength(batches);
  expect(pipeline.publisher.cursor?.offset.rowId).toBeLessThan(5000);
});
