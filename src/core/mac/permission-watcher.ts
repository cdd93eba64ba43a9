import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import { commandRunner } from '../runtime/command.ts';

/**
 * Time between two checks whether a new process can read chat.db. Each check starts Node and makes macOS evaluate the
 * permission.
 */
const LOOK_EVERY_MS = 5000;
/**
 * After chat.db has been unreadable for this long, probably nobody is waiting at the Mac any more, so checks become
 * rarer.
 */
const SLOW_AFTER_MS = 600_000;
const LOOK_SLOWLY_EVERY_MS = 60_000;
const LOOK_LIMIT_MS = 10_000;

export interface PermissionWatcherParts {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onGranted: () => void;
  /** Starts a process and reports whether it can read the database. */
  readonly freshProcessCanOpen?: (path: string) => Promise<boolean>;
  /** The folder that contains `open-once.js` or, if not compiled, `open-once.ts`. Default: this module's folder. */
  readonly moduleFolder?: URL;
}

/**
 * Detects that Full Disk Access was granted. macOS evaluates the permission when a process starts, so a process that
 * was refused stays refused. While chat.db cannot be opened, new processes try to open it. If one succeeds, calls
 * `onGranted`, because this process must restart.
 */
export class PermissionWatcher {
  readonly #parts: PermissionWatcherParts;
  #isAway = false;
  #awaySinceMs = 0;
  #isClosed = false;
  #cancel: Cancel | undefined;

  constructor(parts: PermissionWatcherParts) {
    this.#parts = parts;
  }

  set({ isAway }: { readonly isAway: boolean }): void {
    if (isAway === this.#isAway || this.#isClosed) return;
    this.#isAway = isAway;
    this.#cancel?.();
    this.#awaySinceMs = this.#parts.clock.monotonic();
    if (isAway) this.#again();
  }

  close(): void {
    this.#isClosed = true;
    this.#isAway = false;
    this.#cancel?.();
  }

  #again(): void {
    const { clock } = this.#parts;
    const isSlow = clock.monotonic() - this.#awaySinceMs >= SLOW_AFTER_MS;
    this.#cancel = clock.after(isSlow ? LOOK_SLOWLY_EVERY_MS : LOOK_EVERY_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { path, log, onGranted, moduleFolder = new URL('.', import.meta.url) } = this.#parts;
    const { freshProcessCanOpen = (wanted: string) => canOpen(wanted, moduleFolder) } = this.#parts;
    const can = await freshProcessCanOpen(path);
    if (!this.#isAway) return;
    if (!can) return this.#again();
    // Closes this watcher, so that it requests a restart only once. The restarted process has a new watcher.
    this.close();
    log.warn('a fresh process can read chat.db, but this one cannot: restarting');
    onGranted();
  }
}

async function canOpen(path: string, moduleFolder: URL): Promise<boolean> {
  const compiled = fileURLToPath(new URL('open-once.js', moduleFolder));
  const script = existsSync(compiled) ? compiled : fileURLToPath(new URL('open-once.ts', moduleFolder));
  const { code } = await commandRunner({})(process.execPath, [script, path], { timeoutMs: LOOK_LIMIT_MS });
  return code === 0;
}
