import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly event: { readonly type: string; readonly data: { readonly id: string } & Readonly<Record<string, unknown>> };
}

/** A webhook receiver: a real HTTP server on port 0 that records deliveries and answers as told. */
export class Receiver {
  readonly deliveries: Delivery[] = [];
  readonly #server: Server;
  #answer: (response: ServerResponse, delivery: Delivery) => void;

  private constructor(server: Server, answer: (response: ServerResponse, delivery: Delivery) => void) {
    this.#server = server;
    this.#answer = answer;
  }

  static async start(
    answer: (response: ServerResponse, delivery: Delivery) => void = (response) => void response.writeHead(204).end(),
    port = 0,
  ): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server, answer);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const delivery = {
          headers: request.headers,
          body,
          event: JSON.parse(body.toString('utf8')) as Delivery['event'],
        };
        receiver.deliveries.push(delivery);
        receiver.#answer(response, delivery);
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Sets how it answers from now on. */
  answerWith(answer: (response: ServerResponse, delivery: Delivery) => void): void {
    this.#answer = answer;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
