import { type ServerResponse, STATUS_CODES } from 'node:http';

/** The answer of a handler. */
export interface Answer {
  readonly status: number;
  /** Sent as JSON, unchanged. If absent there is no body, unless there is `content`. */
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly content?: { readonly type: string; readonly text: string | Buffer };
  /** A body that is read while it is sent. Its type is in `headers`. */
  readonly stream?: AnswerStream;
  /** A body that does not end by itself. */
  readonly live?: LiveAnswer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that ends with its connection. */
export interface LiveAnswer {
  /** Called with the response once its headers are sent, and ends it. */
  begin(response: ServerResponse): void;
  /** Call this instead of `begin`. */
  giveUp(): void;
}

export interface AnswerStream {
  /** Absent if unknown: the answer ends when reading does. */
  readonly bytes?: number;
  read(): AsyncIterable<Uint8Array>;
  /** Call this instead of `read`. */
  close(): Promise<void>;
}

/** The headers of an answer in the making. */
export type Headers = Record<string, string | number>;

/** Larger bodies are sent in slices, so that it shows whether the client takes them. */
const MAX_WHOLE_BYTES = 128 * 1024;
const SLICE_BYTES = 64 * 1024;

/** The slices of a large body share its memory; undefined for a small one. */
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

/** Merges the answer's headers into those collected so far. Returns the text of its body. */
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

/** An answer as raw HTTP, for a socket without a response. It is the last one there. */
export function rawAnswer(status: number, headers: Headers, text: string | Buffer = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, 'Connection: close', '', String(text)].join(
    '\r\n',
  );
}
