import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type Post, Poster, type PosterParts, type Target } from '../../src/core/webhooks/poster.ts';
import { RETRY_WAITS_MS } from '../../src/core/webhooks/retry-policy.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { longWaits } from '../support/long-waits.ts';
import { Receiver } from '../support/receiver.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function newPoster(options: Partial<PosterParts> = {}): Poster {
  const poster = new Poster({ version: '1.2.3', clock: systemClock, retryWaitsMs: [10, 20], ...options });
  closers.push(() => poster.close());
  return poster;
}

async function newReceiver(answer?: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  closers.push(() => receiver.close());
  return receiver;
}

/** Starts a receiver that speaks raw TCP. */
async function newTcpServer(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: TcpServer = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

function post(url: string, { secret = null, ...options }: Partial<Post & Target> = {}): Post {
  const json = '{"type":"message.received","data":{"id":"1","body":"Grüße 👋"}}';
  const to = { url, secret, previousSecret: null, headers: {}, keyId: null };
  return { to, id: 'delivery-1', event: 'message.received', json, retry: true, ...options };
}

describe('a post', () => {
  test('carries the event, who sends it, and its identity', async () => {
    const receiver = await newReceiver();
    const result = await newPoster().send(post(receiver.url)).result;
    expect(result).toMatchObject({ outcome: 'delivered', attempts: 1, status: 204, error: null });
    const [delivery] = receiver.deliveries;
    expect(delivery?.body.toString('utf8')).toBe(post('').json);
    expect(delivery?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Postern/1.2.3',
      'x-webhook-event': 'message.received',
      'x-webhook-delivery': 'delivery-1',
      'x-webhook-attempt': '1',
      'webhook-id': 'delivery-1',
      'accept-encoding': 'identity',
    });
    expect(Math.abs(Number(delivery?.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(5);
    expect(delivery?.headers['x-webhook-signature']).toBeUndefined();
    expect(delivery?.headers['webhook-signature']).toBeUndefined();
  });

  test('is signed over the bytes that arrive, on every attempt again', async () => {
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    await newPoster().send(post(receiver.url, { secret: 'whsec_c2VjcmV0' })).result;
    expect(receiver.deliveries).toHaveLength(3);
    for (const { headers, body } of receiver.deliveries) {
      const hex = createHmac('sha256', 'whsec_c2VjcmV0').update(body).digest('hex');
      expect(headers['x-webhook-signature']).toBe(`sha256=${hex}`);
      const signed = `delivery-1.${String(headers['webhook-timestamp'])}.${body.toString('utf8')}`;
      expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', 'secret').update(signed).digest('base64')}`);
    }
  });

  test('keeps its connection for the next one', async () => {
    const receiver = await newReceiver((response) => void response.end('thanks'));
    const ports = new Set<number | undefined>();
    receiver.answerWith((response) => {
      ports.add(response.socket?.remotePort);
      response.end('thanks');
    });
    const poster = newPoster();
    for (let count = 0; count < 5; count += 1) await poster.send(post(receiver.url)).result;
    expect(ports.size).toBe(1);
  });

  test('sends the credentials of the url as basic authorization', async () => {
    const receiver = await newReceiver();
    await newPoster().send(post(receiver.url.replace('//', '//user:p%40ss@'))).result;
    const expected = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(receiver.deliveries[0]?.headers.authorization).toBe(expected);
  });

  test('goes straight to the receiver, whatever proxy the environment names', async () => {
    const [receiver, proxy] = [await newReceiver(), await newReceiver()];
    process.env.http_proxy = new URL(proxy.url).origin;
    try {
      expect(await newPoster().send(post(receiver.url)).result).toMatchObject({ outcome: 'delivered' });
    } finally {
      delete process.env.http_proxy;
    }
    expect([receiver.deliveries.length, proxy.deliveries.length]).toEqual([1, 0]);
  });

  test('reports the beginning of what the receiver said', async () => {
    const receiver = await newReceiver((response) => void response.writeHead(418).end('I am a teapot'));
    const result = await newPoster().send(post(receiver.url, { retry: false })).result;
    expect(result).toMatchObject({ outcome: 'failed', attempts: 1, status: 418, answer: 'I am a teapot' });
  });
});

describe('a failed post', () => {
  test('is tried again after 1 second and then after 5', () => {
    expect(RETRY_WAITS_MS).toEqual([1000, 5000]);
  });

  test('is tried three times with the waits in between, the same bytes and the same identity', async () => {
    const times: number[] = [];
    const receiver = await newReceiver((response) => {
      times.push(performance.now());
      response.writeHead(500).end('no');
    });
    const result = await newPoster({ retryWaitsMs: [60, 180] }).send(post(receiver.url)).result;
    expect(result).toMatchObject({ outcome: 'failed', attempts: 3, status: 500, error: 'The receiver answered 500.' });
    const { deliveries } = receiver;
    expect(deliveries.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(deliveries.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(1);
    expect(new Set(deliveries.map(({ body }) => body.toString('hex'))).size).toBe(1);
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(55);
    expect(third - second).toBeGreaterThanOrEqual(175);
    expect(result.durationMs).toBeGreaterThanOrEqual(230);
  });

  test('is delivered when a later attempt succeeds', async () => {
    const receiver = await newReceiver();
    receiver.answerWith((response) => void response.writeHead(receiver.deliveries.length < 3 ? 502 : 200).end());
    const result = await newPoster().send(post(receiver.url)).result;
    expect(result).toMatchObject({ outcome: 'delivered', attempts: 3, status: 200, error: null });
  });

  test('has the status of its last answer, and none when the last attempt got no answer', async () => {
    const receiver = await newReceiver();
    receiver.answerWith((response) => {
      if (receiver.deliveries.length < 3) response.writeHead(502).end();
      else response.socket?.resetAndDestroy();
    });
    expect(await newPoster().send(post(receiver.url)).result).toMatchObject({ attempts: 3, status: null });
  });

  test('is one that was redirected, and the other address gets no request', async () => {
    const other = await newReceiver();
    const receiver = await newReceiver((response) => void response.writeHead(307, { Location: other.url }).end());
    const result = await newPoster().send(post(receiver.url)).result;
    expect(result).toMatchObject({ outcome: 'failed', attempts: 3, status: 307 });
    expect(other.deliveries).toHaveLength(0);
  });

  test('is one that is answered by an unrequested change of protocol', async () => {
    let open = 0;
    const url = await newTcpServer((socket) => {
      open += 1;
      socket.on('close', () => {
        open -= 1;
      });
      socket.on('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
      );
    });
    const result = await newPoster().send(post(url)).result;
    // It is an answer, not an expired time limit.
    expect(result).toMatchObject({ outcome: 'failed', attempts: 3, status: 101, error: 'The receiver answered 101.' });
    await eventually(() => expect(open).toBe(0));
  });

  test('is one whose answer has an invalid status', async () => {
    const url = await newTcpServer((socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n')),
    );
    const result = await newPoster().send(post(url)).result;
    expect(result).toMatchObject({ outcome: 'failed', attempts: 3, status: null });
  });

  test('is one without an answer in time, even when the head trickles in', async () => {
    const silent = await newTcpServer(() => undefined);
    const dribbling = await newTcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('X-More: y\r\n'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const poster = newPoster({ attemptTimeoutMs: 100 });
    for (const url of [silent, dribbling]) {
      const result = await poster.send(post(url)).result;
      const error = 'The receiver did not answer within 0.1 s.';
      expect(result).toMatchObject({ outcome: 'failed', attempts: 3, status: null, error });
    }
  });

  test('is one without an answer within 10 s', async () => {
    const clock = new FakeClock();
    let tries = 0;
    const silent = await newTcpServer(() => {
      tries += 1;
    });
    const sending = newPoster({ clock }).send(post(silent, { retry: false }));
    let isOver = false;
    void sending.result.then(() => {
      isOver = true;
    });
    await eventually(() => expect(tries).toBe(1));
    await clock.advance(9999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect((await sending.result).error).toBe('The receiver did not answer within 10 s.');
    const receiver = await newReceiver();
    await newPoster({ clock }).send(post(receiver.url)).result;
    expect(clock.pending).toBe(0);
  });

  test('still waits before the next attempt after one that took too long', async () => {
    // Start times of the attempts here, because a receiver may notice them late.
    const begins: number[] = [];
    const clock = {
      ...systemClock,
      after: (ms: number, run: () => void) => {
        if (ms === 50) begins.push(performance.now());
        return systemClock.after(ms, run);
      },
    };
    const silent = await newTcpServer(() => undefined);
    await newPoster({ clock, attemptTimeoutMs: 50, retryWaitsMs: [150, 150] }).send(post(silent)).result;
    expect(begins).toHaveLength(3);
    expect((begins[1] ?? 0) - (begins[0] ?? 0)).toBeGreaterThanOrEqual(195);
  });

  test('is one whose connection is reset, refused, or does not speak HTTP', async () => {
    const resetting = await newTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const babbling = await newTcpServer((socket) => socket.end('hello, this is a mail server\r\n'));
    const poster = newPoster({ retryWaitsMs: [1, 1] });
    const reset = await poster.send(post(resetting)).result;
    expect(reset).toMatchObject({ outcome: 'failed', attempts: 3, status: null });
    expect(reset.error).toBe('The receiver closed the connection without an answer.');
    expect((await poster.send(post(babbling)).result).error).toContain('is not HTTP');
    const refused = await poster.send(post('http://127.0.0.1:1/secret-path')).result;
    expect(refused.error).toBe('The receiver refused the connection.');
  });
});

describe('an answer', () => {
  async function newServer(onRequest: Parameters<typeof createServer>[1]): Promise<string> {
    const server: Server = createServer(onRequest as never);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  test('of a gigabyte is a success of which next to nothing is read', async () => {
    let sent = 0;
    let closed = false;
    const url = await newServer((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024);
      response.on('close', () => {
        closed = true;
      });
      const more = (): void => {
        while (!closed && sent < 1 << 30) {
          sent += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
      };
      more();
    });
    const result = await newPoster().send(post(url)).result;
    expect(result).toMatchObject({ outcome: 'delivered', attempts: 1, status: 200 });
    await waitFor(() => closed);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  test('without an end is a success as soon as its head says so, and its connection is closed', async () => {
    let closed = false;
    const url = await newServer((_request, response) => {
      response.writeHead(200).write('and then');
      response.on('close', () => {
        closed = true;
      });
    });
    // The time limit of an attempt is far away, so it does not end the answer.
    const result = await newPoster({ attemptTimeoutMs: 600_000 }).send(post(url)).result;
    expect(result).toMatchObject({ outcome: 'delivered', answer: 'and then' });
    await waitFor(() => closed);
  });

  test('that says gzip and is none is still a success', async () => {
    const url = await newServer(
      (_request, response) => void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('no'),
    );
    expect(await newPoster().send(post(url)).result).toMatchObject({ outcome: 'delivered', attempts: 1 });
  });
});

describe('a post that is ended', () => {
  test('stops a running attempt at once', async () => {
    let closed = false;
    const url = await newTcpServer((socket) => {
      socket.resume();
      socket.on('close', () => {
        closed = true;
      });
      sending.attempts.cancel();
    });
    const sending = newPoster().send(post(url));
    expect(await sending.result).toMatchObject({ outcome: 'interrupted', attempts: 1 });
    await waitFor(() => closed);
  });

  test('stops while it waits, and is not sent again', async () => {
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const waits = longWaits();
    const sending = newPoster({ retryWaitsMs: waits.ms }).send(post(receiver.url));
    await eventually(() => expect(waits.begun).toBe(1));
    sending.attempts.cancel();
    expect(await sending.result).toMatchObject({ outcome: 'interrupted', attempts: 1, status: 500 });
    expect(receiver.deliveries).toHaveLength(1);
  });

  test('before it began sends nothing', async () => {
    const receiver = await newReceiver();
    const sending = newPoster().send(post(receiver.url));
    sending.attempts.cancel();
    expect(await sending.result).toMatchObject({ outcome: 'interrupted', attempts: 0 });
    expect(receiver.deliveries).toHaveLength(0);
  });

  test('may finish its running attempt, but has no other one', async () => {
    const answers: ((status: number) => void)[] = [];
    const receiver = await newReceiver((response) => {
      answers.push((status) => void response.writeHead(status).end());
    });
    const poster = newPoster();
    for (const [outcome, status] of [
      ['delivered', 200],
      ['interrupted', 500],
    ] as const) {
      const sending = poster.send(post(receiver.url));
      const answer = await waitFor(() => answers.pop());
      sending.attempts.finish();
      answer(status);
      expect((await sending.result).outcome).toBe(outcome);
    }
    expect(receiver.deliveries).toHaveLength(2);
  });

  test('whose third attempt fails while it has to finish is a failed one: no attempt is left', async () => {
    const receiver = await newReceiver();
    let answerLast: (() => void) | undefined;
    receiver.answerWith((response) => {
      const answer = (): void => void response.writeHead(500).end();
      if (receiver.deliveries.length < 3) answer();
      else answerLast = answer;
    });
    const sending = newPoster().send(post(receiver.url));
    await eventually(() => expect(answerLast).not.toBe(undefined));
    sending.attempts.finish();
    answerLast?.();
    expect(await sending.result).toMatchObject({ outcome: 'failed', attempts: 3 });
  });

  test('does not wait for a retry when it has to finish', async () => {
    const receiver = await newReceiver((response) => void response.writeHead(500).end());
    const waits = longWaits();
    const sending = newPoster({ retryWaitsMs: waits.ms }).send(post(receiver.url));
    await eventually(() => expect(waits.begun).toBe(1));
    sending.attempts.finish();
    expect(await sending.result).toMatchObject({ outcome: 'interrupted', attempts: 1 });
  });
});
