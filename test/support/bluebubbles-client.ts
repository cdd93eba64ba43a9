import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';

export interface Enveloped {
  readonly status: number;
  readonly envelope: {
    readonly status: number;
    readonly message: string;
    readonly data?: unknown;
    readonly metadata?: unknown;
    readonly error?: { readonly type: string; readonly message: string };
  };
}

/** Sends requests as BlueBubbles' clients do: the key in the query, JSON in envelopes. */
export class BlueBubblesClient {
  readonly #port: number;
  readonly #key: string;

  constructor(port: number, key: string) {
    this.#port = port;
    this.#key = key;
  }

  get(path: string): Promise<Enveloped> {
    return this.request('GET', path);
  }

  post(path: string, body: unknown): Promise<Enveloped> {
    return this.request('POST', path, body);
  }

  async request(method: string, path: string, body?: unknown): Promise<Enveloped> {
    const answer = await fetch(this.#url(path), {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: answer.status, envelope: (await answer.json()) as Enveloped['envelope'] };
  }

  async upload(path: string, form: FormData): Promise<Enveloped> {
    const answer = await fetch(this.#url(path), { method: 'POST', body: form });
    return { status: answer.status, envelope: (await answer.json()) as Enveloped['envelope'] };
  }

  /** Sends a request with headers that fetch would not send. */
  async raw(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const sent = httpRequest(this.#url(path), { method, headers, agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode ?? 0, text };
  }

  #url(path: string): string {
    const mark = path.includes('?') ? '&' : '?';
    return `http://127.0.0.1:${this.#port}/api/v1/${path}${mark}password=${encodeURIComponent(this.#key)}`;
  }
}
