import { describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { PendingRow } from '../../src/core/model/event.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { arrival } from '../support/memory-log.ts';
import { hook, newReceiver, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

describe('a webhook that holds', () => {
  function held() {
    const clock = new FakeClock();
    return { clock, fixture: new WebhookFixture([1, 1], { clock }) };
  }

  test('keeps its place, counts its attempts on and waits from 10 s to 5 min between them', async () => {
    const { clock, fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    expect(fixture.dispatcher.status(id)).toMatchObject({
      state: 'held',
      row_id: 0,
      behind: 2,
      held: { row_id: 1, error: 'The receiver answered 503.', since: '2026-01-02T03:04:05Z' },
    });
    let attempts = 3;
    for (const waitS of [10, 20, 40, 80, 160, 300, 300]) {
      await eventually(() => expect(clock.pending).toBeGreaterThan(0));
      await clock.advance(waitS * 1000 - 1);
      expect(receiver.deliveries).toHaveLength(attempts);
      await clock.advance(1);
      attempts += 1;
      await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(attempts));
    }
    expect(fixture.dispatcher.status(id).held?.since).toBe('2026-01-02T03:04:05Z');
    expect(fixture.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    receiver.answerWith((response) => void response.end());
    await clock.advance(300_000);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', behind: 0 }));
    const ofFirst = receiver.deliveries.filter(({ event }) => event.data.id === '1');
    expect(ofFirst.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(
      Array.from({ length: 11 }, (_, index) => String(index + 1)),
    );
    expect(new Set(ofFirst.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(1);
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([
      { row_id: 2, outcome: 'delivered', attempts: 1 },
      { row_id: 1, outcome: 'delivered', attempts: 11 },
    ]);
  });

  test('waits 5 min at a time while its host is not allowed, whether it was attempted before or not', async () => {
    for (const attempts of [0, 3]) {
      const { clock, fixture } = held();
      const receiver = await newReceiver((response) => void response.writeHead(503).end());
      const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
      const status = () => fixture.dispatcher.status(id);
      if (attempts > 0) fixture.publish(1, 1);
      await eventually(() => expect(status().held?.attempts ?? 0).toBe(attempts));
      await fixture.dispatcher.close(1000);
      fixture.allowedHosts = ['hooks.example.net'];
      fixture.restart();
      if (attempts === 0) fixture.publish(1, 1);
      for (const next of ['2026-01-02T03:09:05Z', '2026-01-02T03:14:05Z']) {
        await eventually(() => expect(status()).toMatchObject({ held: { attempts }, next_attempt_at: next }));
        await clock.advance(300_000);
      }
      await fixture.dispatcher.close(1000);
      fixture.allowedHosts = [];
      receiver.answerWith((response) => void response.end());
      fixture.restart();
      await eventually(() => expect(status()).toMatchObject({ state: 'healthy', behind: 0 }));
      expect(receiver.deliveries.at(-1)?.headers['x-webhook-attempt']).toBe(String(attempts + 1));
    }
  });

  test('keeps an event of another protocol, which certainly did not arrive at a host that is not allowed', async () => {
    const caller = { key: undefined, feed: { admits: () => true } } as unknown as Caller;
    const wires = new Map([['wire', async (): Promise<string> => '{}']]);
    const fixture = new WebhookFixture([1, 1], { callerOf: () => caller, wires });
    const receiver = await newReceiver();
    const wire = { protocol: 'wire', events: [] };
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold', wire, keyId: 'key' }));
    await fixture.dispatcher.close(1000);
    fixture.allowedHosts = ['hooks.example.net'];
    fixture.restart();
    fixture.publish(1, 1);
    await eventually(() =>
      expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'held', held: { attempts: 0 } }),
    );
  });

  test.each(['settings change', 'the service stops'])(
    'never repeats an event of another protocol that was answered with an error while %s',
    async (meanwhile) => {
      const caller = { key: undefined, feed: { admits: () => true } } as unknown as Caller;
      const wires = new Map([['wire', async (): Promise<string> => '{"data":{}}']]);
      const fixture = new WebhookFixture([1, 1], { callerOf: () => caller, wires });
      let refuse: (() => void) | undefined;
      const receiver = await newReceiver((response) => {
        refuse = () => void response.writeHead(500).end();
      });
      const wire = { protocol: 'wire', events: [] };
      const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold', wire, keyId: 'key' }));
      fixture.publish(1, 1);
      const answer = await waitFor(() => refuse);
      receiver.answerWith((response) => void response.end());
      if (meanwhile === 'settings change') {
        fixture.dispatcher.change(id, { events: ['message.received', 'message.sent'] });
        answer();
      } else {
        const closed = fixture.dispatcher.close(60_000);
        answer();
        await closed;
        fixture.restart();
      }
      fixture.publish(2, 2);
      await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 2, dropped: 1 }));
      expect(receiver.deliveries).toHaveLength(2);
    },
  );

  test('tries at once after a restart, and counts on', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    await fixture.dispatcher.close(1000);
    fixture.restart();
    await eventually(() =>
      expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'held', held: { attempts: 4 } }),
    );
    expect(receiver.deliveries.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(['1', '2', '3', '4']);
  });

  test('begins to count for an event before the one that was held, whose end a crash forgot', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    await fixture.dispatcher.close(1000);
    const since = '2026-01-01T00:00:00Z';
    fixture.store.setHeld(id, { id: 'of-row-2', row_id: 2, attempts: 7, since, error: 'It failed.' });
    fixture.restart();
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 1, attempts: 3 }));
    expect(receiver.deliveries.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(['1', '2', '3']);
  });

  test('skips rows that were deleted meanwhile, although they are still in memory', async () => {
    const { clock, fixture } = held();
    const receiver = await newReceiver((response, { event }) => {
      response.writeHead(event.data.id === '1' ? 503 : 204).end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 3);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    for (const rowId of [1, 2]) fixture.messages.rows.delete(rowId);
    await clock.advance(10_000);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', behind: 0 }));
    expect(rowsAt(receiver)).toEqual([1, 1, 1, 3]);
    expect(fixture.dispatcher.deliveries(id).slice(1)).toMatchObject([
      { row_id: 2, outcome: 'gone' },
      { row_id: 1, outcome: 'gone' },
    ]);
  });

  test('carries the row as it is at each attempt', async () => {
    const { clock, fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    const row = arrival(1);
    fixture.messages.add({
      ...row,
      event: { ...row.event, data: { ...row.event.data, body: 'edited' } },
    } as PendingRow);
    await clock.advance(10_000);
    await eventually(() => expect(receiver.deliveries.at(-1)?.event.data).toMatchObject({ body: 'edited' }));
  });

  test('gives up after one more attempt once it is changed to drop, or where the backlog is skipped', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' }));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id).held?.attempts).toBe(3));
    fixture.dispatcher.change(id, { on_failure: 'drop' });
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'failing', row_id: 1 }));
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([{ outcome: 'dropped', attempts: 4 }]);
    fixture.dispatcher.change(id, { on_failure: 'hold' });
    fixture.publish(2, 3);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'held', held: { row_id: 2 } }));
    fixture.dispatcher.replay(id, 'latest');
    expect(fixture.dispatcher.status(id)).toMatchObject({ held: null, row_id: 3, behind: 0 });
    receiver.answerWith((response) => void response.end());
    fixture.publish(4, 4);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', row_id: 4 }));
    expect(rowsAt(receiver).slice(-4)).toEqual([2, 2, 2, 4]);
  });

  test('skips an event that is filtered out meanwhile, and delivers dropped events before a waiting one', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'failing', dropped: 1 }));
    fixture.dispatcher.change(id, { on_failure: 'hold' });
    fixture.publish(2, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 2 }));
    receiver.answerWith((response, { event }) => void response.writeHead(event.data.id === '1' ? 204 : 503).end());
    fixture.dispatcher.replay(id, 'dropped');
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ dropped: 0, held: { row_id: 2 } }));
    fixture.dispatcher.change(id, { filter: { is_from_me: true } });
    await eventually(() =>
      expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', held: null, behind: 0 }),
    );
  });

  test('continues the count of attempts after dropped events are delivered before it', async () => {
    const { clock, fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ dropped: 1 }));
    fixture.dispatcher.change(id, { on_failure: 'hold' });
    fixture.publish(2, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 2, attempts: 3 }));
    fixture.dispatcher.replay(id, 'dropped');
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 1, attempts: 3 }));
    receiver.answerWith((response, { event }) => void response.writeHead(event.data.id === '1' ? 204 : 503).end());
    await clock.advance(10_000);
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 2, attempts: 4 }));
    expect(receiver.deliveries.at(-1)?.headers['x-webhook-attempt']).toBe('4');
  });

  test('continues the count of attempts after a restart for a dropped event that is held again', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ dropped: 1 }));
    fixture.dispatcher.change(id, { on_failure: 'hold' });
    fixture.dispatcher.replay(id, 'dropped');
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 1, attempts: 3 }));
    await fixture.dispatcher.close(1000);
    fixture.restart();
    await eventually(() => expect(fixture.dispatcher.status(id).held).toMatchObject({ row_id: 1, attempts: 4 }));
  });

  test('can be removed and closed while it waits', async () => {
    const { fixture } = held();
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const [one, other] = [0, 1].map(() => fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold' })).id);
    fixture.publish(1, 1);
    for (const id of [one, other]) {
      await eventually(() => expect(fixture.dispatcher.status(id ?? '').held?.attempts).toBe(3));
    }
    expect(await fixture.dispatcher.remove(one ?? '')).toBe(true);
    await fixture.dispatcher.close(60_000);
    expect(receiver.deliveries).toHaveLength(6);
  });
});

describe('what was dropped', () => {
  test('is delivered again in row order, before what follows, under the same ids', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response, { event }) => {
      response.writeHead(Number(event.data.id) % 2 === 0 ? 500 : 204).end();
    });
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 6);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 6, dropped: 3 }));
    const before = receiver.deliveries.length;
    const idOf = (row: number) =>
      receiver.deliveries
        .filter(({ event }) => event.data.id === String(row))
        .map(({ headers }) => headers['webhook-id']);
    fixture.messages.rows.delete(4);
    let release: (() => void) | undefined;
    receiver.answerWith((response) => {
      release = () => void response.end();
    });
    fixture.dispatcher.replay(id, 'dropped');
    await waitFor(() => release);
    fixture.publish(7, 7);
    receiver.answerWith((response) => void response.end());
    release?.();
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 7, dropped: 0 }));
    expect(rowsAt(receiver).slice(before)).toEqual([2, 6, 7]);
    expect(new Set(idOf(2)).size).toBe(1);
    expect(fixture.dispatcher.deliveries(id).slice(0, 4)).toMatchObject([
      { row_id: 7, outcome: 'delivered' },
      { row_id: 6, outcome: 'delivered' },
      { row_id: 4, outcome: 'gone' },
      { row_id: 2, outcome: 'delivered' },
    ]);
  });

  test('and fails once more is kept for the next time; a restart continues with it', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 3);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 3, dropped: 3 }));
    fixture.dispatcher.replay(id, 'dropped');
    await eventually(() => expect(receiver.deliveries.length).toBe(18));
    await eventually(() => expect(fixture.store.nextReplayed(id)).toBeUndefined());
    expect(fixture.dispatcher.status(id)).toMatchObject({ dropped: 3, row_id: 3 });
    await fixture.dispatcher.close(1000);
    fixture.store.replayDropped(id);
    receiver.answerWith((response) => void response.end());
    fixture.restart();
    await eventually(() => expect(rowsAt(receiver).slice(18)).toEqual([1, 2, 3]));
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ dropped: 0, row_id: 3 }));
  });

  test('is not counted any more when a replay passes it anyway; skipping the backlog keeps it', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 4);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 4, dropped: 4 }));
    fixture.dispatcher.replay(id, 'latest');
    expect(fixture.dispatcher.status(id).dropped).toBe(4);
    receiver.answerWith((response) => void response.end());
    fixture.dispatcher.replay(id, { rowId: 2 });
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 4, dropped: 2 }));
  });

  test('a failed test of a webhook is not counted as dropped', async () => {
    const fixture = new WebhookFixture([1, 1]);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    await fixture.dispatcher.test(id);
    expect(fixture.dispatcher.status(id).dropped).toBe(0);
  });
});
