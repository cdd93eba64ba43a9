import type { Caller } from './caller.ts';
import type { Cancel } from './ports/host-ports.ts';

/** A key that has changed, or that has ended. */
export interface ChangedKey {
  readonly keyId: string;
  readonly isAlive: boolean;
  /** Reports whether events may still be posted to this URL for the key. */
  mayCallBack(url: string): boolean;
}

/** The feature that knows who may use the service besides the owner. */
export interface GuestBook {
  /** Returns the caller with this key; undefined if the key is unknown, wrong, expired or revoked. */
  find(key: string): Caller | undefined;
  /** Returns the caller of a key by the key's id; undefined if the key has expired or was revoked. */
  callerOf(keyId: string): Caller | undefined;
}

/** Those who may use the service besides the owner, each with a key. Without a feature that knows them, nobody may. */
export class Guests implements GuestBook {
  #book: GuestBook | undefined;
  readonly #onChange = new Set<(key: ChangedKey) => void>();

  /** Lets in the guests that the feature knows. */
  knownBy(book: GuestBook): void {
    this.#book = book;
  }

  find(key: string): Caller | undefined {
    return this.#book?.find(key);
  }

  callerOf(keyId: string): Caller | undefined {
    return this.#book?.callerOf(keyId);
  }

  /** Calls `listener` whenever a key has changed or ended. */
  onChange(listener: (key: ChangedKey) => void): Cancel {
    this.#onChange.add(listener);
    return () => void this.#onChange.delete(listener);
  }

  noteChange(key: ChangedKey): void {
    for (const listener of this.#onChange) listener(key);
  }
}
