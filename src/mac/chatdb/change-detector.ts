import { type FSWatcher, watch } from 'node:fs';
import type { Cancel, Clock } from '../../domain/ports/host.ts';
import type { BackendHealth } from '../../domain/ports/reading.ts';
import type { Connection } from './connection.ts';

export interface ChangeDetectorOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** Whether to watch the -wal as well; polling alone is just slower. */
  readonly isWatching?: boolean;
  /** The connection's health is another than before. */
  readonly onHealth?: (health: BackendHealth) => void;
}

/** The -wal is written before its commit can be seen: check at once, then so many milliseconds later (decision C3). */
const CHECKS_AFTER_EVENT_MS = [1, 3, 8, 20, 50];

/**
 * Notices commits by others. `PRAGMA data_version` at every interval is the truth; a watch on the -wal only
 * makes it sooner, and is put up again whenever that file is another one.
 */
export class ChangeDetector {
  readonly #options: ChangeDetectorOptions;
  readonly #listeners = new Set<() => void>();
  #watcher: FSWatcher | undefined;
  #watchedWal: string | null = null;
  #cancelPoll: Cancel | undefined;
  #cancelCheck: Cancel | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #lastHealth: string | undefined;
  #isClosed = false;

  constructor(options: ChangeDetectorOptions) {
    this.#options = options;
  }

  /** `listener` is called when there may be new rows, and when the database was opened (again). */
  onChange(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Checks at once, so that health is known when this returns. */
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

  /** True when something new was found. */
  #check(): boolean {
    const { connection, onHealth } = this.#options;
    const change = connection.check();
    // A read may have opened the database before the first check.
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
   * One check for all events of one turn of the event loop. It may find the commit before, its own still on its way to
   * the disk, so the later checks follow in any case.
   */
  #onEvent(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#cancelCheck?.();
      this.#check();
      this.#checkLater(0);
    });
  }

  /** All but the last ask SQLite alone; that one sees what happened to the files meanwhile. */
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
      // The kind of event says nothing reliable: a write in place is `rename` on macOS.
      this.#watcher = watch(`${connection.filePath}-wal`, () => this.#onEvent());
      this.#watcher.on('error', () => this.#unwatch());
      this.#watchedWal = connection.walId;
    } catch {
      // It cannot be had: polling goes on alone, and the next check tries again.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedWal = null;
  }
}
