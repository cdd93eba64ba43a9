import type { Caller } from '../../core/model/caller.ts';
import type { AttachmentFile } from '../../core/model/ports/reading-ports.ts';
import type { UploadedFile } from '../../core/model/ports/uploads-ports.ts';

/** A request in the protocol of another program, such as BlueBubbles. Its limited key is valid. */
export interface WireRequest {
  readonly method: string;
  /** The decoded segments of the path. */
  readonly path: readonly string[];
  /** The query without the parameter that holds the key. */
  readonly query: URLSearchParams;
  readonly caller: Caller;
  /** The parsed JSON, or the fields of a form; undefined without a body. */
  readonly body: unknown;
  /** The files of a form. They are removed once the request is answered. */
  readonly files: readonly UploadedFile[];
  readonly requestId: string;
}

export interface WireAnswer {
  readonly status: number;
  /** Sent as JSON. Ignored if there is a `file`. */
  readonly body?: unknown;
  readonly file?: AttachmentFile;
  /** The pattern of the path, for logs and metrics. */
  readonly route?: string;
  /** True if the request does not count in the rate limit, because it only continues one that did. */
  readonly isUncounted?: boolean;
}

/** A refused request. `Wire.failure` turns it into an answer in the wire's protocol. */
export interface WireFailure {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly hint: string | undefined;
  /** JSON pointers of the parts that a failed send has sent. */
  readonly partsSent: readonly string[];
}

/** Answers one kind of request. Found only for callers with the right to use it. */
export interface WireEndpoint {
  /** True if the request is a form with files. Every other endpoint takes only JSON. */
  readonly takesForm: boolean;
  /** Answers the request. Throws an AppError to refuse it; the caller then sends what `failure` returns. */
  answer(request: WireRequest): Promise<WireAnswer>;
}

/**
 * Translates another program's protocol into calls of Postern's use cases. Decides nothing itself: the use cases check
 * every right and limit.
 */
export interface Wire {
  /** Names of the query parameters that may hold the API key. */
  readonly keyNames: readonly string[];
  /** Finds the endpoint, before a body is read. Throws an AppError if there is none, or if the key may not use it. */
  find(request: Pick<WireRequest, 'method' | 'path' | 'caller'>): WireEndpoint;
  failure(failure: WireFailure): WireAnswer;
}
