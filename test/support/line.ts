import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The connection from a hub to the broker, which can be delayed like a network's. */
export class Line {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isStalled = false;
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(port: number): Promise<Line> {
    const server = createServer();
    const line = new Line(server);
    server.on('connection', (near) => {
      if (line.#isCut) {
        near.destroy();
        return;
      }
      const far = connect(port, '127.0.0.1');
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        line.#sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          line.#sockets.delete(from);
          into.destroy();
        });
        from.pipe(into);
        if (line.#isStalled) from.pause();
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return line;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stall(isStalled: boolean): void {
    this.#isStalled = isStalled;
    for (const socket of this.#sockets) {
      if (isStalled) socket.pause();
      else socket.resume();
    }
  }

  /** Ends all connections, and refuses new ones until it is called with false. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
