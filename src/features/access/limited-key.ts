import { timingSafeEqual } from 'node:crypto';
import type { Cancel } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { StoredKey } from './ports.ts';

/**
 * Maximum number of WebSockets and event streams, counted together, that are open under one key. MCP subscriptions have
 * a separate limit of the same size.
 */
const MAX_STREAMS = 16;

/**
 * A limited key in memory. A change of its settings replaces `stored` and keeps this object, because other objects,
 * such as the key's caller, refer to this one.
 */
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

  /** Reports whether `hash` is the hash of the current secret, or of the previous one if that is still valid. */
  isSecret(hash: Buffer, nowMs: number): boolean {
    const { present, previous, previousUntilMs } = this.#parsed;
    // Compares with both secrets even if the first one matches, so that the time taken does not reveal which one
    // matched.
    const isPresent = timingSafeEqual(hash, present);
    const isPrevious = previous !== undefined && timingSafeEqual(hash, previous) && nowMs < previousUntilMs;
    return isPresent || isPrevious;
  }

  /** Reserves one of the key's stream slots. Call the result to release it. Throws `too_many_streams`. */
  openStream(): Cancel {
    if (this.#streams >= MAX_STREAMS) throw problem('too_many_streams', { max: MAX_STREAMS });
    this.#streams += 1;
    return () => {
      this.#streams -= 1;
    };
  }

  /** Calls `run` once the key is revoked or has expired. */
  onEnd(run: () => void): Cancel {
    this.#onEnd.add(run);
    return () => void this.#onEnd.delete(run);
  }

  /** Ends everything running under the key, such as its WebSockets. */
  end({ isRevoked }: { readonly isRevoked: boolean }): void {
    this.#isRevoked ||= isRevoked;
    const all = [...this.#onEnd];
    this.#onEnd.clear();
    for (const run of all) run();
  }
}

/** Members of a stored key, parsed once because every request needs them. */
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
