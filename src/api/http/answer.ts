import { type ServerResponse, STATUS_CODES } from 'node:http';

/** What a handler says. */
export interface Answer {
  readonly status: number;
  /** Sent as JSON, unchanged; absent: no body, unless there is `content`. */
  readonly body?: unknown;
  /** What is not JSON. */
  readonly content?: { readonly type: string; readonly text: string | Buffer };
  /** A body that is read while it is sent. Its type is in `headers`. */
  readonly stream?: AnswerStream;
  /** What does not end by itself. */
  readonly live?: LiveAnswer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that ends with its connection. */
export interface LiveAnswer {
  /** Called with the response once its headers are sent, and ends it. */
  begin(response: ServerResponse): void;
  /** In place of beginning. */
  giveUp(): void;
}

export interface AnswerStream {
  /** Absent where nobody knows it yet: the answer ends when reading does. */
  readonly bytes?: number;
  read(): AsyncIterable<Uint8Array>;
  /** In place of reading. */
  close(): Promise<void>;
}

/** The headers of an answer while it is being made. */
export type Headers = Record<string, string | number>;

/** What is larger is sent in slices, so that it can be seen whether the client takes it. */
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

/** Adds the answer's own headers to those collected so far, and gives the text of its body. */
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

/** An answer as bytes of HTTP, for a socket that has no response: it is the last one there. */
export function rawAnswer(status: number, headers: Headers, text: string | Buffer = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, 'Connection: close', '', String(text)].join(
    '\r\n',
  );
}
