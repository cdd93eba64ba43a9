import { STATUS_CODES } from 'node:http';

/** What a handler says. */
export interface Answer {
  readonly status: number;
  /** Sent as JSON exactly as it stands; absent: no body, unless there is `content`. */
  readonly body?: unknown;
  /** A text that is not JSON. */
  readonly content?: { readonly type: string; readonly text: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** The headers of an answer while it is being made. */
export type Headers = Record<string, string | number>;

/** Adds the answer's own headers to those collected so far, and gives the text of its body. */
export function complete(answer: Answer, headers: Headers): string | undefined {
  if (answer.body === undefined && answer.content === undefined) {
    Object.assign(headers, answer.headers);
    return undefined;
  }
  const text = answer.content?.text ?? JSON.stringify(answer.body);
  headers['Content-Type'] = answer.content?.type ?? 'application/json';
  headers['Content-Length'] = Buffer.byteLength(text);
  Object.assign(headers, answer.headers);
  return text;
}

/** An answer as bytes of HTTP, for a socket that has no response: it is the last one there. */
export function rawAnswer(status: number, headers: Headers, text = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, 'Connection: close', '', text].join('\r\n');
}
