import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { hook, newReceiver, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

const REFUSED = { status: 503, error: 'The receiver answered 503.' };

describe('the attempts of a delivery', () => {
  test('say what became of each, and how the receiver answered the last one', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(503).end('not ready'));
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(1));
    receiver.answerWith((response) => void response.end('a secret of the receiver'));
    fixture.publish(2, 2);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(2));
    const [second, first] = fixture.dispatcher.detailedDeliveries(id);
    expect(first).toMatchObject({ outcome: 'dropped', attempts: 3, tries: [REFUSED, REFUSED, REFUSED] });
    expect(first?.answer).toBe('not ready');
    expect(second).toMatchObject({ outcome: 'delivered', tries: [{ status: 200, error: null }] });
    expect(second).not.toHaveProperty('answer');
    // None of it is in the plain list, the log or the file.
    expect(fixture.dispatcher.deliveries(id)[1]).not.toHaveProperty('tries');
    expect(JSON.stringify([fixture.log.lines, fixture.store.deliveries(id)])).not.toContain('not ready');
  });

  test('are gone after a restart, except of deliveries that had only one', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(503).end('not ready'));
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(1));
    await fixture.dispatcher.test(id);
    await fixture.dispatcher.close(0);
    const [tested, dropped] = fixture.restart().detailedDeliveries(id);
    expect(tested).toMatchObject({ event: 'webhook.test', tries: [REFUSED] });
    expect(dropped).toMatchObject({ attempts: 3 });
    expect(dropped).not.toHaveProperty('tries');
    expect(dropped).not.toHaveProperty('answer');
  });

  test('hold at most 2 KB of an answer', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(500).end('x'.repeat(100_000)));
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    await fixture.dispatcher.test(id);
    expect(fixture.dispatcher.detailedDeliveries(id)[0]?.answer).toBe('x'.repeat(2048));
  });

  test('of what is held come first, the newest ten of them, until it is delivered', async () => {
    const clock = new FakeClock();
    const fixture = new WebhookFixture([1, 1], { clock });
    const receiver = await newReceiver((response) => void response.writeHead(503).end('not ready'));
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    expect(fixture.dispatcher.deliveries(id)).toEqual([]);
    expect(fixture.dispatcher.detailedDeliveries(id)).toMatchObject([
      { outcome: 'held', event: 'message.received', row_id: 1, attempts: 3, answer: 'not ready' },
    ]);
    let attempts = 3;
    for (const waitS of [10, 20, 40, 80, 160, 300, 300, 300, 300]) {
      await eventually(() => expect(clock.pending).toBeGreaterThan(0));
      await clock.advance(waitS * 1000);
      attempts += 1;
      await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(attempts));
    }
    expect(fixture.dispatcher.detailedDeliveries(id)[0]?.tries).toHaveLength(10);
    receiver.answerWith((response) => void response.end());
    await eventually(() => expect(clock.pending).toBeGreaterThan(0));
    await clock.advance(300_000);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(1));
    const [delivered, ...others] = fixture.dispatcher.detailedDeliveries(id);
    expect(others).toEqual([]);
    expect(delivered).toMatchObject({ outcome: 'delivered', attempts: 13 });
    expect(delivered?.tries?.at(-1)).toMatchObject({ status: 200, error: null });
    expect(delivered).not.toHaveProperty('answer');
  });
});

describe('sending one delivery again', () => {
  test('reads the event again, posts it once under the same id, and moves nothing', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(503).end('not ready'));
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 3);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 3, dropped: 3 }));
    const wanted = fixture.dispatcher.deliveries(id).find(({ row_id: row }) => row === 2);
    const before = receiver.deliveries.length;
    expect(await fixture.dispatcher.resend(id, wanted?.id ?? '')).toMatchObject({ delivered: false, ...REFUSED });
    expect(fixture.dispatcher.status(id).dropped).toBe(3);
    receiver.answerWith((response) => void response.writeHead(204).end());
    expect(await fixture.dispatcher.resend(id, wanted?.id ?? '')).toMatchObject({ id: wanted?.id, delivered: true });
    expect(rowsAt(receiver).slice(before)).toEqual([2, 2]);
    expect(receiver.deliveries.at(-1)?.headers['x-webhook-delivery']).toBe(wanted?.id);
    // A replay of what was dropped does not deliver it again.
    expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 3, behind: 0, dropped: 2, state: 'healthy' });
    expect(fixture.dispatcher.deliveries(id)[0]).toMatchObject({ id: wanted?.id, outcome: 'delivered', attempts: 1 });
  });

  test('counts as its delivery, also if it succeeds while a replay of it fails', async () => {
    const fixture = new WebhookFixture([]);
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 1, dropped: 1 }));
    let fail = (): void => undefined;
    receiver.answerWith((response) => {
      fail = () => void response.writeHead(503).end();
    });
    fixture.dispatcher.replay(id, 'dropped');
    await eventually(() => expect(receiver.deliveries).toHaveLength(2));
    receiver.answerWith((response) => void response.end());
    const [dropped] = fixture.dispatcher.deliveries(id);
    expect(await fixture.dispatcher.resend(id, dropped?.id ?? '')).toMatchObject({ delivered: true });
    fail();
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(3));
    expect(fixture.dispatcher.status(id).dropped).toBe(0);
  });

  test('is refused for a test, for a row that is gone, and for what was never delivered', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(1));
    const [of] = fixture.dispatcher.deliveries(id);
    const tested = await fixture.dispatcher.test(id);
    const refused = async (delivery: string) =>
      expect(fixture.dispatcher.resend(id, delivery)).rejects.toMatchObject({ code: 'delivery_not_found' });
    await refused(tested.id);
    fixture.messages.rows.delete(1);
    await refused(of?.id ?? '');
    await refused('never');
    await expect(fixture.dispatcher.resend('unknown', 'x')).rejects.toMatchObject({ code: 'webhook_not_found' });
    expect(receiver.deliveries).toHaveLength(2);
  });

  test('waits for no other: a second one meanwhile is refused', async () => {
    const fixture = new WebhookFixture(undefined, { posterClock: new FakeClock() });
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.deliveries(id)).toHaveLength(1));
    const [of] = fixture.dispatcher.deliveries(id);
    let answer = (): void => undefined;
    receiver.answerWith((response) => {
      answer = () => void response.end();
    });
    const sent = fixture.dispatcher.resend(id, of?.id ?? '');
    await eventually(() => expect(receiver.deliveries).toHaveLength(2));
    await expect(fixture.dispatcher.test(id)).rejects.toMatchObject({ code: 'test_in_progress' });
    answer();
    expect(await sent).toMatchObject({ delivered: true });
    expect(fixture.dispatcher.replay(id, rowOffset(0)).offset.rowId).toBe(0);
  });
});
