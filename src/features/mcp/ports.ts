import type { AnswerStream } from '../../core/http/answer.ts';
import type { Caller } from '../../core/model/caller.ts';

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
  readonly stream?: AnswerStream;
  /**
   * The caller of `answer` calls this once the client has received the answer or has disconnected. Until then the
   * answer counts as in flight.
   */
  readonly release: () => void;
}

/** Answers MCP requests: each caller may use the tools, resources and prompts that its key allows. */
export interface McpService {
  /** Throws `too_many_answers` while too many bytes of earlier answers are in flight. */
  answer(request: McpRequest): Promise<McpAnswer>;
  /** Ends requests that are waiting, such as for messages: their tools answer with what has arrived so far. */
  close(): Promise<void>;
}
