import type { LogEntry } from '../domain/event.ts';

/** Decision C7: at most this much is handed to one socket at a time; only a larger event goes alone. */
const MAX_BYTES = 256 * 1024;
/** Batches cached while clients are served: enough for the positions that clients commonly have. */
const MAX_CACHED = 16;
/** First byte of an unfragmented text frame (RFC 6455, 5.2). */
const TEXT_FRAME = 0x81;

/** Events that are written to a socket at once, one unmasked text frame each. */
export class FrameBatch {
  readonly texts: readonly string[];
  readonly last: LogEntry;
  /** True when the next event would not have fitted. */
  readonly isFull: boolean;
  /** Bytes of all its frames. */
  readonly size: number;
  #bytes: Buffer | undefined;

  constructor(texts: readonly string[], last: LogEntry, size: number, isFull: boolean) {
    this.texts = texts;
    this.last = last;
    this.isFull = isFull;
    this.size = size;
  }

  /** The frames, made once for all clients at the same position. */
  get bytes(): Buffer {
    this.#bytes ??= this.#frame();
    return this.#bytes;
  }

  #frame(): Buffer {
    const bytes = Buffer.allocUnsafe(this.size);
    let at = 0;
    for (const text of this.texts) {
      const length = Buffer.byteLength(text);
      at = writeHeader(bytes, at, length);
      at += bytes.write(text, at);
    }
    return bytes;
  }
}

/** Makes batches and caches the newest, so that many clients at one position cost as much as one. */
export class FrameCache {
  readonly #jsonOf: (entry: LogEntry) => string;
  readonly #cached = new Map<LogEntry, FrameBatch>();

  constructor(jsonOf: (entry: LogEntry) => string) {
    this.#jsonOf = jsonOf;
  }

  /** The batch at the front of `entries`; undefined when there are none. */
  front(entries: readonly LogEntry[]): FrameBatch | undefined {
    const [first] = entries;
    if (first === undefined) return undefined;
    const known = this.#cached.get(first);
    if (known !== undefined && isFrontOf(known, entries)) return known;
    const batch = this.#make(entries, first);
    this.#cached.delete(first);
    this.#cached.set(first, batch);
    for (const [oldest] of this.#cached) {
      if (this.#cached.size <= MAX_CACHED) break;
      this.#cached.delete(oldest);
    }
    return batch;
  }

  clear(): void {
    this.#cached.clear();
  }

  #make(entries: readonly LogEntry[], first: LogEntry): FrameBatch {
    const texts: string[] = [];
    let last = first;
    let size = 0;
    for (const entry of entries) {
      const text = this.#jsonOf(entry);
      const length = Buffer.byteLength(text);
      const frameSize = headerSize(length) + length;
      if (texts.length > 0 && size + frameSize > MAX_BYTES) return new FrameBatch(texts, last, size, true);
      texts.push(text);
      last = entry;
      size += frameSize;
    }
    return new FrameBatch(texts, last, size, false);
  }
}

/** Events have one order and no gaps, so the same first and last at the same distance are the same batch. */
function isFrontOf(batch: FrameBatch, entries: readonly LogEntry[]): boolean {
  const count = batch.texts.length;
  return entries[count - 1] === batch.last && (batch.isFull || count === entries.length);
}

function headerSize(length: number): number {
  if (length < 126) return 2;
  return length < 65536 ? 4 : 10;
}

/** Writes the frame header of RFC 6455, 5.2; returns where the payload begins. */
function writeHeader(bytes: Buffer, at: number, length: number): number {
  bytes[at] = TEXT_FRAME;
  if (length < 126) {
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length < 65536) {
    bytes[at + 1] = 126;
    return bytes.writeUInt16BE(length, at + 2);
  }
  bytes[at + 1] = 127;
  bytes.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2);
  return bytes.writeUInt32BE(length % 2 ** 32, at + 6);
}
