import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../domain/ports/host-ports.ts';

const CODE_BYTES = 16;
export const CODE_LIFETIME_MS = 60_000;
const MAX_WRONG_CODES = 5;
/** Maximum number of open codes. One more replaces the oldest. Nobody opens this many consoles in a minute. */
const MAX_CODES = 16;

/** One-time codes that the console exchanges for the key (decision S6). Kept only in memory, as hashes. */
export class SignInCodes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The monotonic time in ms at which each code expires, keyed by the code's hash. The oldest code is first. */
  readonly #ends = new Map<string, number>();
  #wrong = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  make(): string {
    this.#dropEnded();
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined && this.#ends.size >= MAX_CODES) this.#ends.delete(oldest);
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#ends.set(digest(code), this.#clock.monotonic() + CODE_LIFETIME_MS);
    return code;
  }

  /** Returns true the first time a code arrives within its 60 seconds. The fifth wrong code invalidates all codes. */
  redeem(code: string): boolean {
    this.#dropEnded();
    if (this.#ends.delete(digest(code))) return true;
    this.#wrong += 1;
    if (this.#wrong >= MAX_WRONG_CODES) this.#ends.clear();
    return false;
  }

  /** Drops expired codes. If none is left, sets the number of wrong codes back to 0. */
  #dropEnded(): void {
    const now = this.#clock.monotonic();
    for (const [hashed, endMs] of this.#ends) if (endMs <= now) this.#ends.delete(hashed);
    if (this.#ends.size === 0) this.#wrong = 0;
  }
}

function digest(code: string): string {
  return hash('sha256', code, 'base64url');
}
