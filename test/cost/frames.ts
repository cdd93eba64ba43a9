import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { whenFileEnds } from '../support/temporary.ts';
import { WebSocketFixture } from '../support/websocket-fixture.ts';
import { ANY, type Entrance } from './entrances.ts';

/** Opcodes of RFC 6455, 5.2. The first frame of a fragmented message is TEXT without the bit FIN. */
const [CONTINUATION, TEXT, PING, FIN] = [0, 1, 9, 0x80];

/**
 * How a text is sent: the first byte of the first frame and of the following ones, and the bytes in each. Without them,
 * one frame.
 */
interface Framing {
  readonly first?: number;
  readonly others?: number;
  readonly size?: number;
}

/** Returns the entrances of an open WebSocket. */
export async function frames(): Promise<readonly Entrance[]> {
  const { port } = await WebSocketFixture.open();
  const client = fork(join(import.meta.dirname, '../support/raw-client.mjs'));
  whenFileEnds(() => client.kill('SIGKILL'));
  const sent = (name: string, framing: Framing): Entrance => ({
    name,
    limit: ANY,
    wanted: ['a', '\u0081\u0080'],
    async take(text) {
      client.send({ port, text, ...framing });
      await once(client, 'message');
    },
  });
  const each = (opcode: number, size: number): Framing => ({ first: FIN | opcode, others: FIN | opcode, size });
  return [
    sent('a frame of text', { first: FIN | TEXT }),
    sent('frames of one byte', each(TEXT, 1)),
    sent('frames of 125 bytes', each(TEXT, 125)),
    sent('pings of one byte', each(PING, 1)),
    sent('pings of 125 bytes', each(PING, 125)),
    sent('a message in pieces of one byte', { first: TEXT, others: CONTINUATION, size: 1 }),
    sent('bytes after the handshake', {}),
  ];
}
