/** Kinds of failure and their statuses: the way before the catalogue of problems. */
const KINDS = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unprocessable: 422,
  upgrade_required: 426,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  refused: 502,
  unavailable: 503,
  unknown_outcome: 504,
} as const;
export type ErrorKind = keyof typeof KINDS;

/** One mistake in what was sent. `pointer` is a JSON pointer into the body, or `?name` for a query parameter. */
export interface Mistake {
  readonly pointer: string;
  readonly message: string;
}

export interface AppErrorOptions {
  /** HTTP status; 500 if it is absent. */
  readonly status?: number;
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
 * A failure with a meaning, for a client of the API or for the person at the command line. `code` is stable and
 * snake_case; `message` is a sentence that never holds a key, a message body or a full address.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  /** HTTP status, when a client is told. */
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly mistakes: readonly Mistake[];
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, message: string, options?: AppErrorOptions);
  constructor(kind: ErrorKind, code: string, message: string, options?: AppErrorOptions);
  constructor(...given: readonly [string, string, (string | AppErrorOptions)?, AppErrorOptions?]) {
    const [first, second, third] = given;
    const isOld = typeof third === 'string';
    const options = (isOld ? given[3] : third) ?? {};
    super(isOld ? third : second, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status ?? (isOld ? KINDS[first as ErrorKind] : 500);
    this.code = isOld ? second : first;
    this.hint = options.hint;
    this.mistakes = options.mistakes ?? [];
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }

  get kind(): ErrorKind {
    return (Object.keys(KINDS) as ErrorKind[]).find((kind) => KINDS[kind] === this.status) ?? 'internal';
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
