import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../model/ports/host-ports.ts';

const CODE_BYTES = 16;
export const CODE_LIFETIME_MS = 60_000;
/** Maximum number of open codes. One more replaces the oldest. Nobody opens this many consoles in a minute. */
const MAX_CODES = 16;

/** One-time codes that the console exchanges for the key (decision S6). Kept only in memory, as hashes. */
export class SignInCodes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The monotonic time in ms at which each code expires, keyed by the code's hash. The oldest code is first. */
  readonly #ends = new Map<string, number>();

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

  /**
   * Returns true the first time a code arrives within its 60 seconds. Wrong codes change nothing: nobody can guess 128
   * bits, and anybody on this Mac can send wrong ones.
   */
  redeem(code: string): boolean {
    this.#dropEnded();
    return this.#ends.delete(digest(code));
  }

  #dropEnded(): void {
    const now = this.#clock.monotonic();
    for (const [hashed, endMs] of this.#ends) if (endMs <= now) this.#ends.delete(hashed);
  }
}

function digest(code: string): string {
  return hash('sha256', code, 'base64url');
}
