import type { Caller } from './caller.ts';
import { OWNER } from './owner.ts';
import type { DueSend } from './ports/deferral-ports.ts';
import type { Cancel } from './ports/host-ports.ts';
import { problem } from './problems.ts';
import type { StoredBytes } from './upload.ts';

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
  /** Returns the sizes of the files of sends that wait for the owner. */
  keptBytes(): readonly StoredBytes[];
  /** Returns the number of sends that wait for the owner; undefined before there was a key. */
  heldSends(): number | undefined;
  /**
   * Returns the check that runs immediately before a deferred send. It throws if a key may no longer make that send;
   * the owner's sends always pass.
   */
  admitDue(entry: DueSend): () => void;
  /** Records how a deferred send ended. */
  noteDeferred(entry: DueSend, outcome: string): void;
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

  keptBytes(): readonly StoredBytes[] {
    return this.#book?.keptBytes() ?? [];
  }

  heldSends(): number | undefined {
    return this.#book?.heldSends();
  }

  admitDue(entry: DueSend): () => void {
    if (this.#book !== undefined) return this.#book.admitDue(entry);
    if (entry.key_id !== OWNER) throw problem('unauthorized');
    return () => {};
  }

  noteDeferred(entry: DueSend, outcome: string): void {
    this.#book?.noteDeferred(entry, outcome);
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
