import { problem } from '../../domain/problems.ts';

const MEGABYTE = 1_000_000;
/** Bytes of answers being made or sent, per key and in total. */
const MAX_OF_KEY = 16 * MEGABYTE;
const MAX_OF_ALL = 64 * MEGABYTE;
/** Connections are read quickly, or end after 60 s (decision O2). */
const RETRY_S = 5;

/** The memory reserved for one answer. */
export interface Reservation {
  /** Replaces the reserved size by the answer's. */
  readonly resize: (bytes: number) => void;
  /** May be called more than once. */
  readonly release: () => void;
}

/** Bounds the memory of answers that clients do not read. */
export class AnswersInFlight {
  readonly #ofKeys = new Map<string, number>();
  #ofAll = 0;

  /** Reserves memory for an answer of at most `bytes`. Throws `too_many_answers` if there is none. */
  reserve(keyId: string, bytes: number): Reservation {
    const ofKey = this.#ofKeys.get(keyId) ?? 0;
    if (ofKey + bytes > MAX_OF_KEY || this.#ofAll + bytes > MAX_OF_ALL) {
      throw problem('too_many_answers', { seconds: RETRY_S }, { headers: { 'Retry-After': String(RETRY_S) } });
    }
    let reserved = 0;
    let isReleased = false;
    const resize = (to: number): void => {
      if (isReleased) return;
      this.#add(keyId, to - reserved);
      reserved = to;
    };
    const release = (): void => {
      resize(0);
      isReleased = true;
    };
    resize(bytes);
    return { resize, release };
  }

  #add(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#ofKeys.delete(keyId);
    else this.#ofKeys.set(keyId, ofKey);
    this.#ofAll += bytes;
  }
}
