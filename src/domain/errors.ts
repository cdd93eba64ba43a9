/** Kinds of failure a client can be told about; `http/problem.ts` maps each to one status. */
export type ErrorKind =
  | 'invalid' // 400
  | 'unauthorized' // 401
  | 'forbidden' // 403
  | 'not_found' // 404
  | 'method_not_allowed' // 405
  | 'timeout' // 408
  | 'conflict' // 409
  | 'gone' // 410
  | 'too_large' // 413
  | 'unsupported_media_type' // 415
  | 'range_not_satisfiable' // 416
  | 'unprocessable' // 422
  | 'upgrade_required' // 426
  | 'rate_limited' // 429
  | 'headers_too_large' // 431
  | 'internal' // 500
  | 'refused' // 502, Messages said no
  | 'unavailable' // 503
  | 'unknown_outcome'; // 504, may or may not have happened

/** One mistake in what was sent. `pointer` is a JSON pointer into the body, or `?name` for a query parameter. */
export interface Mistake {
  readonly pointer: string;
  readonly message: string;
}

export interface AppErrorOptions {
  /** What the reader can do about it, one sentence. */
  readonly hint?: string;
  readonly mistakes?: readonly Mistake[];
  /** Members added to the problem document (RFC 9457 extension members). */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Headers of the answer, for example `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * A failure with a meaning. `code` is stable and snake_case; `message` is a sentence for a person and
 * never holds a key, a message body or a full address.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly kind: ErrorKind;
  readonly code: string;
  readonly hint: string | undefined;
  readonly mistakes: readonly Mistake[];
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: ErrorKind, code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.hint = options.hint;
    this.mistakes = options.mistakes ?? [];
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}

/** True for an AppError of any realm: under a test runner's own realm `instanceof` lies. */
export function isAppError(error: unknown): error is AppError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'AppError';
}

/** The `code` of a foreign error (`ENOENT`, `SQLITE_BUSY`, …), or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
