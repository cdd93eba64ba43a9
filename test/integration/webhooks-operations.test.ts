import { describe, expect, test } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { FeedReader } from '../../src/core/model/ports/feed-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { longWaits } from '../support/long-waits.ts';
import { MemoryLog } from '../support/memory-log.ts';
import { hook, newReceiver, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

describe('removing a webhook', () => {
  test('ends a running attempt: nothing is sent afterwards', async () => {
    // Time does not pass: no limit ends the attempt.
    const fixture = new WebhookFixture(undefined, { posterClock: new FakeClock() });
    let closed = false;
    const receiver = await newReceiver((response) => {
      response.on('close', () => {
        closed = true;
      });
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    await waitFor(() => closed);
    const other = await newReceiver();
    fixture.dispatcher.add(hook(other.url));
    fixture.publish(6, 9);
    await eventually(() => expect(other.deliveries.length).toBe(4));
    expect(receiver.deliveries).toHaveLength(1);
    expect(fixture.dispatcher.get(id)).toBeUndefined();
  });

  test('ends a waiting retry', async () => {
    const waits = longWaits();
    const fixture = new WebhookFixture(waits.ms);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(waits.begun).toBe(1));
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    expect(receiver.deliveries).toHaveLength(1);
  });

  test('ends a test event under way: nothing is sent afterwards, and who asked gets an answer', async () => {
    // The clock stands still, so that no time limit ends the attempt.
    const fixture = new WebhookFixture(undefined, { posterClock: new FakeClock() });
    let closed = false;
    const receiver = await newReceiver((response) => {
      response.on('close', () => {
        closed = true;
      });
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = expect(fixture.dispatcher.test(id)).rejects.toMatchObject({ status: 404 });
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(await fixture.dispatcher.remove(id)).toBe(true);
    await tested;
    await waitFor(() => closed);
  });

  test('leaves no reader of the events behind, nor does a replay', async () => {
    let readers = 0;
    class CountingFeed extends Feed {
      override resume(...args: Parameters<Feed['resume']>): FeedReader {
        const reader = super.resume(...args);
        readers += 1;
        return {
          ...reader,
          close() {
            readers -= 1;
            reader.close();
          },
        };
      }
    }
    const feed = new CountingFeed({
      channel: new Channel(),
      messages: new MemoryLog(),
      clock: systemClock,
      log: collectingLog(),
    });
    const fixture = new WebhookFixture([10, 10], { feed });
    const { id } = fixture.dispatcher.add(hook('http://127.0.0.1:9/'));
    fixture.dispatcher.replay(id, rowOffset(0));
    expect(readers).toBe(1);
    await fixture.dispatcher.remove(id);
    expect(readers).toBe(0);
  });

  test('that nobody registered says so', async () => {
    const fixture = new WebhookFixture();
    expect(await fixture.dispatcher.remove('unknown')).toBe(false);
    expect(() => fixture.dispatcher.deliveries('unknown')).toThrow('no webhook');
    await expect(fixture.dispatcher.test('unknown')).rejects.toMatchObject({ status: 404 });
  });
});

describe('a test event', () => {
  test('is sent once, and the response has the answer of the receiver', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver((response) => void response.writeHead(500).end('out of order'));
    const { id } = fixture.dispatcher.add(hook(receiver.url, { secret: 's' }));
    const result = await fixture.dispatcher.test(id);
    expect(result).toMatchObject({ delivered: false, status: 500, answer: 'out of order' });
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.deliveries[0]?.event).toEqual({ type: 'webhook.test', data: { webhook_id: id } });
    expect(receiver.deliveries[0]?.headers['x-webhook-signature']).toMatch(/^sha256=/);
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([
      { id: result.id, event: 'webhook.test', outcome: 'dropped' },
    ]);
    expect(fixture.store.get(id)?.offset.rowId).toBe(0);
  });
});

describe('a replay', () => {
  test('goes back durably, live events behind it, under the same delivery ids', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(5));
    expect(fixture.dispatcher.replay(id, rowOffset(2)).offset.rowId).toBe(2);
    expect(fixture.store.get(id)?.offset.rowId).toBe(2);
    fixture.publish(6, 7);
    await eventually(() => expect(receiver.deliveries.length).toBe(10));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 4, 5, 3, 4, 5, 6, 7]);
    const ids = receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
    expect(ids.slice(2, 5)).toEqual(ids.slice(5, 8));
  });

  test('holds also when an attempt was under way', async () => {
    const fixture = new WebhookFixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => void response.end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(2));
    receiver.answerWith((response) => {
      answer = () => void response.end();
    });
    fixture.publish(3, 3);
    await waitFor(() => answer);
    fixture.dispatcher.replay(id, rowOffset(0));
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(receiver.deliveries.length).toBe(6));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 1, 2, 3]);
    await eventually(() => expect(fixture.store.get(id)?.offset.rowId).toBe(3));
  });

  test('ahead of where the webhook is, is refused', () => {
    const fixture = new WebhookFixture();
    fixture.publish(1, 5);
    const { id } = fixture.dispatcher.add(hook('http://127.0.0.1:9/'));
    for (const after of [6, 2 ** 60]) {
      expect(() => fixture.dispatcher.replay(id, rowOffset(after))).toThrow(expect.objectContaining({ status: 400 }));
    }
  });
});

describe('closing', () => {
  test('finishes the running attempt and begins no other one', async () => {
    const fixture = new WebhookFixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await waitFor(() => answer);
    const closed = fixture.dispatcher.close(10_000);
    answer?.();
    await closed;
    expect(fixture.store.get(id)?.offset.rowId).toBe(1);
    expect(receiver.deliveries).toHaveLength(1);
    expect(() => fixture.dispatcher.add(hook(receiver.url))).toThrow('shutting down');
  });

  test('ends an attempt that takes longer than the deadline; the event comes again', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver(() => undefined);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 5);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    await fixture.dispatcher.close(20);
    expect(fixture.store.get(id)?.offset.rowId).toBe(0);
  });

  test('ends a test event that takes longer than the deadline, which is neither delivered nor dropped', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver(() => undefined);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = expect(fixture.dispatcher.test(id)).rejects.toMatchObject({ code: 'shutting_down' });
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    await fixture.dispatcher.close(20);
    await tested;
    expect(fixture.dispatcher.deliveries(id)).toEqual([]);
  });

  test('keeps the record of a test event that ends meanwhile', async () => {
    const fixture = new WebhookFixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    const tested = fixture.dispatcher.test(id);
    await waitFor(() => answer);
    const closed = fixture.dispatcher.close(10_000);
    answer?.();
    await closed;
    expect(fixture.store.deliveries(id)).toMatchObject([{ event: 'webhook.test', outcome: 'delivered' }]);
    await tested;
  });
});
