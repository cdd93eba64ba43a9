import { describe, expect, test } from '@jest/globals';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { arrival } from '../support/memory-log.ts';
import { hook, newReceiver, range, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

describe('a webhook', () => {
  test('gets what is published after it was registered, in order, once', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    fixture.publish(1, 5);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(6, 40);
    await eventually(() => expect(receiver.deliveries.length).toBe(35));
    expect(rowsAt(receiver)).toEqual(range(6, 40));
    expect(receiver.deliveries[0]?.event).toEqual(arrival(6).event);
    await eventually(() => expect(fixture.store.get(id)?.offset.rowId).toBe(40));
    expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'healthy', row_id: 40, behind: 0 });
    expect(fixture.dispatcher.deliveries(id)).toHaveLength(35);
    expect(fixture.dispatcher.deliveries(id)[0]).toMatchObject({
      row_id: 40,
      outcome: 'delivered',
      attempts: 1,
      status: 204,
    });
  });

  test('receives only the types it asked for, and skips the others', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url, { events: ['message.sent'] }));
    fixture.publish(1, 3);
    fixture.publish(4, 4, 'message.sent');
    fixture.publish(5, 6);
    await eventually(() => expect(receiver.deliveries.length).toBe(1));
    expect(rowsAt(receiver)).toEqual([4]);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(6));
    await fixture.dispatcher.close(1000);
    expect(fixture.store.get(id)?.offset.rowId).toBe(6);
  });

  test('distinguishes rows without a guid', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    fixture.dispatcher.add(hook(receiver.url));
    const rows = [arrival(1, { guid: '' }), arrival(2, { guid: '' })];
    fixture.messages.add(...rows);
    fixture.channel.publish(rows);
    await eventually(() => expect(receiver.deliveries.length).toBe(2));
    expect(new Set(receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(2);
  });

  test('that takes its time is never sent two events at once', async () => {
    const fixture = new WebhookFixture();
    let open = 0;
    let most = 0;
    const receiver = await newReceiver((response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.end();
      }, 5);
    });
    fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 10);
    await eventually(() => expect(receiver.deliveries.length).toBe(10));
    expect(most).toBe(1);
  });

  test('that is dead has its events dropped after three failures each, and says so', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const { id } = fixture.dispatcher.add(hook(`${receiver.url}?token=sesame`));
    fixture.publish(1, 2);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(2));
    expect(rowsAt(receiver)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(fixture.dispatcher.status(id)).toMatchObject({ state: 'failing', consecutive_failures: 2 });
    const error = 'The receiver answered 500.';
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([
      { row_id: 2, outcome: 'dropped', attempts: 3, status: 500, error },
      { row_id: 1, outcome: 'dropped', attempts: 3, status: 500, error },
    ]);
    const warnings = fixture.log.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toHaveLength(2);
    expect(JSON.stringify(fixture.log.lines)).not.toContain('sesame');
    expect(JSON.stringify(fixture.log.lines)).not.toContain('text 1');
  });

  test('that is dead does not delay another one', async () => {
    const fixture = new WebhookFixture([60_000, 60_000]);
    const hanging = await newReceiver(() => undefined);
    const failing = await newReceiver((response) => void response.writeHead(500).end());
    const receiver = await newReceiver();
    for (const { url } of [hanging, failing, receiver]) fixture.dispatcher.add(hook(url));
    fixture.publish(1, 100);
    await eventually(() => expect(receiver.deliveries.length).toBe(100));
    expect(hanging.deliveries).toHaveLength(1);
    expect(failing.deliveries).toHaveLength(1);
  });

  test('that fell behind the channel by more than it holds catches up from the database', async () => {
    const fixture = new WebhookFixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 1);
    await waitFor(() => answer);
    fixture.publish(2, 160);
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(receiver.deliveries.length).toBe(160));
    expect(rowsAt(receiver)).toEqual(range(1, 160));
    expect(fixture.messages.reads).toBeGreaterThan(0);
  });

  test('continues where it was after a restart', async () => {
    const fixture = new WebhookFixture([60_000, 60_000]);
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1, 3);
    await eventually(() => expect(receiver.deliveries.length).toBe(3));
    receiver.answerWith((response) => void response.writeHead(500).end());
    fixture.publish(4, 6);
    await eventually(() => expect(receiver.deliveries.length).toBe(4));
    await fixture.dispatcher.close(1000);
    expect(fixture.store.get(id)?.offset.rowId).toBe(3);
    receiver.answerWith((response) => void response.end());
    fixture.restart();
    await eventually(() => expect(receiver.deliveries.length).toBe(7));
    expect(rowsAt(receiver)).toEqual([1, 2, 3, 4, 4, 5, 6]);
    const ids = receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
    expect(ids[3]).toBe(ids[4]);
    expect(new Set(ids).size).toBe(6);
  });

  test('waits while the database is away and then continues', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    fixture.publish(1, 160);
    const { id } = fixture.store.add(hook(receiver.url), rowOffset(0));
    fixture.messages.isAway = true;
    fixture.restart();
    expect(fixture.dispatcher.status(id).behind).toBe(160);
    fixture.messages.isAway = false;
    fixture.channel.wake();
    await eventually(() => expect(receiver.deliveries.length).toBe(160));
    expect(rowsAt(receiver)).toEqual(range(1, 160));
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('has rows that were deleted in between recorded as gone, once a range', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    fixture.publish(1, 1100);
    for (const rowId of [2, 3, 4, 6, 1099, 1100]) fixture.messages.rows.delete(rowId);
    fixture.channel.restart(rowOffset(1100));
    const { id } = fixture.store.add(hook(receiver.url), rowOffset(0));
    for (const rowId of range(9, 1098)) fixture.messages.rows.delete(rowId);
    fixture.restart();
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(1100));
    expect(rowsAt(receiver)).toEqual([1, 5, 7, 8]);
    const gone = fixture.dispatcher.deliveries(id).filter(({ outcome }) => outcome === 'gone');
    expect(gone.map(({ error }) => error)).toEqual([
      'Rows 9 to 1100 were deleted.',
      'Row 6 was deleted.',
      'Rows 2 to 4 were deleted.',
    ]);
  });

  test('counts no row that causes no event as deleted', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.messages.add(arrival(1), arrival(2, { isSilent: true }), arrival(3), arrival(4, { isSilent: true }));
    fixture.channel.publish([arrival(1), arrival(3)]);
    fixture.channel.skipTo(rowOffset(4));
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(4));
    expect(rowsAt(receiver)).toEqual([1, 3]);
    expect(fixture.dispatcher.deliveries(id).map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered']);
  });

  test('starts over with a replaced database, and no old row id is stored', async () => {
    const fixture = new WebhookFixture();
    let answer: (() => void) | undefined;
    const receiver = await newReceiver((response) => {
      answer = () => void response.end();
    });
    fixture.publish(1000, 1000);
    const { id } = fixture.dispatcher.add(hook(receiver.url));
    fixture.publish(1001, 1010);
    await waitFor(() => answer);
    fixture.store.advance([{ id, offset: rowOffset(20), records: [] }]); // as CursorStore.restart does for every webhook
    fixture.channel.restart(rowOffset(20));
    receiver.answerWith((response) => void response.end());
    answer?.();
    await eventually(() => expect(fixture.dispatcher.deliveries(id).length).toBe(1));
    expect(fixture.store.get(id)?.offset.rowId).toBe(20);
    fixture.publish(21, 23);
    await eventually(() => expect(fixture.dispatcher.status(id).row_id).toBe(23));
    expect(rowsAt(receiver)).toEqual([1001, 21, 22, 23]);
    expect(fixture.store.get(id)?.offset.rowId).toBe(23);
  });

  test('loses nothing when publishing resumes after the webhooks did', async () => {
    const fixture = new WebhookFixture();
    const receiver = await newReceiver();
    for (const rowId of range(1, 8)) fixture.messages.add(arrival(rowId));
    fixture.store.add(hook(receiver.url), rowOffset(5));
    fixture.restart();
    fixture.channel.restart(rowOffset(8));
    await eventually(() => expect(receiver.deliveries.length).toBe(3));
    expect(rowsAt(receiver)).toEqual([6, 7, 8]);
  });

  test('gets details only if it asked for them', async () => {
    const fixture = new WebhookFixture([1, 1], {
      json: (entry, include) =>
        include.has('details') ? `{"data":{"id":"details of ${entry.rowId}"}}` : JSON.stringify(entry.event),
    });
    const [plain, detailed] = [await newReceiver(), await newReceiver()];
    fixture.dispatcher.add(hook(plain.url));
    fixture.dispatcher.add(hook(detailed.url, { include: includeSet(['details']) }));
    fixture.publish(1, 1);
    await eventually(() => expect(plain.deliveries.length + detailed.deliveries.length).toBe(2));
    expect(plain.deliveries[0]?.event.data.id).toBe('1');
    expect(detailed.deliveries[0]?.event.data.id).toBe('details of 1');
  });
});
