import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { EventBatch } from '../batch.ts';
import type { ClientSocket, EndReason } from '../client.ts';

/** RFC 6455, 7.4.1 and 7.4.2. 4410 is for browsers, which cannot see that the handshake's status would be 410. */
const CLOSINGS = {
  shutting_down: [1001, 'The service is shutting down.'],
  key_ended: [1008, 'The key is no longer valid.'],
  offset_expired: [4410, 'The offset has expired. Read the messages again.'],
  failure: [1011, 'Internal error.'],
} as const;

/**
 * Under Node, writes whole frames to the socket, between those of ws (ping, pong, close): with many clients, framing
 * an event for each costs the most. Bun's `ws` does not expose the socket.
 */
export function openClientSocket(webSocket: WebSocket, socket: Duplex): ClientSocket {
  return 'Bun' in globalThis ? new MessageSocket(webSocket) : new FrameSocket(webSocket, socket);
}

/** One `send` per event, through the public interface of ws. */
class MessageSocket implements ClientSocket {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
  }

  isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  send(batch: EventBatch, onDrain: () => void): boolean {
    let isTaken = false;
    let isWaiting = false;
    const last = batch.texts.length - 1;
    for (const [index, text] of batch.texts.entries()) {
      if (index < last) this.#webSocket.send(text);
      // Called before `send` returns if nothing is queued.
      else
        this.#webSocket.send(text, (error) => {
          isTaken = !error;
          if (isWaiting && isTaken) onDrain();
        });
    }
    isWaiting = !isTaken && this.#webSocket.bufferedAmount > 0;
    return !isWaiting;
  }

  ping(): void {
    this.#webSocket.ping();
  }

  close(reason: EndReason): void {
    const [code, text] = CLOSINGS[reason];
    this.#webSocket.close(code, text);
  }

  terminate(): void {
    this.#webSocket.terminate();
  }
}

class FrameSocket extends MessageSocket {
  readonly #socket: Duplex;

  constructor(webSocket: WebSocket, socket: Duplex) {
    super(webSocket);
    this.#socket = socket;
  }

  override send(batch: EventBatch, onDrain: () => void): boolean {
    this.#socket.write(batch.bytes);
    if (this.#socket.writableLength === 0) return true;
    // An empty write after the frames, only if they are queued: a callback for every write costs as much as the write.
    this.#socket.write('', (error) => {
      if (!error) onDrain();
    });
    return false;
  }
}
