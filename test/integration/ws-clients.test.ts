import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { arrival } from '../support/memory-log.ts';
import {
  bulky,
  closers,
  dumbClient,
  range,
  refusal,
  WebSocketFixture,
  withDetails,
} from '../support/websocket-fixture.ts';

describe('a plain client', () => {
  test('gets every event from now on, one frame each, in the very envelope', async () => {
    const fixture = await WebSocketFixture.open();
    fixture.publish(1, 3);
    const client = await fixture.client();
    fixture.publish(4, 4);
    fixture.publish(5, 700);
    await eventually(() => expect(client.texts.length).toBe(697));
    expect(client.rows).toEqual(range(4, 700));
    expect(client.texts[0]).toBe(JSON.stringify(arrival(4).event));
  });

  test('shares every event with a hundred others', async () => {
    const fixture = await WebSocketFixture.open();
    const clients = await Promise.all(range(1, 100).map(() => fixture.client()));
    fixture.publish(1, 50);
    fixture.publish(51, 51);
    await waitFor(() => clients.every(({ texts }) => texts.length === 51));
    for (const { rows } of clients) expect(rows).toEqual(range(1, 51));
    expect(fixture.clients.counts).toEqual({ clients: 100, missed: 0 });
  });

  test('gets events larger than a socket takes at once', async () => {
    const fixture = await WebSocketFixture.open({
      json: withDetails((entry) => JSON.stringify({ data: { id: entry.rowId, x: 'ü'.repeat(200_000) } })),
    });
    const client = await fixture.client('?include=details');
    const plain = await fixture.client();
    fixture.publish(1, 20);
    await eventually(() => {
      expect(client.texts.length).toBe(20);
      expect(plain.texts.length).toBe(20);
    });
    expect(client.rows).toEqual(range(1, 20));
    expect(client.texts[0]).toHaveLength(JSON.stringify({ data: { id: 1, x: 'ü'.repeat(200_000) } }).length);
    expect(plain.texts[0]).toBe(JSON.stringify(arrival(1).event));
  });

  test.each([
    ['handling=strict', 'handling=strict'],
    ['handling=lenient', undefined],
  ])('that prefers %s learns from its handshake whether it applies', async (prefer, applied) => {
    const fixture = await WebSocketFixture.open();
    const socket = new WebSocket(fixture.url, { headers: { prefer } });
    closers.push(() => socket.terminate());
    const [answer] = (await once(socket, 'upgrade')) as [IncomingMessage];
    expect(answer.headers['preference-applied']).toBe(applied);
  });

  test('may say what it likes: text, binary and pings are ignored', async () => {
    const fixture = await WebSocketFixture.open();
    const client = await fixture.client();
    client.socket.send('hello');
    client.socket.send(Buffer.alloc(4096, 1));
    client.socket.ping();
    await once(client.socket, 'pong');
    fixture.publish(1, 2);
    await eventually(() => expect(client.texts.length).toBe(2));
    expect(client.closedWith).toBeUndefined();
  });

  test('that sends a frame over 4 KiB is closed with 1009', async () => {
    const fixture = await WebSocketFixture.open();
    const [other, client] = [await fixture.client(), await fixture.client()];
    client.socket.send('x'.repeat(4097));
    await eventually(() => expect(client.closedWith).toBe(1009));
    await eventually(() => expect(fixture.clients.counts.clients).toBe(1));
    fixture.publish(1, 1);
    await eventually(() => expect(other.texts.length).toBe(1));
  });

  test('that is too slow loses the oldest, stays connected and is counted, while others lose nothing', async () => {
    const fixture = await WebSocketFixture.open(bulky);
    const slow = await fixture.client('?include=details');
    const quick = await fixture.client('?include=details');
    slow.socket.pause();
    let last = 0;
    while (last < 4000) {
      fixture.publish(last + 1, last + 512);
      last += 512;
      await eventually(() => expect(quick.texts.length).toBe(last));
    }
    expect(quick.rows).toEqual(range(1, last));
    slow.socket.resume();
    await eventually(() => expect(slow.rows.at(-1)).toBe(last));
    const { missed } = fixture.clients.counts;
    expect(missed).toBeGreaterThan(0);
    expect(slow.texts).toHaveLength(last - missed);
    expect(slow.rows).toEqual([...new Set(slow.rows)].sort((a, b) => a - b));
    const warnings = fixture.log.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([{ message: 'a slow WebSocket client lost events', fields: { missed } }]);
    fixture.publish(last + 1, last + 1);
    await eventually(() => expect(slow.rows.at(-1)).toBe(last + 1));
    await fixture.clock.advance(30_000);
    expect(fixture.clients.counts.missed).toBe(missed);
  });

  test('whose events cannot be written is closed with 1011, and the others continue', async () => {
    const fixture = await WebSocketFixture.open({
      json: withDetails(() => {
        throw new Error('it is broken');
      }),
    });
    const [broken, other] = [await fixture.client('?include=details'), await fixture.client()];
    fixture.publish(1, 1);
    await eventually(() => {
      expect(broken.closedWith).toBe(1011);
      expect(other.texts.length).toBe(1);
    });
    expect(fixture.log.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
  });
});

test('a client with changes is closed with 4410 when chat.db is replaced, and one without stays', async () => {
  const log = { generation: 1 };
  const fixture = await WebSocketFixture.open({}, (feed) =>
    Object.assign(feed, { resolve: () => rowOffset(0), changeGeneration: () => log.generation }),
  );
  const plain = await fixture.client();
  const tracked = [await fixture.client('?changes=true'), await fixture.client('?changes=true&after=0')];
  log.generation = 2;
  fixture.channel.restart(rowOffset(0));
  await waitFor(() => tracked.every(({ closedWith }) => closedWith === 4410));
  fixture.publish(1, 1);
  await eventually(() => expect(plain.rows).toEqual([1]));
  expect(tracked.map(({ texts }) => texts)).toEqual([[], []]);
});

describe('a malformed handshake', () => {
  test.each([
    ['without a key', 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: no\r\n'],
    ['of another version', 'Sec-WebSocket-Version: 12\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'],
  ])('is refused before the upgrade, and takes no place: %s', async (_what, headers) => {
    const fixture = await WebSocketFixture.open();
    let places = 0;
    const open = () => {
      places += 1;
      return () => {
        places -= 1;
      };
    };
    fixture.caller = { key: undefined, streams: { open } };
    const socket = connect(fixture.port, '127.0.0.1');
    closers.push(() => socket.destroy());
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${headers}\r\n`);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    await eventually(() => expect(answer).toContain('bad_handshake'));
    expect(places).toBe(0);
  });
});

describe('closing', () => {
  test('says 1001 to everyone and refuses newcomers', async () => {
    const fixture = await WebSocketFixture.open();
    const clients = [await fixture.client(), await fixture.client('?after=0')];
    fixture.publish(1, 3);
    await fixture.clients.close(1000);
    await waitFor(() => clients.every(({ closedWith }) => closedWith === 1001));
    expect(clients.map(({ rows }) => rows)).toEqual([range(1, 3), range(1, 3)]);
    expect(await refusal(fixture, '')).toMatchObject({ status: 503 });
    expect(fixture.clock.pending).toBe(0);
  });

  test('ends a connection that does not close in time', async () => {
    const fixture = await WebSocketFixture.open();
    const socket = await dumbClient(fixture);
    const closed = fixture.clients.close(2000);
    await fixture.clock.advance(2000);
    await closed;
    socket.resume();
    await waitFor(() => socket.closed);
    expect(fixture.clients.counts.clients).toBe(0);
  });
});
