export interface TransportRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is sent as it is read. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

/** The body is read once, as text or as bytes. */
export interface TransportResponse {
  readonly status: number;
  readonly text: () => Promise<string>;
  readonly bytes: () => AsyncIterable<Uint8Array>;
  readonly header: (name: string) => string | null | undefined;
}

/** How one request reaches the service. Redirects are never followed: they would take the key along. */
export type Transport = (url: URL, request: TransportRequest) => Promise<TransportResponse>;

/** Over the network, with the platform's own fetch. */
export const fetchTransport: Transport = async (url, request) => {
  // Required with a streamed body: the answer comes after it.
  const response = await fetch(url, {
    ...request,
    redirect: 'manual',
    ...(isStream(request.body) && { duplex: 'half' }),
  });
  return {
    status: response.status,
    text: () => response.text(),
    bytes: () => (response.body ?? []) as AsyncIterable<Uint8Array>,
    header: (name) => response.headers.get(name),
  };
};

/** Over a Unix socket, which fetch cannot reach. Node's module is loaded only here, so that the client works elsewhere too. */
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
      // As bytes: Node would write the headers, too, in the encoding of a string.
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

/** Both transports write a header as latin1; the service compares its bytes as UTF-8 (decision E6). */
export function headerValue(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
