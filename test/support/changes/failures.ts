/** Thrown where the process crashes. */
export class Crashed extends Error {}

export class WriteFailed extends Error {
  readonly code = 'SQLITE_FULL';
}

/** Reports whether a client meets this error when the service is away, or cannot read or write. */
export function isExpected(error: unknown): boolean {
  const { code = '' } = error as { readonly code?: string };
  if (error instanceof Crashed || error instanceof WriteFailed) return true;
  return ['chat_db_unavailable', 'after_unknown'].includes(code);
}

/** Replaces errors by their messages, as an argument of `JSON.stringify`. */
export function errorText(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}
