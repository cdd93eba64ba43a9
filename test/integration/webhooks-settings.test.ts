import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { PendingRow } from '../../src/core/model/event.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { longWaits } from '../support/long-waits.ts';
import { arrival } from '../support/memory-log.ts';
import { hook, newReceiver, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

describe('changing a webhook', () => {
  test('keeps its position and history, and sends the next event by the new settings', async () => {
    const fixture = new WebhookFixture();
    const [first, second] = [await newReceiver(), await newReceiver()];
    const { id } = fixture.dispatcher.add(hook(first.url));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(2));
    fixture.dispatcher.change(id, { url: second.url, events: ['message.sent'], name: 'n8n' });
    fixture.publish(3, 3);
    fixture.publish(4, 4, 'message.sent');
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(4));
    expect([rowsAt(first), rowsAt(second)]).toEqual([[1, 2], [4]]);
    expect(fixture.dispatcher.deliveries(id).map(({ row_id: row }) => row)).toEqual([4, 2, 1]);
    expect(fixture.dispatcher.status(id)).toMatchObject({ name: 'n8n', state: 'healthy' });
  });

  test('takes an event that is being retried to the new address at once', async () => {
    const waits = longWaits();
    const fixture = new WebhookFixture(waits.ms);
    const broken = await newReceiver((response) => void response.writeHead(500).end());
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(broken.url));
    fixture.publish(1, 2);
    await eventually(() => expect(waits.begun).toBe(1));
    fixture.dispatcher.change(id, { url: receiver.url });
    await eventually(() => expect(rowsAt(receiver)).toEqual([1, 2]));
    expect(broken.deliveries).toHaveLength(1);
  });

  test('shows neither the secret nor the values of headers', () => {
    const fixture = new WebhookFixture();
    const { id } = fixture.dispatcher.add(
      hook('http://127.0.0.1:9/', { secret: 'sesame', headers: { Authorization: 'Bearer sesame' } }),
    );
    const status = fixture.dispatcher.status(id);
    expect(status).toMatchObject({ has_secret: true, header_names: ['Authorization'] });
    expect(JSON.stringify(status)).not.toContain('sesame');
  });

  test('that is unknown, or leads to an eleventh header, changes nothing', () => {
    const fixture = new WebhookFixture();
    const { id } = fixture.dispatcher.add(hook('http://127.0.0.1:9/'));
    expect(() => fixture.dispatcher.change('none', {})).toThrow('no webhook');
    const headers = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`X-${from + n}`, 'v']));
    fixture.dispatcher.change(id, { headers: headers(0, 9) });
    expect(() => fixture.dispatcher.change(id, { headers: headers(8, 11), name: 'x' })).toThrow(
      expect.objectContaining({ status: 400 }),
    );
    expect(fixture.dispatcher.status(id)).toMatchObject({ name: null, header_names: Object.keys(headers(0, 9)) });
  });
});

describe('a paused webhook', () => {
  test('keeps its position over a restart, and gets the backlog in its current state when it continues', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { enabled: false }));
    fixture.publish(1, 150);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'paused', behind: 150 }));
    await fixture.dispatcher.close(1000);
    fixture.restart();
    fixture.messages.rows.delete(1);
    fixture.dispatcher.change(id, { enabled: true });
    await eventually(() => expect(receiver.deliveries.length).toBe(149));
    expect(rowsAt(receiver)[0]).toBe(2);
    // Its last answer is still on the way.
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', behind: 0 }));
  });

  test('gets the messages of the pause in their current state when it continues, and no deleted ones', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { enabled: false }));
    fixture.publish(1, 3);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ behind: 3 }));
    fixture.messages.rows.delete(1);
    fixture.messages.add({ ...arrival(2), event: arrival(22).event });
    fixture.dispatcher.change(id, { enabled: true });
    await eventually(() =>
      expect(receiver.deliveries.map(({ event }) => event.data.body)).toEqual(['text 22', 'text 3']),
    );
    await eventually(() => expect(fixture.dispatcher.deliveries(id).at(-1)).toMatchObject({ outcome: 'gone' }));
  });

  test('ends the retries of the event that it was sending', async () => {
    const waits = longWaits();
    const fixture = new WebhookFixture(waits.ms);
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await eventually(() => expect(waits.begun).toBe(1));
    fixture.dispatcher.change(id, { enabled: false });
    receiver.answerWith((response) => void response.end());
    const other = await newReceiver();
    fixture.dispatcher.add(hook(other.url));
    fixture.publish(2, 2);
    await eventually(() => expect(rowsAt(other)).toEqual([2]));
    expect(rowsAt(receiver)).toEqual([1]);
    fixture.dispatcher.change(id, { enabled: true });
    await eventually(() => expect(rowsAt(receiver)).toEqual([1, 1, 2]));
  });

  test('can skip what it missed', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { enabled: false }));
    fixture.publish(1, 5);
    fixture.dispatcher.replay(id, 'latest');
    fixture.dispatcher.change(id, { enabled: true });
    fixture.publish(6, 6);
    await eventually(() => expect(rowsAt(receiver)).toEqual([6]));
  });
});

describe('headers of the owner', () => {
  test('are on every delivery and test, in the given spelling, no matter what their names mean elsewhere', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const headers = { Authorization: 'Bearer sesame', get: 'g', constructor: 'c', 'X-Trace': 'a b' };
    const { id } = fixture.dispatcher.add(hook(receiver.url, { headers }));
    fixture.publish(1, 1);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    await fixture.dispatcher.test(id);
    for (const delivery of receiver.deliveries) {
      expect(delivery.headers).toMatchObject({ authorization: 'Bearer sesame', get: 'g', 'x-trace': 'a b' });
      expect(delivery.headers.constructor).toBe('c');
      expect(delivery.headers['content-type']).toBe('application/json');
    }
    expect(JSON.stringify(fixture.log.lines)).not.toContain('sesame');
  });

  test('are changed one by one', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { headers: { 'X-One': '1', 'X-Two': '2' } }));
    fixture.dispatcher.change(id, { headers: { 'x-one': '3', 'X-Two': null, 'X-Four': '4' } });
    fixture.publish(1, 1);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    const [sent] = receiver.deliveries;
    expect([sent?.headers['x-one'], sent?.headers['x-two'], sent?.headers['x-four']]).toEqual(['3', undefined, '4']);
    fixture.dispatcher.change(id, { headers: null });
    expect(fixture.dispatcher.status(id).header_names).toEqual([]);
  });
});

describe('a filter', () => {
  const rowOf = (rowId: number, data: Record<string, unknown>): PendingRow => {
    const row = arrival(rowId);
    return { ...row, event: { ...row.event, data: { ...row.event.data, ...data } } } as PendingRow;
  };
  const rows = [
    rowOf(1, {}),
    rowOf(2, { conversation_id: 'SMS;-;+15550100' }),
    rowOf(3, { conversation_id: 'any;+;chat7', sender: 'Ana@Example.com' }),
    rowOf(4, { conversation_id: 'any;+;chat7', sender: 'me@example.com', is_from_me: true }),
    rowOf(5, { conversation_id: 'any;-;+15550101', sender: '+15550101' }),
  ];

  test.each([
    [{ conversation_ids: ['iMessage;-;+15550100'] }, [1, 2]],
    [{ conversation_ids: ['any;-;+1 (555) 0100'] }, [1, 2]],
    [{ conversation_ids: ['any;+;chat7', 'any;-;+15550101'] }, [3, 4, 5]],
    [{ conversation_ids: ['any;-;chat7'] }, [3, 4]],
    [{ senders: ['ana@example.com', '+1 555 0101'] }, [3, 5]],
    [{ is_from_me: true }, [4]],
    [{ is_from_me: false, conversation_ids: ['any;+;chat7'] }, [3]],
    [{}, [1, 2, 3, 4, 5]],
  ])('%j lets through only events that match all of it, and skips the rest', async (filter, expected) => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { filter }));
    fixture.messages.add(...rows);
    fixture.channel.publish(rows);
    await eventually(() => expect(fixture.dispatcher.status(id)).toMatchObject({ row_id: 5, behind: 0 }));
    expect(rowsAt(receiver)).toEqual(expected);
  });
});

describe('a rotated secret', () => {
  const standard = (secret: string, { headers, body }: { headers: Record<string, unknown>; body: Buffer }) =>
    `v1,${createHmac('sha256', secret)
      .update(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body.toString()}`)
      .digest('base64')}`;

  test('leaves the one before valid for a day', async () => {
    const clock = new FakeClock();
    const fixture = new WebhookFixture([1, 1], { clock, posterClock: clock });
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { secret: 'old' }));
    const signaturesOf = async (row: number) => {
      fixture.publish(row, row);
      await eventually(() => expect(rowsAt(receiver).at(-1)).toBe(row));
      const delivery = receiver.deliveries.at(-1);
      if (delivery === undefined) throw new Error('nothing was delivered');
      const hex = createHmac('sha256', 'new').update(delivery.body).digest('hex');
      return {
        isNew: delivery.headers['x-webhook-signature'] === `sha256=${hex}`,
        sent: delivery.headers['webhook-signature'],
        old: standard('old', delivery),
        now: standard('new', delivery),
      };
    };
    expect(await signaturesOf(1)).toMatchObject({ isNew: false });
    fixture.dispatcher.change(id, { secret: 'new' });
    fixture.dispatcher.change(id, { secret: 'new', name: 'the same again' });
    expect(fixture.dispatcher.status(id)).toMatchObject({ previous_secret_until: '2026-01-03T03:04:05Z' });
    const both = await signaturesOf(2);
    expect(both).toMatchObject({ isNew: true, sent: `${both.now} ${both.old}` });
    await clock.advance(DAY_MS);
    const after = await signaturesOf(3);
    expect(after).toMatchObject({ isNew: true, sent: after.now });
    expect(fixture.dispatcher.status(id)).toMatchObject({ previous_secret_until: null });
    fixture.restart();
    expect(fixture.reopenedStore().get(id)?.previousSecret).toBeNull();
  });

  test('that is removed signs nothing, and a new one has no earlier one', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { secret: 'old' }));
    fixture.dispatcher.change(id, { secret: null });
    fixture.publish(1, 1);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(receiver.deliveries[0]?.headers['webhook-signature']).toBeUndefined();
    expect(fixture.dispatcher.status(id)).toMatchObject({ has_secret: false, previous_secret_until: null });
    fixture.dispatcher.change(id, { secret: 'new' });
    expect(fixture.dispatcher.status(id)).toMatchObject({ has_secret: true, previous_secret_until: null });
  });
});
