import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Run } from './run.ts';

/** The way to one client. */
export interface Outlet {
  isOpen(): boolean;
  /** Hands a run over. `onTaken` follows later, once it is out of our hands; `hadToWait`: the client's reading made room. */
  send(run: Run, onTaken: (hadToWait: boolean) => void): void;
  ping(): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/**
 * Under Node whole frames are written straight to the socket: the upgrade gave it to us, nothing is compressed,
 * and so ws's own frames (ping, pong, close) can only stand between ours. Bun's `ws` keeps the socket to itself.
 */
export const openOutlet = 'Bun' in globalThis ? messageOutlet : socketOutlet;

function socketOutlet(webSocket: WebSocket, socket: Duplex): Outlet {
  return {
    ...control(webSocket),
    send(run, onTaken) {
      let hadToWait = false;
      socket.write(run.bytes, (error) => {
        if (!error) onTaken(hadToWait);
      });
      hadToWait = socket.writableLength > 0;
    },
  };
}

/** One `send` an event, through the public interface alone. */
function messageOutlet(webSocket: WebSocket): Outlet {
  return {
    ...control(webSocket),
    send(run, onTaken) {
      let hadToWait = false;
      const last = run.texts.length - 1;
      for (const [index, text] of run.texts.entries()) {
        if (index < last) webSocket.send(text);
        else webSocket.send(text, (error) => void (error ?? onTaken(hadToWait)));
      }
      hadToWait = webSocket.bufferedAmount > 0;
    },
  };
}

function control(webSocket: WebSocket): Omit<Outlet, 'send'> {
  return {
    isOpen: () => webSocket.readyState === webSocket.OPEN,
    ping: () => webSocket.ping(),
    close: (code, reason) => webSocket.close(code, reason),
    terminate: () => webSocket.terminate(),
  };
}
