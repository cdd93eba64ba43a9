const UNREACHABLE =
  /^(?:ECONNREFUSED|ENOENT|ENOTSOCK|EACCES|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|ERR_SSL_WRONG_VERSION)/;

/**
 * The error that every method of the client throws. It contains the service's problem document (RFC 9457) if the
 * service refused, otherwise the reason why there was no valid answer.
 */
export class PosternError extends Error {
  override readonly name = 'PosternError';
  /** HTTP status of the answer; 0 if there was none. */
  readonly status: number;
  /**
   * Stable and snake_case: the service's own code, or one of the client's: `unreachable`, `connection_lost`,
   * `not_postern`, `invalid_key`, `not_capable` or `dry_run`.
   */
  readonly code: string;
  /** Advice on how to solve the problem; undefined if there is none. */
  readonly hint: string | undefined;
  /** Milliseconds to wait before a retry; undefined if the answer has no Retry-After in seconds. */
  readonly retryAfterMs: number | undefined;
  /** The whole problem document (RFC 9457); made by the client if the service sent none. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>, retryAfter?: string | null) {
    super(sentence(problem) || `The service answered ${status}.`);
    this.status = status;
    this.code = typeof problem.code === 'string' ? problem.code : 'unknown';
    this.hint = typeof problem.hint === 'string' ? problem.hint : undefined;
    this.retryAfterMs = retryAfter && /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
    this.problem = problem;
  }
}

/**
 * Reports whether `error` is a PosternError of any realm: `instanceof` fails across realms, such as a test runner's.
 */
export function isPosternError(error: unknown): error is PosternError {
  return (error as { name?: unknown } | undefined)?.name === 'PosternError';
}

/**
 * Returns the offset from which a service says that nothing is missed, after the one that was asked for has expired.
 */
export function resumeOf(error: unknown): string | undefined {
  if (!isPosternError(error) || error.status !== 410) return undefined;
  const { resume } = error.problem;
  return typeof resume === 'string' ? resume : undefined;
}

/**
 * Returns the error for an answer whose status is not 2xx. An answer without a problem document is not from Postern.
 */
export function refusal(
  status: number,
  text: string,
  retryAfter: string | null | undefined,
  address: string,
): PosternError {
  const problem = parsed(text) as Readonly<Record<string, unknown>> | null | undefined;
  return typeof problem?.code === 'string'
    ? new PosternError(status, problem, retryAfter)
    : notPostern(status, address);
}

/** Returns the error for an answer from a program other than Postern. */
export function notPostern(status: number, address: string): PosternError {
  return new PosternError(status, {
    code: 'not_postern',
    detail: `The program that answers at ${address} is not Postern.`,
    hint: 'Check the host and the port.',
  });
}

/** Returns the error for a send with a key that may only make dry runs. */
export function onlyDryRun(status: number): PosternError {
  return new PosternError(status, {
    code: 'dry_run',
    detail: 'Nothing was sent, because this key makes every send a dry run (dry_run).',
  });
}

/**
 * Returns the error for a request that got no complete answer: `unreachable` if no connection was made, otherwise
 * `connection_lost`.
 */
export function noAnswer(error: unknown, address: string): PosternError {
  const cause = rootOf(error);
  // True if no connection was made, so that the service cannot have received the request. fetch reports "bad port" for
  // a port to which it never connects.
  const isUnreachable = UNREACHABLE.test(cause.code) || cause.message === 'bad port';
  return new PosternError(0, {
    code: isUnreachable ? 'unreachable' : 'connection_lost',
    detail: isUnreachable
      ? `Postern does not answer at ${address} (${cause.code || cause.message}).`
      : `The connection to ${address} broke before an answer arrived (${cause.code || cause.message}).`,
  });
}

function rootOf(error: unknown): { readonly code: string; readonly message: string } {
  const { cause, code, message } = (error ?? {}) as { cause?: unknown; code?: unknown; message?: unknown };
  if (cause !== undefined) return rootOf(cause);
  // If a host has several addresses, the error contains one error per address.
  const [first] = (error as { errors?: unknown[] } | undefined)?.errors ?? [];
  if (typeof code !== 'string' && first !== undefined) return rootOf(first);
  return { code: typeof code === 'string' ? code : '', message: String(message ?? error) };
}

/** Parses JSON. Returns undefined if the text is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reports whether `value` is an object with this member. */
export function has(value: unknown, member: string): boolean {
  return typeof value === 'object' && value !== null && member in value;
}

/**
 * Returns the problem's `detail`, followed by each mistake in `errors` with its pointer. Omits a mistake that repeats
 * `detail`.
 */
function sentence({ detail, errors }: Readonly<Record<string, unknown>>): string {
  const mistakes = Array.isArray(errors) ? (errors as { pointer?: unknown; message?: unknown }[]) : [];
  const others = mistakes.filter(({ message }) => message !== detail);
  const parts = [detail, ...others.map(({ pointer, message }) => `${String(pointer)}: ${String(message)}`)];
  return parts.filter((part) => typeof part === 'string').join(' ');
}
