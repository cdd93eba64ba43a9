import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { FrameBatch } from './frame-batch.ts';

/** The connection to one client. */
export interface ClientSocket {
  isOpen(): boolean;
  /** Sends a batch. True when the system took all of it; otherwise `onDrain` is called once it has. */
  send(batch: FrameBatch, onDrain: () => void): boolean;
  ping(): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/**
 * Under Node whole frames are written to the socket, between ws's own (ping, pong, close), because framing an event
 * for each client costs the most with many of them. Bun's `ws` does not give the socket out.
 */
export function openClientSocket(webSocket: WebSocket, socket: Duplex): ClientSocket {
  return 'Bun' in globalThis ? new MessageSocket(webSocket) : new FrameSocket(webSocket, socket);
}

/** One `send` for each event, through the public interface of ws. */
class MessageSocket implements ClientSocket {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
  }

  isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  send(batch: FrameBatch, onDrain: () => void): boolean {
    let isTaken = false;
    let isWaiting = false;
    const last = batch.texts.length - 1;
    for (const [index, text] of batch.texts.entries()) {
      if (index < last) this.#webSocket.send(text);
      // Called before `send` returns when nothing is queued.
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

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
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

  override send(batch: FrameBatch, onDrain: () => void): boolean {
    this.#socket.write(batch.bytes);
    if (this.#socket.writableLength === 0) return true;
    // An empty write after the frames, only when they are queued: a callback for every write costs as much as the write.
    this.#socket.write('', (error) => {
      if (!error) onDrain();
    });
    return false;
  }
}
