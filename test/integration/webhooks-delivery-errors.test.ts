import { createServer } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { DeliveryErrors } from '../../src/core/webhooks/delivery-errors.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort } from '../support/service.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function newPoster(attemptTimeoutMs?: number): Poster {
  const limit = attemptTimeoutMs === undefined ? {} : { attemptTimeoutMs };
  const poster = new Poster({ version: '1.2.3', clock: systemClock, retryWaitsMs: [1, 1], ...limit });
  closers.push(() => poster.close());
  return poster;
}

async function newReceiver(answer: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  closers.push(() => receiver.close());
  return receiver;
}

function send(poster: Poster, url: string, retry = false): ReturnType<Poster['send']> {
  const to = { url, secret: null, previousSecret: null, headers: {}, keyId: null };
  return poster.send({ to, id: 'one', event: 'message.received', json: '{}', retry });
}

test('a refused connection and a refusing answer are counted for each attempt, and a delivery is not', async () => {
  const poster = newPoster();
  const port = await freePort();
  const statuses = [550, 499, 302, 204];
  const receiver = await newReceiver((response) => void response.writeHead(statuses.shift() ?? 204).end());
  await send(poster, `http://127.0.0.1:${port}/zqpath`, true).result;
  // The same address in an IPv6 spelling that no address class covers.
  await send(poster, `http://[::ffff:127.0.0.1]:${port}/`).result;
  for (let count = 0; count < 4; count += 1) await send(poster, receiver.url).result;
  expect(poster.errors.counts).toEqual({
    loopback: { ECONNREFUSED: 3, '5xx': 1, '4xx': 1, '3xx': 1 },
    private: {},
    other: { ECONNREFUSED: 1 },
  });
});

test('a receiver that never answers, speaks no HTTP or no TLS has its own code', async () => {
  const silent = await newReceiver(() => undefined);
  const poster = newPoster(50);
  await send(poster, silent.url).result;
  const patient = newPoster();
  const talker = createServer((socket) => {
    socket.on('error', () => undefined).end('no HTTP\r\n\r\n');
  });
  await new Promise<void>((resolve) => void talker.listen(0, '127.0.0.1', resolve));
  closers.push(() => talker.close());
  const { port } = talker.address() as { readonly port: number };
  await send(patient, `http://127.0.0.1:${port}/`).result;
  await send(patient, `https://127.0.0.1:${port}/`).result;
  expect(poster.errors.counts.loopback).toEqual({ no_answer: 1 });
  expect(patient.errors.counts.loopback).toEqual({ http: 1, tls: 1 });
});

/** Starts a server that writes these bytes to each request, over and over until the connection closes. Counts them. */
async function endless(start: string, repeated: string) {
  const sent = { bytes: 0 };
  const server = createServer((socket) => {
    const write = (): void => {
      while (!socket.destroyed && socket.write(repeated)) sent.bytes += repeated.length;
    };
    socket.on('error', () => undefined).on('drain', write);
    socket.once('data', () => {
      socket.write(start);
      write();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}/`, sent };
}

test.each(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'])(
  'an endless %j ends the attempt, before its time is up',
  async (interim) => {
    const receiver = await endless('', interim.repeat(100));
    const poster = newPoster(2000);
    const { outcome, error } = await send(poster, receiver.url).result;
    expect([outcome, error]).toEqual(['failed', 'The receiver sends interim answers (1xx) without end.']);
  },
);

test('an answer whose body comes byte by byte is taken, and its end not waited for', async () => {
  const receiver = await endless('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'.repeat(100));
  const { outcome, answer } = await send(newPoster(), receiver.url).result;
  expect([outcome, answer]).toEqual(['delivered', 'x'.repeat(1024)]);
});

test('an attempt that we ended ourselves is no failure of the receiver', async () => {
  const poster = newPoster();
  let cancel = (): void => undefined;
  const receiver = await newReceiver(() => cancel());
  const sending = send(poster, receiver.url, true);
  cancel = () => sending.attempts.cancel();
  expect((await sending.result).outcome).toBe('interrupted');
  expect(poster.errors.counts).toEqual({ loopback: {}, private: {}, other: {} });
});

test.each([
  ['http://192.168.1.9/zq', 'EHOSTUNREACH', { private: { EHOSTUNREACH: 1 } }],
  ['http://zqnas.local/zq', 'ENOTFOUND', { private: { ENOTFOUND: 1 } }],
  ['http://localhost:9/zq', 'ECONNREFUSED', { loopback: { ECONNREFUSED: 1 } }],
  ['http://[::1]:9/zq', 'ECONNRESET', { loopback: { ECONNRESET: 1 } }],
  ['https://zq.example.org/zq', 'CERT_HAS_EXPIRED', { other: { tls: 1 } }],
  ['https://zq.example.org/zq', 'connect to zq.example.org', { other: { other: 1 } }],
  ['https://zq.example.org/zq', 101, { other: { other: 1 } }],
] as const)('of %s and %s the class and the code alone are kept', (url, failure, expected) => {
  const errors = new DeliveryErrors();
  errors.note(url, failure);
  expect(errors.counts).toEqual({ loopback: {}, private: {}, other: {}, ...expected });
});
