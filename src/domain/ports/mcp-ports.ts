import type { Caller } from '../caller.ts';

/** One request of the Model Context Protocol over HTTP. */
export interface McpRequest {
  readonly caller: Caller;
  /** The request's header fields, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON. */
  readonly body: unknown;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly requestId: string;
}

export interface McpAnswer {
  readonly status: number;
  /** The body's Content-Type; undefined without a body. */
  readonly type: string | undefined;
  /** The whole body, unless it is a stream. */
  readonly text?: string;
  /** The body as a stream, if it is not `text`. */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** Called once the client has taken the answer or is gone. Until then the answer counts as in flight. */
  readonly release: () => void;
}

/** A caller's tools, resources and prompts, one request at a time. */
export interface McpService {
  /** Throws `too_many_answers` while too many bytes of earlier answers are in flight. */
  answer(request: McpRequest): Promise<McpAnswer>;
  /** Ends waiting requests: their tools answer with what has arrived so far. */
  close(): Promise<void>;
}
