import type { KV, KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/nats-core';
import type { Log } from '../../../domain/ports/host.ts';

/** What a bucket has, or had, under a key. */
export interface BucketEntry {
  readonly revision: number;
  /** undefined: it was deleted. */
  readonly value: Uint8Array | undefined;
}

export interface BucketWatchParts {
  readonly name: string;
  readonly bucket: () => Promise<KV>;
  readonly log: Log;
  /** In the order of the bucket; after the first reading, and whenever it is read again. */
  readonly onEntry: (key: string, entry: BucketEntry) => void;
  /** Everything that is in the bucket was told. `isPresent` says whether a key was part of it, deleted or not. */
  readonly onComplete?: (isPresent: (key: string) => boolean) => void;
}

/**
 * Follows a bucket. The watch of the client may fall silent when the broker loses or recreates the bucket, so
 * `check` compares it with what the broker says and begins again.
 */
export class BucketWatch {
  readonly #parts: BucketWatchParts;
  #iterator: QueuedIterator<KvWatchEntry> | undefined;
  #created = '';
  /** Newest revision that was told. */
  #seen = 0;
  /** Newest revision that the broker had at the last check. */
  #expected = 0;
  #present = new Set<string>();
  /** The revision at which everything was told; undefined before it is known. */
  #completeAt: number | undefined;
  #isComplete = false;
  #isChecking = false;
  #isClosed = false;

  constructor(parts: BucketWatchParts) {
    this.#parts = parts;
  }

  /** True once everything in the bucket was told, and until it is begun again. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Begins, or begins again where the watch no longer is what the bucket is. */
  async check(): Promise<void> {
    if (this.#isChecking || this.#isClosed) return;
    this.#isChecking = true;
    try {
      const bucket = await this.#parts.bucket();
      const { streamInfo } = await bucket.status();
      const { last_seq: last, messages } = streamInfo.state;
      const isOther = streamInfo.created !== this.#created || last < this.#seen;
      const isSilent = this.#seen < this.#expected;
      this.#expected = last;
      if (this.#iterator === undefined || isOther || isSilent) {
        if (this.#iterator !== undefined) this.#parts.log.info('reading a bucket again', { bucket: this.#parts.name });
        this.#created = streamInfo.created;
        await this.#begin(bucket, messages === 0 ? 0 : last);
      }
    } catch (error) {
      this.#parts.log.debug('a bucket cannot be read, retrying', { bucket: this.#parts.name, error });
    } finally {
      this.#isChecking = false;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  async #begin(bucket: KV, completeAt: number): Promise<void> {
    this.#stop();
    const iterator = await bucket.watch();
    if (this.#isClosed) return iterator.stop();
    this.#iterator = iterator;
    this.#seen = 0;
    this.#expected = 0;
    this.#present = new Set();
    this.#completeAt = completeAt;
    void this.#follow(iterator);
    this.#completeIf();
  }

  async #follow(iterator: QueuedIterator<KvWatchEntry>): Promise<void> {
    try {
      for await (const { key, revision, operation, value } of iterator) {
        if (iterator !== this.#iterator) return;
        this.#seen = revision;
        if (!this.#isComplete) this.#present.add(key);
        this.#parts.onEntry(key, { revision, value: operation === 'PUT' ? value : undefined });
        this.#completeIf();
      }
    } catch (error) {
      this.#parts.log.debug('a watch of a bucket ended', { bucket: this.#parts.name, error });
    }
    if (iterator === this.#iterator) this.#stop();
  }

  #completeIf(): void {
    if (this.#isComplete || this.#completeAt === undefined || this.#seen < this.#completeAt) return;
    this.#isComplete = true;
    const present = this.#present;
    this.#present = new Set();
    this.#parts.onComplete?.((key) => present.has(key));
  }

  #stop(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    this.#isComplete = false;
    this.#completeAt = undefined;
    iterator?.stop();
  }
}
