export interface TransportRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  readonly text: string;
  readonly header: (name: string) => string | null | undefined;
}

/** How one request reaches the service. Redirects are never followed: they would take the key along. */
export type Transport = (url: URL, request: TransportRequest) => Promise<TransportResponse>;

/** Over the network, with the platform's own fetch. */
export const fetchTransport: Transport = async (url, request) => {
  const response = await fetch(url, { ...request, redirect: 'manual' });
  return { status: response.status, text: await response.text(), header: (name) => response.headers.get(name) };
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
          const chunks: Uint8Array[] = [];
          response.on('data', (chunk: Uint8Array) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const header = (name: string): string | undefined => response.headers[name] as string | undefined;
            resolve({ status: response.statusCode ?? 0, text, header });
          });
        },
      );
      sent.on('error', reject);
      // As bytes: Node would write the headers, too, in the encoding of a string.
      sent.end(body === undefined ? undefined : Buffer.from(body));
    });
  };
}

/** Both transports write a header as latin1; the service compares its bytes as UTF-8 (decision E6). */
export function headerValue(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
