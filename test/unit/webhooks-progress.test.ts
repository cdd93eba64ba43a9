import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { WebhookStore } from '../../src/core/model/ports/webhooks-ports.ts';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { ProgressBatcher } from '../../src/core/webhooks/progress-batcher.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';

const record = (rowId: number): DeliveryRecord => ({
  id: `d${rowId}`,
  at: '2026-01-01T00:00:00Z',
  event: 'message.received',
  row_id: rowId,
  outcome: 'delivered',
  attempts: 1,
  status: 200,
  error: null,
  duration_ms: 1,
});

/** Creates a batcher over a store that records its calls, or fails. */
function newBatcher(options: { readonly fails?: boolean } = {}) {
  const clock = new FakeClock();
  const log = collectingLog();
  const stored: unknown[] = [];
  const store: Pick<WebhookStore, 'advance'> = {
    advance(steps) {
      if (options.fails === true) throw new Error('disk full');
      stored.push(steps);
    },
  };
  return { batcher: new ProgressBatcher({ store, clock, log }), clock, log, stored };
}

describe('the progress batcher', () => {
  test('stores what all webhooks finish within 20 ms in one go', async () => {
    const { batcher, clock, stored } = newBatcher();
    batcher.note('a', rowOffset(1), record(1));
    batcher.note('b', rowOffset(7));
    batcher.note('a', rowOffset(2), record(2));
    await clock.advance(19);
    expect(stored).toEqual([]);
    await clock.advance(1);
    const a = { id: 'a', offset: rowOffset(2), records: [record(1), record(2)] };
    expect(stored).toEqual([[a, { id: 'b', offset: rowOffset(7), records: [] }]]);
    expect(clock.pending).toBe(0);
  });

  test('does not wait when four deliveries of one webhook are done', async () => {
    const { batcher, stored, clock } = newBatcher();
    for (const rowId of [1, 2, 3, 4]) batcher.note('a', rowOffset(rowId), record(rowId));
    await new Promise<void>((resolve) => void setImmediate(resolve));
    expect(stored).toMatchObject([[{ id: 'a', offset: rowOffset(4) }]]);
    expect(clock.pending).toBe(0);
  });

  test('does not move a webhook back to where it was before it was put elsewhere', () => {
    const { batcher, stored } = newBatcher();
    batcher.note('a', rowOffset(1001), record(1001));
    batcher.move('a', rowOffset(20));
    batcher.move('b', rowOffset(5));
    batcher.flush();
    expect(stored).toEqual([[{ id: 'a', offset: rowOffset(20), records: [record(1001)] }]]);
  });

  test('reports that it cannot store, keeps the records and tries again', async () => {
    const options = { fails: true };
    const { batcher, log, clock, stored } = newBatcher(options);
    batcher.note('a', rowOffset(1), record(1));
    batcher.flush();
    batcher.note('a', rowOffset(2), record(2));
    await clock.advance(1000);
    expect(log.lines.map(({ level }) => level)).toEqual(['error', 'error']);
    options.fails = false;
    await clock.advance(1000);
    expect(stored).toEqual([[{ id: 'a', offset: rowOffset(2), records: [record(1), record(2)] }]]);
    expect(clock.pending).toBe(0);
  });

  test('keeps the newest hundred records while it cannot store', async () => {
    const options = { fails: true };
    const { batcher, clock, stored } = newBatcher(options);
    for (let rowId = 1; rowId <= 150; rowId += 1) batcher.note('a', rowOffset(rowId), record(rowId));
    batcher.flush();
    options.fails = false;
    await clock.advance(1000);
    const records = Array.from({ length: 100 }, (_, index) => record(index + 51));
    expect(stored).toEqual([[{ id: 'a', offset: rowOffset(150), records }]]);
  });
});
