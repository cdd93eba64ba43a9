import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { encodeOffset, rowOffset } from '../../src/core/model/offset.ts';
import { problem } from '../../src/core/model/problems.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { KEY } from '../support/http-gateway.ts';
import { arrival } from '../support/memory-log.ts';
import { NDJSON, SSE, StreamFixture } from '../support/stream-fixture.ts';
import { range, withDetails } from '../support/websocket-fixture.ts';

const texts = (from: number, to: number): string[] => range(from, to).map(String);

/** A limited key that reports when it ends. */
function limitedKey() {
  const ends: (() => void)[] = [];
  const onEnd = (run: () => void) => {
    ends.push(run);
    return () => undefined;
  };
  return { ends, onEnd };
}

/** Events of 8 kB, so that a few thousand exceed the kernel's buffers. */
const bulky = {
  json: withDetails((entry) => JSON.stringify({ data: { id: String(entry.rowId), x: 'x'.repeat(8000) } })),
};

describe('Server-Sent Events', () => {
  test('are what happens from now on, with the offset as id and the envelope in one line', async () => {
    const fixture = await StreamFixture.open();
    fixture.publish(1, 3);
    const reading = await fixture.events(SSE);
    expect(reading.response.headers).toMatchObject({ 'content-type': SSE, 'cache-control': 'no-store' });
    fixture.publish(4, 5);
    await eventually(() => expect(reading.messages).toHaveLength(2));
    expect(reading.messages).toEqual([4, 5].map((id) => ({ id: String(id), data: arrival(id).event })));
  });

  test('continue after a row, and after Last-Event-ID whatever the URL says, without gap or repeat', async () => {
    const fixture = await StreamFixture.open();
    fixture.publish(1, 2000);
    const readings = [
      await fixture.events(SSE, '?after=0'),
      await fixture.events(SSE, '?after=0', { 'Last-Event-ID': '1990' }),
      await fixture.events(SSE, '', { 'Last-Event-ID': '2000' }),
    ];
    for (let first = 2001; first < 3000; first += 10) {
      fixture.publish(first, first + 9);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    await waitFor(() => readings.every(({ ids }) => ids.at(-1) === '3000'));
    expect(readings.map(({ ids }) => ids)).toEqual([texts(1, 3000), texts(1991, 3000), texts(2001, 3000)]);
  });

  test('are kept alive by a comment every 15 seconds', async () => {
    const fixture = await StreamFixture.open();
    const reading = await fixture.events(SSE);
    for (const count of [1, 2, 3, 4, 5, 6]) {
      await fixture.clock.advance(15_000);
      await eventually(() => expect(reading.comments).toBe(count));
    }
    expect(reading.hasEnded).toBe(false);
  });

  test.each([
    ['?after=9', {}, 410, 'after_unknown'],
    ['?after=x', {}, 400, 'invalid_request'],
    ['', { 'Last-Event-ID': 'x' }, 400, 'invalid_request'],
  ])('are refused %p with the same problems as a page', async (query, headers, status, code) => {
    const fixture = await StreamFixture.open();
    const reading = await fixture.events(SSE, query, headers);
    await waitFor(() => reading.hasEnded);
    expect(reading.status).toBe(status);
    expect(reading.json).toMatchObject({ code });
  });

  test('answer HEAD with headers alone', async () => {
    const fixture = await StreamFixture.open();
    const answer = await (await fixture.gateway).call('HEAD', '/api/v1/events', { headers: { accept: SSE } });
    expect(answer).toMatchObject({ status: 200, text: '', headers: { 'content-type': SSE } });
    expect(fixture.streams.counts.clients).toBe(0);
  });

  test('with changes have the offset of both as id, and continue from it', async () => {
    const fixture = await StreamFixture.open({}, (feed) =>
      Object.assign(feed, { resolve: () => rowOffset(0), changeGeneration: () => 3 }),
    );
    const reading = await fixture.events(SSE, '?changes=true');
    fixture.channel.publish([{ ...arrival(1, { offset: { rowId: 1, change: 7 } }), generation: 3 }]);
    const offset = encodeOffset({ rowId: 1, change: 7 }, 3);
    await eventually(() => expect(reading.messages).toEqual([{ id: offset, data: { ...arrival(1).event, offset } }]));
    const lines = await fixture.events(NDJSON, '?changes=true');
    await fixture.clock.advance(15_000);
    await eventually(() => expect(lines.lines).toEqual([{ offset }]));
  });
});

describe('NDJSON', () => {
  test('is one envelope a line with its offset, and every 15 seconds the offset alone', async () => {
    const fixture = await StreamFixture.open();
    fixture.publish(1, 3);
    const reading = await fixture.events(NDJSON, '?after=1');
    expect(reading.response.headers['content-type']).toBe(NDJSON);
    await eventually(() => expect(reading.lines).toHaveLength(2));
    expect(reading.lines).toEqual([2, 3].map((id) => ({ ...arrival(id).event, offset: String(id) })));
    await fixture.clock.advance(15_000);
    await eventually(() => expect(reading.lines.at(-1)).toEqual({ offset: '3' }));
  });

  test('of a limited key has only what it may read, and its offset passes the rest', async () => {
    const fixture = await StreamFixture.open({ admits: ({ rowId }) => rowId % 2 === 0 });
    const reading = await fixture.events(NDJSON);
    fixture.publish(1, 5);
    await eventually(() => expect(reading.lines.map(({ offset }) => offset)).toEqual(['2', '4']));
    await fixture.clock.advance(15_000);
    await eventually(() => expect(reading.lines.at(-1)).toEqual({ offset: '5' }));
  });
});

/** Returns a key that may open one stream. */
function roomForOne() {
  const room = { open: 0 };
  const streams = {
    open() {
      if (room.open >= 1) throw problem('too_many_streams', { max: 1 });
      room.open += 1;
      return () => {
        room.open -= 1;
      };
    },
  };
  return { room, streams };
}

describe('a stream', () => {
  test('takes its place before it is answered: of two at the same instant one is refused', async () => {
    const { room, streams } = roomForOne();
    let makeReady = (): void => undefined;
    let asked = 0;
    const isReady = new Promise<void>((resolve) => {
      makeReady = resolve;
    });
    const ready = (): Promise<void> => {
      asked += 1;
      return isReady;
    };
    const fixture = await StreamFixture.open({ streams, ready });
    const readings = Promise.all([fixture.events(SSE), fixture.events(NDJSON)]);
    await waitFor(() => asked === 2);
    makeReady();
    const [first, second] = await readings;
    expect([first.status, second.status].toSorted()).toEqual([200, 429]);
    expect(room.open).toBe(1);
    for (const { response } of [first, second]) response.destroy();
    await waitFor(() => room.open === 0);
  });

  test('that never begins leaves its place to others', async () => {
    const { room, streams } = roomForOne();
    const fixture = await StreamFixture.open({ streams });
    const gateway = await fixture.gateway;
    await gateway.call('HEAD', '/api/v1/events', { headers: { accept: SSE } });
    expect((await fixture.events(SSE, '?after=9')).status).toBe(410);
    expect(room.open).toBe(0);
  });

  const refusals = [`${SSE};q=0`, `${NDJSON} ; Q=0.000`, `${SSE};charset=utf-8; q=0.`];
  test.each(['*/*', `${SSE}, */*`, `${NDJSON}, application/json`, '', ...refusals])(
    'is not what Accept: %s asks for',
    async (accept) => {
      const fixture = await StreamFixture.open();
      fixture.publish(1, 2);
      const reading = await fixture.events(accept, '?after=1');
      await waitFor(() => reading.hasEnded);
      expect(reading.json).toEqual([arrival(2).event]);
      expect(reading.response.headers.link).toBe('<?after=2>; rel="next"');
    },
  );

  test('ends when the service stops, after what was published before', async () => {
    const fixture = await StreamFixture.open();
    const readings = [await fixture.events(SSE), await fixture.events(NDJSON)];
    fixture.publish(1, 1);
    await fixture.streams.close(1000);
    await waitFor(() => readings.every(({ hasEnded }) => hasEnded));
    expect(readings.map(({ text }) => text.includes('"G1"'))).toEqual([true, true]);
    expect(readings.map(({ response }) => response.complete)).toEqual([true, true]);
  });

  test('of a key ends when the key does', async () => {
    const { ends, onEnd } = limitedKey();
    const fixture = await StreamFixture.open({ onEnd });
    const reading = await fixture.events(SSE);
    for (const end of ends) end();
    await waitFor(() => reading.hasEnded);
    await eventually(() => expect(fixture.streams.counts.clients).toBe(0));
  });

  test.each([SSE, NDJSON])(
    'of %s with changes ends when chat.db is replaced, and one without continues',
    async (type) => {
      let generation = 3;
      const fixture = await StreamFixture.open({}, (feed) =>
        Object.assign(feed, { resolve: () => rowOffset(0), changeGeneration: () => generation }),
      );
      const [reading, plain] = [await fixture.events(type, '?changes=true'), await fixture.events(type)];
      generation = 4;
      fixture.channel.restart(rowOffset(0));
      await waitFor(() => reading.hasEnded);
      fixture.publish(1, 1);
      await waitFor(() => plain.text.includes('"G1"'));
      expect(reading.text).toBe('');
      expect(reading.response.complete).toBe(true);
      expect(plain.hasEnded).toBe(false);
    },
  );

  test('leaves no timer and no place behind when its client goes', async () => {
    const fixture = await StreamFixture.open();
    const reading = await fixture.events(SSE);
    reading.response.destroy();
    // A client that closes its side may still read; only writing shows that it does not.
    await eventually(async () => {
      await fixture.clock.advance(15_000);
      expect(fixture.streams.counts.clients).toBe(0);
    });
    expect(fixture.clock.pending).toBe(0);
  });

  test('that nobody reads loses the oldest, and is dropped after 60 seconds', async () => {
    const fixture = await StreamFixture.open(bulky);
    const { port } = await fixture.gateway;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      `GET /api/v1/events?include=details HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${KEY}\r\nAccept: ${SSE}\r\n\r\n`,
    );
    await waitFor(() => fixture.streams.counts.clients === 1);
    for (let first = 1; fixture.streams.counts.clients === 1; first += 1024) {
      fixture.publish(first, first + 1023);
      await fixture.clock.advance(15_000);
    }
    expect(fixture.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(fixture.streams.counts.missed).toBeGreaterThan(0);
    // Depends on which check is first: the one of every answer, or the one of streams.
    expect(fixture.log.lines.map(({ fields }) => fields?.reason).filter((reason) => reason !== undefined)).toEqual([
      expect.stringMatching(/^it reads nothing$|^an answer was not read for 60 s$/),
    ]);
    socket.destroy();
  });

  test('that resumes is never skipped, however slowly it is read', async () => {
    const fixture = await StreamFixture.open(bulky);
    const reading = await fixture.events(SSE, '?after=0&include=details');
    reading.response.pause();
    for (let first = 1; first < 4000; first += 512) {
      fixture.publish(first, first + 511);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    const last = fixture.channel.last.rowId;
    reading.response.resume();
    await waitFor(() => reading.text.includes(`id: ${last}\n`) && reading.text.endsWith('\n\n'));
    expect(reading.ids).toEqual(texts(1, last));
    expect(fixture.streams.counts.missed).toBe(0);
  });
});

describe('?wait', () => {
  test('answers as soon as there is an event, with a Link to continue from', async () => {
    const fixture = await StreamFixture.open();
    fixture.publish(1, 1);
    const asked = fixture.events('*/*', '?after=1&wait=50');
    await waitFor(() => fixture.clock.pending > 1);
    fixture.publish(2, 2);
    const reading = await asked;
    await waitFor(() => reading.hasEnded);
    expect(reading.json).toEqual([arrival(2).event]);
    expect(reading.response.headers.link).toBe('<?wait=50&after=2>; rel="next"');
  });

  test.each(['25', '999'])('of %s seconds ends with [] when nothing happens', async (wait) => {
    const fixture = await StreamFixture.open({ admits: ({ rowId }) => rowId > 1 });
    const asked = fixture.events('*/*', `?after=0&wait=${wait}`);
    await waitFor(() => fixture.clock.pending > 1);
    // Rows that a limited key may not read are left out, and the Link leads past them.
    fixture.publish(1, 1);
    await fixture.clock.advance(Math.min(Number(wait), 50) * 1000);
    const reading = await asked;
    await waitFor(() => reading.hasEnded);
    expect(reading.json).toEqual([]);
    expect(reading.response.headers.link).toContain('after=1>');
  });

  test('ends with [] when the service stops', async () => {
    const fixture = await StreamFixture.open();
    const asked = fixture.events('*/*', '?after=0&wait=50');
    await waitFor(() => fixture.clock.pending > 1);
    const closed = (await fixture.gateway).close();
    const reading = await asked;
    await waitFor(() => reading.hasEnded);
    expect(reading.json).toEqual([]);
    await closed;
  });

  test('with changes ends with [] when chat.db is replaced, and its Link has expired', async () => {
    let generation = 3;
    const fixture = await StreamFixture.open({}, (feed) =>
      Object.assign(feed, { resolve: () => rowOffset(0), changeGeneration: () => generation }),
    );
    const asked = fixture.events('*/*', '?changes=true&wait=50');
    await waitFor(() => fixture.clock.pending > 1);
    generation = 4;
    fixture.messages.addMany(1, 1);
    fixture.channel.restart(rowOffset(1));
    const reading = await asked;
    await waitFor(() => reading.hasEnded);
    expect(reading.json).toEqual([]);
    expect(reading.response.headers.link).toContain(`after=${encodeOffset(rowOffset(0), 3)}>`);
  });

  test('ends with 401 when the key does', async () => {
    const { ends, onEnd } = limitedKey();
    const fixture = await StreamFixture.open({ onEnd });
    const asked = fixture.events('*/*', '?after=0&wait=50');
    await waitFor(() => ends.length > 0);
    for (const end of ends) end();
    expect((await asked).status).toBe(401);
  });

  test('is forgotten when its client goes', async () => {
    const fixture = await StreamFixture.open();
    const { port } = await fixture.gateway;
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /api/v1/events?after=0&wait=50 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${KEY}\r\n\r\n`);
    await waitFor(() => fixture.clock.pending > 1);
    socket.resetAndDestroy();
    await eventually(() => expect(fixture.clock.pending).toBe(0));
  });
});
