import { expect, test } from '@jest/globals';
import { eventPipeline, look, nothing } from '../support/event-pipeline.ts';
import { arrival } from '../support/memory-log.ts';

test('an own row is read again after a stop between reading it and the clock, and reported as sent', async () => {
  const pipeline = eventPipeline();
  const { publisher, feed, messages, clock } = pipeline;
  publisher.start();
  await look(pipeline);
  const reader = feed.live(nothing);
  const unmarked = arrival(1, { lacksHandle: true });
  messages.add(unmarked);
  await look(pipeline);

  const read = messages.pendingRows.bind(messages);
  let stops = 1;
  messages.pendingRows = (after, limit) => {
    const rows = read(after, limit);
    if (stops > 0) {
      stops -= 1;
      clock.pause(1000);
      const { event } = unmarked;
      const data = { ...event.data, is_from_me: true };
      messages.add(arrival(1, { event: { ...event, type: 'message.sent', data } as typeof event }));
    }
    return rows;
  };
  await look(pipeline);
  await clock.advance(0);
  expect(stops).toBe(0);
  expect(reader.take(10).entries.map(({ event }) => event.type)).toEqual(['message.sent']);
});
