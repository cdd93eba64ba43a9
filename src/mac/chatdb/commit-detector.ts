import { type FSWatcher, watch } from 'node:fs';
import type { Cancel, Clock } from '../../domain/ports/host-ports.ts';
import type { BackendHealth } from '../../domain/ports/reading-ports.ts';
import type { Connection } from './connection.ts';

export interface CommitDetectorOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** False to poll without watching files. Commits are then noticed later. Default: true. */
  readonly isWatching?: boolean;
  /** Called when the connection's health changes. */
  readonly onHealth?: (health: BackendHealth) => void;
}

/**
 * Delays of the checks that follow the immediate one. The -wal is written before its commit becomes visible, so one
 * check may be too early (decision C3).
 */
const CHECKS_AFTER_EVENT_MS = [1, 3, 8, 20, 50];

/**
 * Detects other processes' commits by `PRAGMA data_version`. Checks it at every interval, and also when a watch reports
 * a write to the -wal. The watch is renewed whenever the -wal is replaced.
 */
export class CommitDetector {
  readonly #options: CommitDetectorOptions;
  readonly #listeners = new Set<() => void>();
  #watcher: FSWatcher | undefined;
  #watchedWal: string | null = null;
  #cancelPoll: Cancel | undefined;
  #cancelCheck: Cancel | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #lastHealth: string | undefined;
  #isClosed = false;

  constructor(options: CommitDetectorOptions) {
    this.#options = options;
  }

  /** Registers a listener. It is called after each commit, and each time the database has been opened. */
  onCommit(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Checks at once, so that health is known on return. */
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
    this.#cancelPoll = this.#options.clock.after(this.#options.pollIntervalMs, () => this.#poll());
  }

  /** Returns true if it found something new. */
  #check(): boolean {
    const { connection, onHealth } = this.#options;
    const change = connection.check();
    // The first check always counts as new, because another read may have opened the database before it.
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
   * Checks once for all events of one turn of the event loop. This check may find only the previous commit, while the
   * event's own commit is still being written, so later checks always follow.
   */
  #onEvent(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#cancelCheck?.();
      this.#check();
      this.#checkLater(0);
    });
  }

  /** Repeats the check. All checks but the last ask only SQLite; the last one also examines the files. */
  #checkLater(step: number): void {
    const at = CHECKS_AFTER_EVENT_MS[step];
    if (at === undefined || this.#isClosed) return;
    const { clock, connection } = this.#options;
    const before = CHECKS_AFTER_EVENT_MS[step - 1] ?? 0;
    const isLast = step === CHECKS_AFTER_EVENT_MS.length - 1;
    this.#cancelCheck = clock.after(at - before, () => {
      const isNeeded = isLast || connection.mayHaveChanged();
      if (!isNeeded || !this.#check()) this.#checkLater(step + 1);
    });
  }

  #rearm(): void {
    const { connection, isWatching = true } = this.#options;
    if (!isWatching || this.#isClosed || connection.walId === this.#watchedWal) return;
    this.#unwatch();
    if (connection.walId === null) return;
    try {
      // The kind of event is ignored: a write in place is reported as `rename` on macOS.
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
