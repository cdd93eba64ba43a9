// A process that sends frames over an open WebSocket, so that the client's cost is not counted as the service's.
import { connect } from 'node:net';

const GREETING =
  'GET /api/v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
/** Milliseconds of silence after which the service has nothing more to do. */
const SILENCE_MS = 60;
const MASK = [1, 2, 3, 4];
const MASKED = 0x80;
/** Bytes before a payload of fewer than 126 bytes: two, and the mask. */
const HEAD = 6;

/** All frames together are as long on the wire as the text. */
process.on('message', ({ port, text, first, others, size }) => {
  const payload = Buffer.from(text);
  const bytes =
    first === undefined
      ? payload
      : size === undefined
        ? frame(first, payload)
        : Buffer.concat(
            Array.from({ length: Math.ceil(payload.length / (size + HEAD)) }, (_, at) =>
              frame(at === 0 ? first : others, payload.subarray(at * size, (at + 1) * size)),
            ),
          );
  const socket = connect(port, '127.0.0.1', () => socket.write(GREETING));
  socket.once('data', () => {
    socket.resume();
    socket.end(bytes);
  });
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('close', () => process.send('closed'));
});

function frame(first, payload) {
  const { length } = payload;
  const head = length < 126 ? Buffer.from([first, MASKED | length]) : Buffer.alloc(10);
  if (length >= 126) {
    head.writeUInt16BE((first << 8) | MASKED | 127);
    head.writeUInt32BE(length, 6);
  }
  return Buffer.concat([head, Buffer.from(MASK), payload.map((byte, at) => byte ^ MASK[at % 4])]);
}
