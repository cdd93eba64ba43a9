import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError, errorCode } from '../domain/errors.ts';
import type { Cancel, Clock, Log } from '../domain/ports/host.ts';

/** Decision D8: Messages may still be reading long after the script said it was done. */
const KEPT_MS = 60 * 60 * 1000;
const OURS = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Copies of attachments where Messages' sandbox lets it read (decision D8), each removed an hour later. */
export class Staging {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #removals = new Map<string, Cancel>();

  constructor(folder: string, clock: Clock, log: Log) {
    this.#folder = folder;
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes over what an earlier process left. */
  async start(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (!OURS.test(name)) continue;
      const folder = join(this.#folder, name);
      const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: 0 }));
      this.#removeIn(folder, mtimeMs + KEPT_MS - this.#clock.now());
    }
  }

  /** Path of the copy. It keeps the file's name, which the receiver sees, in a folder of its own. */
  async copy(path: string): Promise<string> {
    const folder = join(this.#folder, randomUUID());
    const copy = join(folder, basename(path));
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#removeIn(folder, KEPT_MS);
      // On APFS a clone: neither time nor room.
      await copyFile(path, copy, constants.COPYFILE_FICLONE);
      const seconds = this.#clock.now() / 1000;
      await utimes(folder, seconds, seconds);
    } catch (error) {
      throw new AppError(
        'refused',
        'send_failed',
        `An attachment could not be copied (${errorCode(error) ?? 'error'}).`,
        {
          hint: 'Nothing was sent. Check that the file is still there, and the room on the disk.',
          cause: error,
        },
      );
    }
    return copy;
  }

  /** What is still there is removed after the next start. */
  close(): void {
    for (const cancel of this.#removals.values()) cancel();
    this.#removals.clear();
  }

  #removeIn(folder: string, ms: number): void {
    const remove = () => {
      this.#removals.delete(folder);
      rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
        this.#log.warn('a copy of an attachment could not be removed', { folder, code: errorCode(error) });
      });
    };
    this.#removals.set(folder, this.#clock.after(Math.min(Math.max(ms, 0), KEPT_MS), remove));
  }
}
