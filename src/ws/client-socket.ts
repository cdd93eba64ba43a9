import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { FrameBatch } from './frame-batch.ts';

/** The way to one client. */
export interface ClientSocket {
  isOpen(): boolean;
  /** Hands a run over. True: it is out of our hands. Otherwise `onTaken` follows, once the client's reading has made room. */
  send(run: FrameBatch, onTaken: () => void): boolean;
  ping(): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/**
 * Under Node whole frames are written straight to the socket: the upgrade gave it to us, nothing is compressed,
 * and so ws's own frames (ping, pong, close) can only stand between ours. Bun's `ws` keeps the socket to itself.
 */
export function openClientSocket(webSocket: WebSocket, socket: Duplex): ClientSocket {
  return 'Bun' in globalThis ? new MessageSocket(webSocket) : new FrameSocket(webSocket, socket);
}

/** One `send` an event, through the public interface alone. */
class MessageSocket implements ClientSocket {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
  }

  isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  send(run: FrameBatch, onTaken: () => void): boolean {
    let isTaken = false;
    let isWaiting = false;
    const last = run.texts.length - 1;
    for (const [index, text] of run.texts.entries()) {
      if (index < last) this.#webSocket.send(text);
      // Called within `send` where nothing stands in its way.
      else
        this.#webSocket.send(text, (error) => {
          isTaken = !error;
          if (isWaiting && isTaken) onTaken();
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

  override send(run: FrameBatch, onTaken: () => void): boolean {
    this.#socket.write(run.bytes);
    if (this.#socket.writableLength === 0) return true;
    // Behind the frames, and only where they wait: a callback for every write would cost as much as the write.
    this.#socket.write('', (error) => {
      if (!error) onTaken();
    });
    return false;
  }
}
