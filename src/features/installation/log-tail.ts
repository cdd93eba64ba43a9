import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errorCode } from '../../core/model/errors.ts';

/** A position in a log file, after the bytes that have been read. */
export interface LogPosition {
  readonly bytes: number;
  /** The bytes read so far of a line that has not ended yet. */
  readonly rest: Buffer;
}

export interface LogLines {
  readonly lines: readonly string[];
  readonly position: LogPosition;
}

const BEGINNING: LogPosition = { bytes: 0, rest: Buffer.alloc(0) };
const CHUNK = 64 * 1024;
const MAX_END_BYTES = 4 * 1024 * 1024;
const NEWLINE = 10;

/**
 * Returns the last `count` lines of the file, from at most its last 4 MB, and the position after them. Returns
 * undefined if the file does not exist.
 */
export function endOfLog(file: string, count: number): LogLines | undefined {
  return opened(file, (fd, size) => {
    const from = Math.max(0, size - MAX_END_BYTES);
    const { lines, position } = linesFrom(fd, { bytes: from, rest: BEGINNING.rest });
    return { lines: lines.slice(from > 0 ? 1 : 0).slice(-count), position };
  });
}

/**
 * Returns the lines written since `position`. Starts at the beginning if the file has become shorter, because
 * `boundLogFiles` empties large files.
 */
export function logSince(file: string, position: LogPosition = BEGINNING): LogLines {
  const found = opened(file, (fd, size) => linesFrom(fd, size < position.bytes ? BEGINNING : position));
  return found ?? { lines: [], position: BEGINNING };
}

function opened<Result>(file: string, work: (fd: number, size: number) => Result): Result | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return work(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function linesFrom(fd: number, { bytes, rest }: LogPosition): LogLines {
  const chunks = [rest];
  let position = bytes;
  for (;;) {
    const chunk = Buffer.alloc(CHUNK);
    const count = readSync(fd, chunk, 0, CHUNK, position);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    position += count;
  }
  const text = Buffer.concat(chunks);
  const end = text.lastIndexOf(NEWLINE) + 1;
  const lines =
    end === 0
      ? []
      : text
          .subarray(0, end - 1)
          .toString('utf8')
          .split('\n');
  return { lines, position: { bytes: position, rest: text.subarray(end) } };
}
