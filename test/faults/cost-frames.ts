import { connect } from 'node:net';
import { WebSocketFixture } from '../support/websocket-fixture.ts';
import { ANY, type Entrance } from './cost-entrances.ts';

const GREETING =
  'GET /api/v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
/** Opcodes of RFC 6455, 5.2; the first of a fragmented message has none of them but TEXT, without the bit FIN. */
const [CONTINUATION, TEXT, PING, FIN] = [0, 1, 9, 0x80];
const MASK = [1, 2, 3, 4] as const;
/** 64 KB in frames of one byte cost 50 ms, half of it the client's, which runs in this process too. */
const HALF = 32 * 1024;
/** Bytes before a payload of fewer than 126: two, and the mask. */
const HEAD = 6;

/** What clients send over an open WebSocket; on the wire each is as long as its text. */
export async function frames(): Promise<readonly Entrance[]> {
  const { port } = await WebSocketFixture.open();
  const sent = (name: string, framed: (payload: Buffer) => readonly Buffer[], limit = ANY): Entrance => ({
    name,
    limit,
    wanted: ['a', '\u0081\u0080'],
    take: (text) => talk(port, Buffer.concat(framed(Buffer.from(text)))),
  });
  const each = (opcodeOf: (at: number) => number, size: number) => (payload: Buffer) => {
    const count = Math.ceil(payload.length / (size + HEAD));
    return Array.from({ length: count }, (_, at) => frame(opcodeOf(at), payload.subarray(at * size, (at + 1) * size)));
  };
  return [
    sent('a frame of text', (payload) => [frame(FIN | TEXT, payload)]),
    sent(
      'frames of one byte',
      each(() => FIN | TEXT, 1),
      HALF,
    ),
    sent(
      'frames of 125 bytes',
      each(() => FIN | TEXT, 125),
    ),
    // Each is answered by a frame and a write: 9,000 pings of one byte, 64 KB, cost 52 ms, client included.
    sent(
      'pings of 125 bytes',
      each(() => FIN | PING, 125),
    ),
    sent(
      'a message in pieces of one byte',
      each((at) => (at === 0 ? TEXT : CONTINUATION), 1),
      HALF,
    ),
    sent('bytes after the handshake', (payload) => [payload]),
  ];
}

function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = length < 126 ? Buffer.from([first, FIN | length]) : Buffer.alloc(10);
  if (length >= 126) {
    head.writeUInt16BE((first << 8) | FIN | 127);
    head.writeUInt32BE(length, 6);
  }
  return Buffer.concat([head, Buffer.from(MASK), payload.map((byte, at) => byte ^ (MASK[at % 4] ?? 0))]);
}

/** Writes once the service has upgraded, and ends when the service has closed. */
function talk(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(GREETING));
    socket.once('data', () => {
      socket.resume();
      socket.end(bytes);
    });
    socket.setTimeout(60, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve());
  });
}
