import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

type CutLine = 'both ways' | 'to the broker' | 'from the broker';

/** A line to the broker that can stop forwarding without closing connections, like a network that drops packets. */
export class DroppingLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut: CutLine | undefined;
  url = '';

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const target = connect(port, '127.0.0.1');
      for (const [from, to, way] of [
        [client, target, 'to the broker'],
        [target, client, 'from the broker'],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.on('data', (chunk) => {
          if (this.#cut !== way && this.#cut !== 'both ways') to.write(chunk);
        });
      }
    });
  }

  static async start(port: number): Promise<DroppingLine> {
    const line = new DroppingLine(port);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    const address = line.#server.address();
    line.url = `nats://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    return line;
  }

  /** Drops every byte from now on. */
  cut(way: CutLine = 'both ways'): void {
    this.#cut = way;
  }

  /** Forwards again. Dropped bytes stay lost, so existing connections are unusable. */
  restore(): void {
    this.#cut = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
