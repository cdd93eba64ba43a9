export interface TransportRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is sent in pieces, while it is still being read. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

/** An HTTP answer. The body can be read once, as text or as bytes. */
export interface TransportResponse {
  readonly status: number;
  readonly text: () => Promise<string>;
  readonly bytes: () => AsyncIterable<Uint8Array>;
  readonly header: (name: string) => string | null | undefined;
}

/** Sends one request to the service. Never follows redirects, because they would take the key along. */
export type Transport = (url: URL, request: TransportRequest) => Promise<TransportResponse>;

/** Uses the platform's own fetch. */
export const fetchTransport: Transport = async (url, request) => {
  const response = await fetch(url, {
    ...request,
    redirect: 'manual',
    // fetch requires this for a streamed body.
    ...(isStream(request.body) && { duplex: 'half' }),
  });
  return {
    status: response.status,
    text: () => response.text(),
    bytes: () => (response.body ?? []) as AsyncIterable<Uint8Array>,
    header: (name) => response.headers.get(name),
  };
};

/**
 * Returns a transport over a Unix socket, which fetch does not support. Loads `node:http` on demand, so that the rest
 * of the client works on platforms without it.
 */
export function socketTransport(socketPath: string): Transport {
  return async ({ pathname, search }, { method, headers, body, signal }) => {
    const { request } = await import('node:http');
    return new Promise((resolve, reject) => {
      const path = pathname + search;
      const sent = request(
        { socketPath, path, method, headers, agent: false, ...(signal && { signal }) },
        (response) => {
          const header = (name: string): string | undefined => response.headers[name] as string | undefined;
          resolve({ status: response.statusCode ?? 0, text: () => textOf(response), bytes: () => response, header });
        },
      );
      sent.on('error', reject);
      if (isStream(body)) {
        void import('node:stream/promises').then(({ pipeline }) => pipeline(body, sent)).catch(reject);
        return;
      }
      // Sends the body as bytes. If the body were a string, Node would also encode the headers as UTF-8 instead of
      // latin1.
      sent.end(body === undefined ? undefined : Buffer.from(body));
    });
  };
}

function isStream(body: TransportRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

async function textOf(response: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Returns the text whose latin1 bytes are the UTF-8 bytes of `text`. Both transports write headers as latin1, and the
 * service reads them as UTF-8 (decision E6).
 */
export function latin1Header(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
