import type { LogEntry } from '../model/event.ts';

/** Maximum size of one write to a socket, in bytes (decision C7). A larger event is sent alone. */
const MAX_BYTES = 256 * 1024;
/** Maximum number of texts that are prepared at once. */
const PREPARED = 16;
/** Number of cached batches that clients share, one for each position in the feed. They are usually at fewer. */
const SHARED = 16;

/** Writes the header that precedes each event's text: a frame header on a WebSocket, nothing in an HTTP stream. */
export interface Framing {
  headerSize(length: number): number;
  /** Writes the header for a text of `length` bytes at index `at`. Returns the index at which the text begins. */
  writeHeader(bytes: Buffer, at: number, length: number): number;
}

/** Events that are sent to a client together. */
export interface EventBatch {
  readonly texts: readonly string[];
  readonly last: LogEntry;
  /** True if the next event did not fit, or was not ready. */
  readonly isFull: boolean;
  /** Bytes of all texts, including their framing. */
  readonly size: number;
  /** The framed texts. Created when first read, then shared by all clients at the same position. */
  readonly bytes: Buffer;
}

/** Creates batches and caches the newest, so that many clients at one position cost as much as one. */
export class BatchCache {
  readonly #textOf: (entry: LogEntry) => string | Promise<string>;
  readonly #framing: Framing;
  readonly #maxCached: number;
  readonly #cached = new Map<LogEntry, EventBatch>();

  /** `maxCached` is 0 for a client whose batches nobody shares. */
  constructor(framing: Framing, textOf: (entry: LogEntry) => string | Promise<string>, maxCached = SHARED) {
    this.#framing = framing;
    this.#textOf = textOf;
    this.#maxCached = maxCached;
  }

  /**
   * Returns a batch of as many of `entries` as fit and are ready, from the first one on; undefined if there are no
   * entries. If the text of the first one is not ready, returns a promise that settles once it is.
   */
  front(entries: readonly LogEntry[]): EventBatch | Promise<unknown> | undefined {
    const [first] = entries;
    if (first === undefined) return undefined;
    const known = this.#cached.get(first);
    if (known !== undefined && isFrontOf(known, entries)) return known;
    const batch = this.#make(entries, first);
    if (batch instanceof Promise) return batch;
    this.#cached.delete(first);
    this.#cached.set(first, batch);
    for (const [oldest] of this.#cached) {
      if (this.#cached.size <= this.#maxCached) break;
      this.#cached.delete(oldest);
    }
    return batch;
  }

  clear(): void {
    this.#cached.clear();
  }

  #make(entries: readonly LogEntry[], first: LogEntry): EventBatch | Promise<unknown> {
    const texts: string[] = [];
    let last = first;
    let size = 0;
    for (const [index, entry] of entries.entries()) {
      const text = this.#textOf(entry);
      if (typeof text !== 'string') {
        this.#prepare(entries.slice(index + 1, index + PREPARED));
        if (texts.length === 0) return text;
        text.catch(() => undefined); // the next batch begins with this entry, and fails with the same error
        return this.#batch(texts, last, size, true);
      }
      const length = Buffer.byteLength(text);
      const frameSize = this.#framing.headerSize(length) + length;
      if (texts.length > 0 && size + frameSize > MAX_BYTES) return this.#batch(texts, last, size, true);
      texts.push(text);
      last = entry;
      size += frameSize;
    }
    return this.#batch(texts, last, size, false);
  }

  /** Starts preparing texts, so that they are soon ready. If one fails, the next call for it fails too. */
  #prepare(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      const text = this.#textOf(entry);
      if (typeof text !== 'string') text.catch(() => undefined);
    }
  }

  #batch(texts: readonly string[], last: LogEntry, size: number, isFull: boolean): EventBatch {
    const framing = this.#framing;
    let bytes: Buffer | undefined;
    return {
      texts,
      last,
      size,
      isFull,
      get bytes() {
        bytes ??= framed(texts, size, framing);
        return bytes;
      },
    };
  }
}

function framed(texts: readonly string[], size: number, framing: Framing): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const text of texts) {
    at = framing.writeHeader(bytes, at, Buffer.byteLength(text));
    at += bytes.write(text, at);
  }
  return bytes;
}

/**
 * Reports whether a new batch of `entries` would equal this one. Both begin with the same entry, and events have one
 * order without gaps, so comparing the length and the last entry is enough.
 */
function isFrontOf(batch: EventBatch, entries: readonly LogEntry[]): boolean {
  const count = batch.texts.length;
  return entries[count - 1] === batch.last && (batch.isFull || count === entries.length);
}
