import { type FSWatcher, watch } from 'node:fs';
import type { Cancel, Clock } from '../model/ports/host-ports.ts';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import type { Connection } from './connection.ts';

export interface CommitDetectorParts {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** False to poll without watching the -wal. Commits are then noticed up to `pollIntervalMs` later. Default: true. */
  readonly isWatching?: boolean;
  /** Called when the connection's health changes. */
  readonly onHealth?: (health: BackendHealth) => void;
}

/**
 * Times of the checks after a write to the -wal, in milliseconds after the immediate check. SQLite writes a commit to
 * the -wal before it makes the commit visible, so a single check may be too early.
 */
const CHECKS_AFTER_EVENT_MS = [1, 3, 8, 20, 50];

/**
 * Detects other processes' commits by `PRAGMA data_version`. Checks it every `pollIntervalMs`, and also when a file
 * watcher reports a write to the -wal. Watches the new -wal whenever the -wal is replaced.
 */
export class CommitDetector {
  readonly #parts: CommitDetectorParts;
  readonly #listeners = new Set<() => void>();
  #watcher: FSWatcher | undefined;
  #watchedWal: string | null = null;
  #cancelPoll: Cancel | undefined;
  #cancelCheck: Cancel | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #lastHealth: string | undefined;
  #isClosed = false;

  constructor(parts: CommitDetectorParts) {
    this.#parts = parts;
  }

  /** Registers a listener. It is called after each commit, and each time the database has been opened or reopened. */
  onCommit(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts to poll. The first check runs before `start` returns, so that health is known by then. */
  start(): void {
    if (this.#isClosed || this.#cancelPoll !== undefined) return;
    this.#poll();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll?.();
    this.#cancelCheck?.();
    clearImmediate(this.#immediate);
    this.#unwatch();
  }

  #poll(): void {
    this.#check();
    if (this.#isClosed) return;
    this.#cancelPoll = this.#parts.clock.after(this.#parts.pollIntervalMs, () => this.#poll());
  }

  /** Checks once and calls the listeners if there may be something new. Returns true in that case. */
  #check(): boolean {
    const { connection, onHealth } = this.#parts;
    const change = connection.check();
    // The first check counts as new even if nothing changed: an earlier read may have opened the database without
    // calling the listeners.
    const isNew = change === 'changed' || (change === 'unchanged' && this.#lastHealth === undefined);
    this.#rearm();
    const health = connection.health();
    const described = `${health.connected} ${health.message}`;
    if (described !== this.#lastHealth) {
      this.#lastHealth = described;
      onHealth?.(health);
    }
    if (isNew) for (const listener of this.#listeners) listener();
    return isNew;
  }

  /**
   * Checks once for all file events of one turn of the event loop. The check may find only an earlier commit, while the
   * commit that caused the file event is still being written. So later checks always follow.
   */
  #onEvent(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#cancelCheck?.();
      this.#check();
      this.#checkLater(0);
    });
  }

  /**
   * Repeats the check at the times of `CHECKS_AFTER_EVENT_MS` until one finds something new. Every check but the last
   * examines the files only if SQLite reports a commit. The last check always examines the files.
   */
  #checkLater(step: number): void {
    const at = CHECKS_AFTER_EVENT_MS[step];
    if (at === undefined || this.#isClosed) return;
    const { clock, connection } = this.#parts;
    const before = CHECKS_AFTER_EVENT_MS[step - 1] ?? 0;
    const isLast = step === CHECKS_AFTER_EVENT_MS.length - 1;
    this.#cancelCheck = clock.after(at - before, () => {
      const isNeeded = isLast || connection.mayHaveChanged();
      if (!isNeeded || !this.#check()) this.#checkLater(step + 1);
    });
  }

  #rearm(): void {
    const { connection, isWatching = true } = this.#parts;
    if (!isWatching || this.#isClosed || connection.walId === this.#watchedWal) return;
    this.#unwatch();
    if (connection.walId === null) return;
    try {
      // Ignores the kind of event, because macOS reports even a write in place as `rename`.
      this.#watcher = watch(`${connection.filePath}-wal`, () => this.#onEvent());
      this.#watcher.on('error', () => this.#unwatch());
      this.#watchedWal = connection.walId;
    } catch {
      // Without a watch, polling continues, and the next check tries to watch again.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedWal = null;
  }
}
