import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/**
 * A position in a chain, usually the chain's end: the numbers of lines and bytes before the position, and the hash of
 * the last of these lines.
 */
export interface Head {
  readonly lines: number;
  readonly bytes: number;
  readonly hash: string;
}

export const NO_LINES: Head = { lines: 0, bytes: 0, hash: '0'.repeat(64) };

export interface SealedLine {
  readonly text: string;
  readonly head: Head;
}

const HASH_AT = ',"hash":"'.length;
const ENDING = HASH_AT + 64 + '"}'.length;
const OBJECT_END = 0x7d;
const NEWLINE = 0x0a;
const CHUNK_BYTES = 1 << 18;
/**
 * Maximum length of a line. Enough for a message with its details and a body of 1 MiB in which every character is
 * escaped.
 */
const MAX_LINE_BYTES = 1 << 26;
const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Makes the next line of a chain. `members` are the JSON members between the line's number and its hash. The hash is
 * the SHA-256 of the line without its `hash` member. Each line contains the hash of the previous one, so that no line
 * can be changed, removed or inserted without changing every later line.
 */
export function nextLine(head: Head, members: string): SealedLine {
  const text = `{"n":${head.lines + 1},"prev":"${head.hash}",${members}`;
  const sealed = hash('sha256', `${text}}`, 'hex');
  const line = `${text},"hash":"${sealed}"}\n`;
  return {
    text: line,
    head: { lines: head.lines + 1, bytes: head.bytes + Buffer.byteLength(line), hash: sealed },
  };
}

export interface ReadLine {
  readonly n: number;
  /** The byte at which the line begins in the file. */
  readonly start: number;
  /** The line's JSON, without the line break. Valid until the next line is read. */
  readonly bytes: Buffer;
  /** The end of the chain, including this line. */
  readonly head: Head;
}

/** The first line of a file that differs from what was written. */
export interface WrongLine {
  readonly n: number;
  readonly start: number;
  readonly wrong: string;
}

export function isWrong(line: ReadLine | WrongLine): line is WrongLine {
  return 'wrong' in line;
}

/**
 * Yields the lines of a chain after `head`. Ends after the first line that differs from what was written. Throws the
 * errors of the file system.
 */
export function* readChain(path: string, head: Head = NO_LINES): Generator<ReadLine | WrongLine> {
  let last = head;
  for (const { start, bytes, isWhole } of linesOf(path, head.bytes)) {
    const n = last.lines + 1;
    const wrong = isWhole ? faultOf(bytes, last, n) : 'is not complete';
    if (wrong !== undefined) {
      yield { n, start, wrong };
      return;
    }
    const end = bytes.length - '"}'.length;
    last = { lines: n, bytes: start + bytes.length + 1, hash: bytes.toString('latin1', end - 64, end) };
    yield { n, start, bytes, head: last };
  }
}

/** Returns the fault of a line; undefined if it is unchanged and follows `last`. */
function faultOf(line: Buffer, last: Head, n: number): string | undefined {
  const at = line.length - ENDING;
  const end = line.length - '"}'.length;
  if (at <= 0 || line.toString('latin1', at, at + HASH_AT) !== ',"hash":"' || line.toString('latin1', end) !== '"}') {
    return 'was changed (it does not end with a hash)';
  }
  // The hash covers the line up to `at`, and a closing brace. Writes the brace over the separator for a moment, which
  // saves copying the line.
  const separator = line[at] ?? 0;
  line[at] = OBJECT_END;
  const sealed = hash('sha256', line.subarray(0, at + 1), 'hex');
  line[at] = separator;
  if (sealed !== line.toString('latin1', end - 64, end)) return 'was changed (its hash does not match its content)';
  const beginning = `{"n":${n},"prev":"${last.hash}",`;
  if (line.toString('latin1', 0, beginning.length) === beginning) return undefined;
  return 'does not follow the line before it (a line was removed, added or replaced)';
}

interface RawLine {
  readonly start: number;
  readonly bytes: Buffer;
  /** False for a last line without a line break, and for a line that is too long. */
  readonly isWhole: boolean;
}

function* linesOf(path: string, from: number): Generator<RawLine> {
  const file = openSync(path, READ_PLAINLY);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw Object.assign(new Error(`${path} is not a file`), { code: 'EFTYPE' });
    let rest: Buffer[] = [];
    let restBytes = 0;
    let start = from;
    for (let at = from; at < stats.size && restBytes <= MAX_LINE_BYTES; ) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, stats.size - at));
      const chunk = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at));
      if (chunk.length === 0) break;
      at += chunk.length;
      let begin = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, begin)) {
        const piece = chunk.subarray(begin, end);
        const bytes = restBytes === 0 ? piece : Buffer.concat([...rest, piece]);
        yield { start, bytes, isWhole: true };
        start += bytes.length + 1;
        begin = end + 1;
        rest = [];
        restBytes = 0;
      }
      if (begin < chunk.length) rest.push(chunk.subarray(begin));
      restBytes += chunk.length - begin;
    }
    if (restBytes > 0) yield { start, bytes: Buffer.concat(rest), isWhole: false };
  } finally {
    closeSync(file);
  }
}

/**
 * Returns a buffer for the `LineReader`s of several files, used one after the other. The memory of a buffer is outside
 * V8's heap, so one buffer per reader would pile up before V8 collects any.
 */
export function lineWindow(): Buffer {
  return Buffer.allocUnsafe(CHUNK_BYTES);
}

/** Reads single lines of a file. Lines near each other need only one read of the file. */
export class LineReader {
  readonly #path: string;
  readonly #file: number;
  #buffer: Buffer;
  #window: Buffer;
  #windowAt = 0;

  constructor(path: string, buffer = lineWindow()) {
    this.#path = path;
    this.#file = openSync(path, READ_PLAINLY);
    this.#buffer = buffer;
    this.#window = buffer.subarray(0, 0);
  }

  /** Returns the line that begins at `start`, without its line break. */
  at(start: number): string {
    let from = start - this.#windowAt;
    let end = from >= 0 && from < this.#window.length ? this.#window.indexOf(NEWLINE, from) : -1;
    for (let size = this.#buffer.length; end < 0; size *= 4) {
      if (size > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(size);
      this.#window = this.#buffer.subarray(0, readSync(this.#file, this.#buffer, 0, size, start));
      this.#windowAt = start;
      from = 0;
      end = this.#window.indexOf(NEWLINE);
      if (end < 0 && (this.#window.length < size || size > MAX_LINE_BYTES)) {
        throw new Error(`${this.#path} has no line at byte ${start}`);
      }
    }
    return this.#window.toString('utf8', from, end);
  }

  close(): void {
    closeSync(this.#file);
  }
}
