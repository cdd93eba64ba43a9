import { timingSafeEqual } from 'node:crypto';
import type { StoredKey } from '../domain/ports/access.ts';
import type { Cancel } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';

/** WebSockets and streams together. MCP subscriptions have the same limit of their own. */
const MAX_STREAMS = 16;

/** A key in use. What is made for it, such as its caller, stays the same while its settings change. */
export class LimitedKey {
  #stored: StoredKey;
  #parsed: Parsed;
  #isRevoked = false;
  readonly #onEnd = new Set<() => void>();
  #streams = 0;

  constructor(stored: StoredKey) {
    this.#stored = stored;
    this.#parsed = parsedOf(stored);
  }

  get stored(): StoredKey {
    return this.#stored;
  }

  set stored(stored: StoredKey) {
    this.#stored = stored;
    this.#parsed = parsedOf(stored);
  }

  get expiresMs(): number {
    return this.#parsed.expiresMs;
  }

  isAlive(nowMs: number): boolean {
    return !this.#isRevoked && nowMs < this.expiresMs;
  }

  /** True for the present secret, and for the one before a rotation while it is still valid. */
  isSecret(hash: Buffer, nowMs: number): boolean {
    const { present, previous, previousUntilMs } = this.#parsed;
    // Both are compared, so that the time it takes says nothing.
    const isPresent = timingSafeEqual(hash, present);
    const isPrevious = previous !== undefined && timingSafeEqual(hash, previous) && nowMs < previousUntilMs;
    return isPresent || isPrevious;
  }

  /** Counts one that is open, until what it gives is called. Throws `too_many_streams`. */
  openStream(): Cancel {
    if (this.#streams >= MAX_STREAMS) throw problem('too_many_streams', { max: MAX_STREAMS });
    this.#streams += 1;
    return () => {
      this.#streams -= 1;
    };
  }

  /** Calls `run` once when the key is revoked or has expired. */
  onEnd(run: () => void): Cancel {
    this.#onEnd.add(run);
    return () => void this.#onEnd.delete(run);
  }

  /** Ends what runs under the key, such as its WebSockets. */
  end({ isRevoked }: { readonly isRevoked: boolean }): void {
    this.#isRevoked ||= isRevoked;
    const all = [...this.#onEnd];
    this.#onEnd.clear();
    for (const run of all) run();
  }
}

/** What every request needs of a key. */
interface Parsed {
  readonly present: Buffer;
  readonly previous: Buffer | undefined;
  readonly previousUntilMs: number;
  readonly expiresMs: number;
}

function parsedOf({ hash, previous, expires_at: expiresAt }: StoredKey): Parsed {
  return {
    present: Buffer.from(hash, 'hex'),
    previous: previous === null ? undefined : Buffer.from(previous.hash, 'hex'),
    previousUntilMs: previous?.untilMs ?? 0,
    expiresMs: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
  };
}
