import { randomUUID } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS } from '../model/durations.ts';
import { type AppError, errorCode, isAppError } from '../model/errors.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import { type CheckedFile, copyChecked } from './checked-attachments.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/**
 * Minimum time for which a copy is kept: Messages may read a file long after the script has reported success (decision
 * D8).
 */
const KEPT_MS = HOUR_MS;
/** Minimum time between two searches of chat.db for copies in use. */
const SWEEP_EVERY_MS = 10 * 60 * 1000;
const OURS = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface StagingParts {
  readonly folder: string;
  readonly lookup: Pick<TolerantLookup, 'stagedFoldersInUse'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Copies attachments into a folder that Messages' sandbox may read (decision D8). Removes each copy after an hour.
 * Keeps a copy that chat.db refers to, because the conversation displays that file.
 */
export class Staging {
  readonly #parts: StagingParts;
  /** Key: the name of a copy's folder. Value: the wall-clock time at which the copy may be removed. */
  readonly #dueMs = new Map<string, number>();
  #cancel: Cancel | undefined;
  #nextSweepMs = 0;
  #isClosed = false;

  constructor(parts: StagingParts) {
    this.#parts = parts;
  }

  /** Schedules the removal of the copies that an earlier process made. */
  async start(): Promise<void> {
    const { folder, clock } = this.#parts;
    for (const name of await readdir(folder).catch(() => [])) {
      if (!OURS.test(name)) continue;
      const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: 0 }));
      // A date in the future counts as now, so that every copy is due within an hour of the start.
      this.#dueMs.set(name, Math.min(mtimeMs, clock.now()) + KEPT_MS);
    }
    this.#schedule();
  }

  /**
   * Copies a file into a new subfolder, and returns the copy's path. The copy keeps the file's name, because the
   * receiver sees it.
   */
  async copy(file: CheckedFile): Promise<string> {
    const { folder, clock } = this.#parts;
    const name = randomUUID();
    this.#dueMs.set(name, clock.now() + KEPT_MS);
    this.#schedule();
    try {
      const copy = await copyChecked(file, join(folder, name));
      const seconds = clock.now() / 1000;
      await utimes(join(folder, name), seconds, seconds);
      return copy;
    } catch (error) {
      throw isAppError(error) ? error : copyFailure(error, folder);
    }
  }

  /** Stops removing copies. The remaining ones are removed after the next start. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #schedule(): void {
    this.#cancel?.();
    if (this.#isClosed || this.#dueMs.size === 0) return;
    const { clock } = this.#parts;
    const atMs = Math.max(Math.min(...this.#dueMs.values()), this.#nextSweepMs);
    const waitMs = Math.max(atMs - clock.now(), 0);
    this.#cancel = clock.after(Math.min(waitMs, KEPT_MS), () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    const { folder, lookup, clock } = this.#parts;
    const nowMs = clock.now();
    this.#nextSweepMs = nowMs + SWEEP_EVERY_MS;
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs).map(([name]) => name);
    const used = due.length === 0 ? new Set<string>() : await lookup.stagedFoldersInUse(folder);
    for (const name of due) {
      // While chat.db is unreadable, nothing is removed; the copies are checked again in an hour.
      if (used === undefined) this.#dueMs.set(name, nowMs + KEPT_MS);
      else this.#dueMs.delete(name);
    }
    this.#schedule();
    if (used !== undefined) await Promise.all(due.filter((name) => !used.has(name)).map((name) => this.#remove(name)));
  }

  async #remove(name: string): Promise<void> {
    const folder = join(this.#parts.folder, name);
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      this.#parts.log.warn('a copy of an attachment could not be removed', { folder, code: errorCode(error) });
    });
  }
}

function copyFailure(cause: unknown, folder: string): AppError {
  const reason = errorCode(cause) ?? 'error';
  const isForbidden = reason === 'EPERM' || reason === 'EACCES';
  return isForbidden
    ? problem('staging_not_permitted', { folder }, { cause })
    : problem('attachment_not_copied', { reason }, { cause });
}
