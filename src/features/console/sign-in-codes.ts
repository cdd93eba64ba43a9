import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../core/model/ports/host-ports.ts';

const CODE_BYTES = 16;
export const CODE_LIFETIME_MS = 60_000;
/** Maximum number of open codes. One more replaces the oldest. Nobody opens this many consoles in a minute. */
const MAX_CODES = 16;

interface Code {
  readonly key: string;
  /** Monotonic time in ms. */
  readonly endsMs: number;
}

/** One-time codes that the console exchanges for the key (decision S6). Kept only in memory, as hashes. */
export class SignInCodes {
  /** Key: the code's hash. The oldest code is first. */
  readonly #codes = new Map<string, Code>();

  /** Returns a code for the key. */
  make(key: string, clock: Pick<Clock, 'monotonic'>): string {
    this.#dropEnded(clock);
    const [oldest] = this.#codes.keys();
    if (oldest !== undefined && this.#codes.size >= MAX_CODES) this.#codes.delete(oldest);
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#codes.set(digest(code), { key, endsMs: clock.monotonic() + CODE_LIFETIME_MS });
    return code;
  }

  /**
   * Returns the key the first time a code arrives within its 60 seconds. Wrong codes change nothing: nobody can guess
   * 128 bits, and anybody on this Mac can send wrong ones.
   */
  redeem(code: string, clock: Pick<Clock, 'monotonic'>): string | undefined {
    this.#dropEnded(clock);
    const hashed = digest(code);
    const found = this.#codes.get(hashed);
    this.#codes.delete(hashed);
    return found?.key;
  }

  #dropEnded(clock: Pick<Clock, 'monotonic'>): void {
    const now = clock.monotonic();
    for (const [hashed, { endsMs }] of this.#codes) if (endsMs <= now) this.#codes.delete(hashed);
  }
}

function digest(code: string): string {
  return hash('sha256', code, 'base64url');
}
