import { expect, test } from '@jest/globals';
import type { LogEntry } from '../../src/core/model/event.ts';
import type { DetailedDelivery } from '../../src/core/model/webhook.ts';
import { withRows } from '../../src/core/webhooks/delivered-rows.ts';
import { deliveryId } from '../../src/core/webhooks/delivery-record.ts';

const WEBHOOK = '3f2a0000-0000-4000-8000-000000000000';
const delivery = (rowId: number, at: string, more: Partial<DetailedDelivery> = {}): DetailedDelivery => ({
  id: deliveryId(WEBHOOK, `guid ${rowId}`),
  at,
  event: 'message.received',
  row_id: rowId,
  outcome: 'dropped',
  attempts: 3,
  status: 500,
  error: 'no',
  duration_ms: 1,
  ...more,
});
const rowNow = (rowId: number): LogEntry | undefined =>
  rowId > 2
    ? undefined
    : ({
        rowId,
        guid: `guid ${rowId}`,
        event: {
          type: 'message.received',
          data: { id: String(rowId), conversation_id: 'any;-;+15550100', body: `${'👋'.repeat(150)} Hello` },
        },
      } as unknown as LogEntry);

test('a delivery says what its event was about, and a dropped one when it was delivered after all', () => {
  const [, again, failed, first, gone, tested, replaced] = withRows(
    [
      delivery(1, '6', { outcome: 'delivered' }),
      delivery(1, '5', { outcome: 'delivered' }),
      delivery(2, '4'),
      delivery(1, '3'),
      delivery(9, '2'),
      delivery(1, '1', { event: 'webhook.test' }),
      delivery(1, '0', { id: 'of another chat.db' }),
    ],
    WEBHOOK,
    rowNow,
  );
  expect(again?.redelivered_at).toBeUndefined();
  expect(first).toMatchObject({ outcome: 'dropped', redelivered_at: '5' });
  expect(failed).not.toHaveProperty('redelivered_at');
  expect(failed?.message).toEqual({ id: '2', conversation_id: 'any;-;+15550100', text: '👋'.repeat(100) });
  expect(gone?.message).toBeNull();
  expect(tested).not.toHaveProperty('message');
  expect(replaced?.message).toBeNull();
});
