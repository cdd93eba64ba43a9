import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { bulky, range, refusal, WebSocketFixture } from '../support/websocket-fixture.ts';

describe('a client that says where it was', () => {
  test('gets everything after that row and then what happens, without gap or repeat', async () => {
    const fixture = await WebSocketFixture.open();
    fixture.publish(1, 3000);
    const clients = [
      await fixture.client('?after=0'),
      await fixture.client('?after=2990'),
      await fixture.client('?after=3000'),
    ];
    for (let first = 3001; first < 5000; first += 10) {
      fixture.publish(first, first + 9);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    await waitFor(() => clients.every(({ rows }) => rows.at(-1) === 5000));
    expect(clients.map(({ rows }) => rows)).toEqual([range(1, 5000), range(2991, 5000), range(3001, 5000)]);
  });

  test('is never skipped, however slowly it reads', async () => {
    const fixture = await WebSocketFixture.open(bulky);
    const client = await fixture.client('?after=0&include=details');
    client.socket.pause();
    for (let first = 1; first < 4000; first += 512) {
      fixture.publish(first, first + 511);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    const last = fixture.channel.last.rowId;
    client.socket.resume();
    await eventually(() => expect(client.texts.length).toBe(last));
    expect(client.rows).toEqual(range(1, last));
    expect(fixture.clients.counts.missed).toBe(0);
  });

  test('waits while the database is away', async () => {
    const fixture = await WebSocketFixture.open();
    fixture.publish(1, 2000);
    // Removed after the second read, because a client cannot control when the service reads.
    const { messages } = fixture;
    const entries = messages.entries.bind(messages);
    const readsBefore = messages.reads;
    messages.entries = (...range) => {
      const found = entries(...range);
      messages.isAway = messages.reads === readsBefore + 2;
      return found;
    };
    const client = await fixture.client('?after=0');
    await waitFor(() => messages.isAway);
    await fixture.clock.advance(1000);
    const before = client.texts.length;
    expect(before).toBeLessThan(2000);
    messages.isAway = false;
    await fixture.clock.advance(1000);
    await eventually(() => expect(client.texts.length).toBe(2000));
    expect(client.rows).toEqual(range(1, 2000));
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('before what has not been published yet, gets it when it is', async () => {
    const fixture = await WebSocketFixture.open();
    fixture.publish(1, 5);
    fixture.messages.addMany(6, 10);
    const client = await fixture.client('?after=8');
    fixture.channel.publish(fixture.messages.entries(rowOffset(5), rowOffset(10), 100));
    await eventually(() => expect(client.texts.length).toBe(2));
    expect(client.rows).toEqual([9, 10]);
  });

  test.each(['?after=', '?after=abc', '?after=-1', '?after=1.5', '?after=1e3'])(
    'is refused %p before the upgrade',
    async (query) => {
      const fixture = await WebSocketFixture.open();
      expect(await refusal(fixture, query)).toMatchObject({ status: 400, mistakes: [{ pointer: '?after' }] });
    },
  );

  test('learns of every mistake in its query, a repeated parameter included', async () => {
    const fixture = await WebSocketFixture.open();
    const pointersOf = async (query: string) => {
      const { mistakes } = (await refusal(fixture, query)) as { mistakes: readonly { pointer: string }[] };
      return mistakes.map(({ pointer }) => pointer);
    };
    expect(await pointersOf('?after=x&include=y')).toEqual(['?after', '?include']);
    expect(await pointersOf('?after=1&after=2')).toEqual(['?after']);
    expect(await pointersOf('?include=details&include=details')).toEqual(['?include']);
  });

  test('is refused a row nobody ever saw, and any while the database is away', async () => {
    const fixture = await WebSocketFixture.open();
    fixture.publish(1, 5);
    for (const after of ['6', '9007199254740993', '9'.repeat(400)]) {
      expect(await refusal(fixture, `?after=${after}`)).toMatchObject({ status: 410 });
    }
    fixture.messages.isAway = true;
    expect(await refusal(fixture, '?after=1')).toMatchObject({ status: 503 });
    expect(fixture.clients.counts.clients).toBe(0);
  });
});
