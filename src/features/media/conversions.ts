import { hash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, open, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ConverterStart, Sandbox } from '../../core/mac/sandbox.ts';
import type { AttachmentState } from '../../core/model/details.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { AttachmentFile, AttachmentReader, ConvertedForm } from '../../core/model/ports/reading-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { RunCommand } from '../../core/runtime/command.ts';
import { MediaCache } from './media-cache.ts';
import { pixelsOf } from './picture-size.ts';
import { SAMPLE_PICTURE, SAMPLE_SOUND } from './samples.ts';

const TIME_LIMIT_MS = 60_000;
const MAX_WAITING = 20;
/**
 * If a conversion takes at least this time and fails, its file is not converted again for `SET_ASIDE_MS`, to any form.
 */
const TOO_SLOW_MS = 10_000;
const SET_ASIDE_MS = 10 * 60_000;
const MAX_SET_ASIDE = 1000;
/**
 * Maximum size of a file to convert, in bytes. The file is copied into the folder of the cache, which keeps at most 500
 * MB.
 */
const MAX_SOURCE_BYTES = 500_000_000;

/** The unconverted files. */
export interface OriginalFiles extends AttachmentReader {
  /** Returns the state of an attachment's file, such as `in_cloud`; undefined if the attachment does not exist. */
  state(id: string, n: number): AttachmentState | undefined;
}

export interface ConversionParts {
  readonly files: OriginalFiles;
  readonly cacheFolder: string;
  /** Folder of `sips`, `afconvert` and `sandbox-exec`. */
  readonly toolFolder: string;
  /** The folder that the converters must not read. */
  readonly homeFolder: string;
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Converts attachments, one at a time, to a form that every client can show or play. Caches the results (decision K4).
 */
export class Conversions implements AttachmentReader {
  readonly #parts: ConversionParts;
  readonly #cache: MediaCache;
  readonly #sandbox: Sandbox;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  /** Key: a file's version. Value: the monotonic time before which the file is not converted again. */
  readonly #setAside = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ConversionParts) {
    this.#parts = parts;
    this.#cache = new MediaCache(parts.cacheFolder, parts.clock);
    this.#sandbox = new Sandbox(parts);
  }

  close(): void {
    this.#stop.abort();
  }

  async open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined> {
    const { files } = this.#parts;
    const file = await files.open(id, n);
    if (form === undefined) return file;
    if (file === undefined) {
      const state = files.state(id, n);
      if (state === 'in_cloud' || state === 'downloading') throw problem('not_on_this_mac');
      return undefined;
    }
    const { extension, mimeType } = RESULTS[form.as];
    const version = hash('sha256', JSON.stringify([file.version, form]), 'hex').slice(0, 40);
    const stored = `${version}.${extension}`;
    let found = await this.#cache.open(stored);
    if (found === undefined) {
      await this.#once(stored, file, form);
      found = await this.#cache.open(stored);
    } else await file.close();
    if (found === undefined) throw problem('conversion_unavailable');
    const { handle, bytes } = found;
    return {
      name: `${file.name.slice(0, file.name.length - extname(file.name).length)}.${extension}`,
      mimeType,
      bytes,
      version,
      read: (start, end) => handle.createReadStream({ start, end: Math.max(start, end) }),
      close: () => handle.close(),
    };
  }

  /**
   * Converts a file and caches the result. An equal request that arrives during the conversion waits for the same
   * result. Throws `conversion_busy` if `MAX_WAITING` conversions are waiting or running.
   */
  async #once(stored: string, file: AttachmentFile, form: ConvertedForm): Promise<void> {
    const running = this.#running.get(stored);
    if (running !== undefined || this.#running.size >= MAX_WAITING) {
      await file.close();
      if (running !== undefined) return running;
      throw problem('conversion_busy', {}, { headers: { 'Retry-After': '5' } });
    }
    const converting = this.#turn.then(() => this.#convert(stored, file, form));
    this.#turn = converting.catch(() => {});
    this.#running.set(stored, converting);
    try {
      await converting;
    } finally {
      this.#running.delete(stored);
    }
  }

  async #convert(stored: string, file: AttachmentFile, form: ConvertedForm): Promise<void> {
    try {
      await this.#cache.within(randomUUID(), (folder) => this.#convertIn(folder, stored, file, form));
    } finally {
      // Closes the file even if it was never read.
      await file.close().catch(() => {});
    }
  }

  async #convertIn(folder: string, stored: string, file: AttachmentFile, form: ConvertedForm): Promise<void> {
    const { clock, log } = this.#parts;
    // An equal conversion may have ended after `open` looked in the cache.
    const made = await this.#cache.open(stored);
    if (made !== undefined) return made.handle.close();
    if ((this.#setAside.get(file.version) ?? 0) > clock.monotonic()) throw problem('conversion_unavailable');
    const startedMs = clock.monotonic();
    const source = await copied(file, form, folder);
    const target = join(folder, stored);
    const [tool] = commandFor(form, source, target);
    const start = await this.#sandbox.start(tool, folder, (way) => this.#convertsSample(way, form, folder));
    const { code, trouble, bytes } = await this.#run(start, form, source, target);
    if (code !== 0 || bytes === 0) {
      log.debug('an attachment was not converted', { tool, code, trouble });
      if (clock.monotonic() - startedMs >= TOO_SLOW_MS) this.#putAside(file.version);
      throw problem('conversion_unavailable');
    }
    await chmod(target, 0o600);
    await this.#cache.keep(target, stored);
  }

  async #run({ program, first }: ConverterStart, form: ConvertedForm, source: string, target: string) {
    const [, args] = commandFor(form, source, target);
    const { code, trouble } = await this.#parts.run(program, [...first, ...args], {
      timeoutMs: TIME_LIMIT_MS,
      cwd: dirname(target),
      hasOwnGroup: true,
      signal: this.#stop.signal,
    });
    return { code, trouble, bytes: (await stat(target).catch(() => undefined))?.size ?? 0 };
  }

  /**
   * Reports whether the converter for `form` works if it is started in this way. Throws `conversion_unavailable` if it
   * does not finish, which a busy Mac can cause.
   */
  async #convertsSample(start: ConverterStart, form: ConvertedForm, folder: string): Promise<boolean> {
    const { extension, sample } = RESULTS[form.as];
    const [source, target] = [join(folder, `sample.${sample.extension}`), join(folder, `sample-made.${extension}`)];
    await writeFile(source, sample.content, { mode: 0o600 });
    await rm(target, { force: true });
    const { code, trouble, bytes } = await this.#run(start, form, source, target);
    if (trouble === 'time_limit') throw problem('conversion_unavailable');
    return code === 0 && bytes > 0;
  }

  #putAside(version: string): void {
    const [oldest] = this.#setAside.keys();
    if (oldest !== undefined && this.#setAside.size >= MAX_SET_ASIDE) this.#setAside.delete(oldest);
    this.#setAside.set(version, this.#parts.clock.monotonic() + SET_ASIDE_MS);
  }
}

/**
 * Copies the opened file into `folder` under a neutral name. Throws `conversion_unavailable` for a file that is empty
 * or too large, or whose format cannot be converted to `form`.
 */
async function copied(file: AttachmentFile, form: ConvertedForm, folder: string): Promise<string> {
  if (file.bytes === 0 || file.bytes > MAX_SOURCE_BYTES) throw problem('conversion_unavailable');
  const content = Readable.from(file.read(0, file.bytes - 1));
  try {
    const chunks = content[Symbol.asyncIterator]();
    let head = Buffer.alloc(0);
    while (head.length < HEAD_BYTES) {
      const next = (await chunks.next()) as IteratorResult<Uint8Array>;
      if (next.done === true) break;
      head = Buffer.concat([head, next.value]);
    }
    const format = formatOf(head.subarray(0, HEAD_BYTES));
    if (format?.kind !== RESULTS[form.as].kind) throw problem('conversion_unavailable');
    const source = join(folder, `source.${format.extension}`);
    const whole = async function* () {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    };
    await pipeline(whole, createWriteStream(source, { flags: 'wx', mode: 0o600 }));
    if (format.kind === 'picture') await refuseUnknownOrHuge(source, format.extension);
    return source;
  } finally {
    content.destroy();
  }
}

/**
 * The format of a file, determined by its first bytes and never by its name. The converter recognises the format by
 * `extension`.
 */
interface SourceFormat {
  readonly kind: 'picture' | 'sound';
  readonly extension: string;
}

/** Number of bytes at the beginning of a file from which its format is read. */
const HEAD_BYTES = 32;

/**
 * Returns the format of a file that begins with `head`; undefined if Postern converts no such files. Refuses playlists,
 * for example, because a playlist could name other files.
 */
export function formatOf(head: Buffer): SourceFormat | undefined {
  const text = head.toString('latin1');
  const brand = text.slice(4, 8) === 'ftyp' ? text.slice(8, 12) : '';
  if (/^(?:hei[cmsx]|hev[cmx]|mif1|msf1|avif)$/.test(brand)) return { kind: 'picture', extension: 'heic' };
  if (/^(?:M4A |M4B |mp4[12]|isom|qt {2}|3gp.)$/.test(brand)) return { kind: 'sound', extension: 'm4a' };
  if (text.startsWith('\xff\xd8\xff')) return { kind: 'picture', extension: 'jpg' };
  if (text.startsWith('\x89PNG\r\n')) return { kind: 'picture', extension: 'png' };
  if (/^GIF8[79]a/.test(text)) return { kind: 'picture', extension: 'gif' };
  if (/^(?:II\*\0|MM\0\*)/.test(text)) return { kind: 'picture', extension: 'tiff' };
  if (/^RIFF.{4}WEBP/s.test(text)) return { kind: 'picture', extension: 'webp' };
  if (text.startsWith('BM')) return { kind: 'picture', extension: 'bmp' };
  if (text.startsWith('caff')) return { kind: 'sound', extension: 'caf' };
  if (text.startsWith('#!AMR')) return { kind: 'sound', extension: 'amr' };
  if (/^RIFF.{4}WAVE/s.test(text)) return { kind: 'sound', extension: 'wav' };
  if (/^FORM.{4}AIF[FC]/s.test(text)) return { kind: 'sound', extension: 'aiff' };
  if (/^(?:ID3|\xff[\xe2-\xfb])/.test(text)) return { kind: 'sound', extension: 'mp3' };
  return undefined;
}

/**
 * Maximum number of pixels of a picture to convert. A larger one takes a gigabyte of memory, and a file of a few
 * kilobytes can claim to be that large.
 */
const MAX_PIXELS = 200_000_000;

/** Throws `conversion_unavailable` for a picture with too many pixels, or whose headers do not say how many it has. */
async function refuseUnknownOrHuge(path: string, extension: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const pixels = await pixelsOf(extension, async (offset, length) => {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    });
    if (!(pixels > 0 && pixels <= MAX_PIXELS)) throw problem('conversion_unavailable');
  } finally {
    await file.close();
  }
}

const RESULTS = {
  jpeg: {
    ...{ kind: 'picture', extension: 'jpg', mimeType: 'image/jpeg' },
    sample: { extension: 'bmp', content: SAMPLE_PICTURE },
  },
  m4a: {
    ...{ kind: 'sound', extension: 'm4a', mimeType: 'audio/mp4' },
    sample: { extension: 'wav', content: SAMPLE_SOUND },
  },
} as const;

/** Returns the macOS program that converts to this form, and its arguments. */
function commandFor(form: ConvertedForm, source: string, target: string): readonly [string, readonly string[]] {
  if (form.as === 'm4a') return ['afconvert', ['-f', 'm4af', '-d', 'aac', source, target]];
  const size = form.max === undefined ? [] : ['-Z', String(form.max)];
  return ['sips', ['-s', 'format', 'jpeg', ...size, source, '--out', target]];
}
