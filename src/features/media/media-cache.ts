import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS } from '../../core/model/durations.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';

const MAX_BYTES = 500_000_000;
/** How long a working folder that a crash left behind is kept. */
const WORK_KEPT_MS = HOUR_MS;
const WORK = 'work-';
const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Caches files that can be made again, at most 500 MB. Removes the least recently used files first (decision K4). */
export class MediaCache {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #keptMs: number;

  /** Creates a cache. Files that have not been used for `keptMs` are removed even if the cache has room for them. */
  constructor(folder: string, clock: Clock, keptMs = Number.POSITIVE_INFINITY) {
    this.#folder = folder;
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  /** Opens a cached file, and records that it was used now. Returns undefined if the file is not cached. */
  async open(name: string): Promise<{ readonly handle: FileHandle; readonly bytes: number } | undefined> {
    const path = join(this.#folder, name);
    let handle: FileHandle;
    try {
      handle = await open(path, READ_PLAINLY);
    } catch {
      return undefined;
    }
    const { size } = await handle.stat();
    const nowS = this.#clock.now() / 1000;
    // Stores the time of use in the file, so that the order of use survives a restart.
    await utimes(path, nowS, nowS).catch(() => {});
    return { handle, bytes: size };
  }

  /** Runs `work` with a private folder, which is removed afterwards. */
  async within<Result>(id: string, work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(this.#folder, WORK + id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async keep(path: string, name: string): Promise<void> {
    await rename(path, join(this.#folder, name));
    await this.#trim();
  }

  async #trim(): Promise<void> {
    const nowMs = this.#clock.now();
    const found = await Promise.all(
      (await readdir(this.#folder)).map(async (name) => {
        const { size = 0, mtimeMs = nowMs } = (await stat(join(this.#folder, name)).catch(() => undefined)) ?? {};
        return { name, bytes: size, usedMs: mtimeMs };
      }),
    );
    const left = found.filter(({ name, usedMs }) => name.startsWith(WORK) && usedMs < nowMs - WORK_KEPT_MS);
    const kept = found.filter(({ name }) => !name.startsWith(WORK)).sort((a, b) => b.usedMs - a.usedMs);
    let bytes = 0;
    const old = kept.filter((file) => {
      bytes += file.bytes;
      return bytes > MAX_BYTES || file.usedMs < nowMs - this.#keptMs;
    });
    await Promise.all(
      [...left, ...old].map(({ name }) => rm(join(this.#folder, name), { recursive: true, force: true })),
    );
  }
}
