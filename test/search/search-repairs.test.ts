import { expect, test } from '@jest/globals';
import type { LogEntry } from '../../src/core/model/event.ts';
import type { RowUpdate } from '../../src/features/search/index/index-writer.ts';
import { Pace } from '../../src/features/search/index/pace.ts';
import { Updates, type UpdatesParts } from '../../src/features/search/index/updates.ts';
import { WriteLock } from '../../src/features/search/index/write-lock.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('repairs that find no room are dropped, also when more than the most are waiting', async () => {
  const written: RowUpdate[] = [];
  const parts = {
    state: { position: () => ({ rowId: 0, change: 0 }), seen: () => ({ offset: { rowId: 0 } }), see: () => undefined },
    sqlite: { transaction: (work: () => unknown) => work() },
    pace: new Pace(new FakeClock()),
    lock: new WriteLock(),
    put: async (updates: readonly RowUpdate[]) => {
      written.push(...updates);
      return { done: updates.length, gone: [] };
    },
  };
  const updates = new Updates(parts as unknown as UpdatesParts);
  const keys = Array.from({ length: 1000 }, (_, id) => ({ id, row: id }));
  updates.repair(keys);
  const handled = updates.handle({ rowId: 2000, event: { type: 'message.updated' } } as LogEntry);
  updates.repair(keys);
  await handled;
  await updates.close();
  expect(written).toHaveLength(1001);
});
