import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const PATH = '/postern-listen/';
const MAX_BYTES = 64 * 1024 * 1024;
const PROBE_MS = 1000;

/** A delivery with a genuine signature. */
export interface ReceivedDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ListenReceiver {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Receives deliveries on loopback, at a path that cannot be guessed. `onDelivery` returns the HTTP status for the
 * answer. `onForged` is called for a delivery without a valid signature.
 */
export async function startReceiver(
  secret: string,
  onDelivery: (delivery: ReceivedDelivery) => Promise<number>,
  onForged: () => void,
): Promise<ListenReceiver> {
  const path = PATH + randomBytes(16).toString('hex');
  const answer = async (request: IncomingMessage): Promise<{ readonly status: number; readonly text?: string }> => {
    if (request.url !== path) return { status: 404 };
    // Another `listen` is checking whether this one is still running.
    if (request.method === 'GET') return { status: 200, text: path };
    const body = await bodyOf(request);
    if (body === undefined) return { status: 413 };
    if (isGenuine(secret, body, String(request.headers['x-webhook-signature']))) {
      return { status: await onDelivery({ headers: request.headers, body }) };
    }
    onForged();
    return { status: 401 };
  };
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, text }) => response.writeHead(status).end(text),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${path}`, close: () => closed(server) };
}

/** Reports whether a URL belongs to a killed `listen`. The receiver of a killed `listen` no longer answers. */
export async function isLeftover(url: string): Promise<boolean> {
  const { hostname, pathname } = new URL(url);
  if (hostname !== '127.0.0.1' || !pathname.startsWith(PATH)) return false;
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PROBE_MS) });
    return (await answer.text()) !== pathname;
  } catch (error) {
    // A timeout does not prove that `listen` was killed: a suspended `listen` does not answer in time either.
    return (error as Error).name !== 'TimeoutError';
  }
}

function isGenuine(secret: string, body: Buffer, signature: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
}
