import { timingSafeEqual } from 'node:crypto';
import type { StoredKey } from '../domain/ports/access.ts';
import type { Cancel } from '../domain/ports/host.ts';

/** A key in use. What is made for it, such as its caller, stays the same while its settings change. */
export class LimitedKey {
  #stored: StoredKey;
  #isRevoked = false;
  readonly #onEnd = new Set<() => void>();

  constructor(stored: StoredKey) {
    this.#stored = stored;
  }

  get stored(): StoredKey {
    return this.#stored;
  }

  set stored(stored: StoredKey) {
    this.#stored = stored;
  }

  get expiresMs(): number {
    const { expires_at } = this.#stored;
    return expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
  }

  isAlive(nowMs: number): boolean {
    return !this.#isRevoked && nowMs < this.expiresMs;
  }

  /** True for the present secret, and for the one before a rotation while it is still valid. */
  isSecret(hash: string, nowMs: number): boolean {
    const { hash: present, previous } = this.#stored;
    // Both are compared, so that the time it takes says nothing.
    const isPresent = areEqual(hash, present);
    const isPrevious = areEqual(hash, previous?.hash ?? present);
    return isPresent || (isPrevious && previous !== null && nowMs < previous.untilMs);
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

function areEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
