import type { Caller } from '../caller.ts';

/** One request of the Model Context Protocol over HTTP. */
export interface McpRequest {
  readonly caller: Caller;
  /** Its header fields, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON. */
  readonly body: unknown;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly requestId: string;
}

export interface McpAnswer {
  readonly status: number;
  /** Its Content-Type; undefined without a body. */
  readonly type: string | undefined;
  /** The whole body, when there is one that is not a stream. */
  readonly text?: string;
  /** A body that goes on until everything is said. */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** Called once the client has taken the answer or is gone. Until then it counts as in flight. */
  readonly release: () => void;
}

/** The tools, resources and prompts of a caller, for one request at a time. */
export interface McpService {
  /** Throws `too_many_answers` while too much of earlier answers is in flight. */
  answer(request: McpRequest): Promise<McpAnswer>;
  /** Ends what waits: tools answer with what they have. */
  close(): Promise<void>;
}
