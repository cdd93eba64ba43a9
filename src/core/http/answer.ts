import { type ServerResponse, STATUS_CODES } from 'node:http';

/** The answer of a handler. */
export interface Answer {
  readonly status: number;
  /** A JSON body. An answer has at most one of `body`, `content`, `stream` and `live`. */
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly content?: { readonly type: string; readonly text: string | Buffer };
  /** A body that is read while it is being sent. Its Content-Type must be in `headers`. */
  readonly stream?: AnswerStream;
  /** An endless body. */
  readonly live?: LiveAnswer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body that ends only when the client or the service ends it. */
export interface LiveAnswer {
  /** Writes the body to a response whose headers are sent, and ends the response. */
  begin(response: ServerResponse): void;
  /** Called instead of `begin` if the client has disconnected, or if the request is a HEAD. */
  giveUp(): void;
}

export interface AnswerStream {
  /** Length of the body in bytes. If it is undefined, the body ends when `read` does. */
  readonly bytes?: number;
  read(): AsyncIterable<Uint8Array>;
  /** Called instead of `read` if the body is not sent. */
  close(): Promise<void>;
}

/** The headers of an answer, which are collected while the request is handled. */
export type Headers = Record<string, string | number>;

/**
 * Larger bodies are sent in slices. The pipeline closes a connection whose client reads nothing for a minute. With
 * slices, the pipeline notices that a slow client still reads.
 */
const MAX_WHOLE_BYTES = 128 * 1024;
const SLICE_BYTES = 64 * 1024;

/** Returns a large body as slices that share its memory. Returns undefined for a small body. */
export function inSlices(body: string | Buffer | undefined): AnswerStream | undefined {
  if (body === undefined || body.length <= MAX_WHOLE_BYTES) return undefined;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return {
    bytes: bytes.length,
    async *read() {
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
    },
    close: () => Promise.resolve(),
  };
}

/** Merges the answer's headers into those collected so far. Returns the answer's body. */
export function completeAnswer(answer: Answer, headers: Headers): string | Buffer | undefined {
  if (answer.stream?.bytes !== undefined) headers['Content-Length'] = answer.stream.bytes;
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

/** Returns an answer as raw HTTP, for a socket without a ServerResponse. It is the last answer on that socket. */
export function rawAnswer(status: number, headers: Headers, text: string | Buffer = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, 'Connection: close', '', String(text)].join(
    '\r\n',
  );
}
