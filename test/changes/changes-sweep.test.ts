import { expect, test } from '@jest/globals';
import { MemoryChangeStore } from '../support/changes/memory-change-store.ts';
import { ModelChat } from '../support/changes/model-chat.ts';
import { ModelService } from '../support/changes/model-service.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('a row that is deleted while the first sweep reads its block is removed once', async () => {
  const chat = new ModelChat();
  for (let row = 0; row < 3; row += 1) chat.insert();
  const store = new MemoryChangeStore();
  const clock = new FakeClock();
  const service = new ModelService({ chat, store, clock, onCall: () => {}, lateByMs: 5000 });
  service.start();
  await clock.advance(0);
  service.feed.resolve(undefined, { changes: true });
  await clock.advance(1000);
  // The sweep has read the block, but its answer has not arrived.
  chat.remove(2);
  service.notice();
  await clock.advance(5000);
  service.notice();
  await clock.advance(5000);
  expect(store.changes(0, 100, 100).map(({ kind }) => kind)).toEqual(['removed']);
});
