import { describe, expect, test } from '@jest/globals';
import { eventually, waitFor } from '../support/eventually.ts';
import { bulky, dumbClient, say, WebSocketFixture } from '../support/websocket-fixture.ts';

describe('a client that is gone', () => {
  test('is pinged every 30 seconds and dropped when it leaves two unanswered', async () => {
    const fixture = await WebSocketFixture.open();
    const socket = await dumbClient(fixture);
    const pings: number[] = [];
    socket.on('data', (chunk: Buffer) => {
      if (chunk[0] === 0x89) pings.push(fixture.clock.monotonic());
    });
    const answering = await fixture.client();
    let answered = 0;
    answering.socket.on('ping', () => {
      answered += 1;
    });
    for (const count of [1, 2]) {
      await fixture.clock.advance(30_000);
      await eventually(() => {
        expect(pings.length).toBe(count);
        expect(answered).toBe(count);
      });
    }
    expect(fixture.clients.counts.clients).toBe(2);
    await fixture.clock.advance(30_000);
    await eventually(() => expect(fixture.clients.counts.clients).toBe(1));
    await waitFor(() => socket.closed);
    expect(answering.closedWith).toBeUndefined();
  });

  test('is not one that says something, though it answers no ping', async () => {
    const fixture = await WebSocketFixture.open();
    const socket = await dumbClient(fixture);
    const heard = fixture.log.lines.length;
    for (const opcode of [0x1, 0x2, 0x9, 0x1, 0x2, 0x9]) {
      const answered = new Promise<void>((resolve) => void socket.once('data', () => resolve()));
      await say(fixture, socket, opcode);
      await fixture.clock.advance(30_000);
      await answered;
      expect(fixture.clients.counts.clients).toBe(1);
    }
    expect(fixture.log.lines).toHaveLength(heard);
  });

  test('is dropped, no matter how much it read before it fell silent', async () => {
    const fixture = await WebSocketFixture.open(bulky);
    const socket = await dumbClient(fixture, '?include=details');
    let read = 0;
    socket.on('data', (chunk) => {
      read += chunk.length;
    });
    fixture.publish(1, 400);
    await eventually(() => expect(read).toBeGreaterThan(400 * 8000));
    for (let ping = 0; ping < 3; ping += 1) await fixture.clock.advance(30_000);
    await eventually(() => expect(fixture.clients.counts.clients).toBe(0));
  });

  test('leaves no timer and no subscription to the channel behind', async () => {
    const fixture = await WebSocketFixture.open();
    const client = await fixture.client();
    expect(fixture.clock.pending).toBe(1);
    client.socket.close();
    await eventually(() => expect(fixture.clients.counts.clients).toBe(0));
    expect(fixture.clock.pending).toBe(0);
    fixture.publish(1, 1);
    expect(client.closedWith).not.toBe(1006);
  });

  test('is not one that catches up slowly, its pongs still behind the events', async () => {
    let made = 0;
    const fixture = await WebSocketFixture.open({
      json(entry, include) {
        made += 1;
        return bulky.json?.(entry, include) ?? '';
      },
    });
    // Twice what the kernel buffers for one connection here (4 MB to send, 32 MB received) and what is read of it.
    fixture.publish(1, 14_000);
    const socket = await dumbClient(fixture, '?after=0&include=details');
    let toRead = 0;
    socket.on('data', (chunk) => {
      toRead -= chunk.length;
      if (toRead <= 0) socket.pause();
    });
    for (let ping = 0; ping < 5; ping += 1) {
      toRead = 4_000_000;
      const madeBefore = made;
      socket.resume();
      // The capacity was used: half of what was read has been built again.
      await eventually(() => {
        expect(toRead).toBeLessThanOrEqual(0);
        expect(made).toBeGreaterThanOrEqual(madeBefore + 250);
      });
      await fixture.clock.advance(30_000);
      expect(fixture.clients.counts.clients).toBe(1);
    }
  });

  test('though it talks, is dropped when it reads nothing for 60 seconds', async () => {
    const fixture = await WebSocketFixture.open(bulky);
    const socket = await dumbClient(fixture, '?include=details');
    socket.pause();
    for (let first = 1; fixture.clients.counts.clients === 1; first += 1024) {
      fixture.publish(first, first + 1023);
      await say(fixture, socket, 0xa);
      await fixture.clock.advance(30_000);
    }
    expect(fixture.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(fixture.log.lines).toContainEqual(expect.objectContaining({ fields: { reason: 'it reads nothing' } }));
    expect(fixture.clients.counts.missed).toBeGreaterThan(0);
  });
});

test('a thousand pings at once are answered by a few pongs, the last one by its own', async () => {
  const fixture = await WebSocketFixture.open();
  const socket = await dumbClient(fixture);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ping = (at: number): Buffer => Buffer.from([0x89, 0x82, 0, 0, 0, 0, at >> 8, at & 0xff]);
  socket.write(Buffer.concat(Array.from({ length: 1000 }, (_, at) => ping(at))));
  await eventually(() =>
    expect(Buffer.concat(chunks).subarray(-4)).toEqual(Buffer.from([0x8a, 2, 999 >> 8, 999 & 0xff])),
  );
  const pongs = Buffer.concat(chunks).toString('latin1').split('\x8a\x02').length - 1;
  expect(pongs).toBeLessThan(100);
});
