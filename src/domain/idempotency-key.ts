/** Names a send that must go out at most once (decision D9). */
export interface IdempotencyKey {
  /** `client`: the `Idempotency-Key` of a request. The others are Postern's own. */
  readonly kind: 'client' | 'ask' | 'approval' | 'tapback';
  readonly key: string;
}

/** Returns the form that is stored: a client's key as it is, which holds no NUL, and any other behind its kind. */
export function storedKey({ kind, key }: IdempotencyKey): string {
  return kind === 'client' ? key : `\0${kind}\0${key}`;
}

/** Returns the client's key that was stored in this form; undefined for one of Postern's own. */
export function clientKey(stored: string): string | undefined {
  return stored.startsWith('\0') ? undefined : stored;
}
