/** One mistake in a request. `pointer` is a JSON pointer into the body, or `?name` for a query parameter. */
export interface Mistake {
  readonly pointer: string;
  readonly message: string;
}

export interface AppErrorOptions {
  /** HTTP status; 500 if absent. */
  readonly status?: number;
  /** Advice in one sentence. */
  readonly hint?: string;
  readonly mistakes?: readonly Mistake[];
  /** Members added to the problem document (RFC 9457 extension members). */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Headers of the answer, for example `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * A failure that is explained to a client of the API or to the user of the command line. `code` is stable and
 * snake_case. `message` is a sentence that never contains a key, a message body or a full address.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  /** HTTP status of the answer to a client. */
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly mistakes: readonly Mistake[];
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status ?? 500;
    this.code = code;
    this.hint = options.hint;
    this.mistakes = options.mistakes ?? [];
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}

/**
 * Reports whether `error` is an AppError. Does not use `instanceof`, which fails for errors of another realm, such as a
 * test runner's.
 */
export function isAppError(error: unknown): error is AppError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'AppError';
}

/** Returns the `code` of any error, such as `ENOENT` or `SQLITE_BUSY`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Returns the code of the problem that a client is told. */
export function problemCode(error: unknown): string {
  return isAppError(error) ? error.code : 'internal_error';
}

/** Reports whether the error is `chat_db_unavailable`, which is temporary. */
export function isChatDbAway(error: unknown): boolean {
  return isAppError(error) && (error.code === 'chat_db_unavailable' || error.code === 'index_missing');
}
