import { type FSWatcher, watch } from 'node:fs';
import type { Cancel, Clock } from '../domain/ports/host.ts';
import type { BackendHealth } from '../domain/ports/reading.ts';
import type { Connection } from './connection.ts';

export interface TailOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** Whether to watch the -wal as well; polling alone is just slower. */
  readonly isWatching?: boolean;
  /** There may be new rows, or the database was opened (again). */
  readonly onChange: () => void;
  /** The connection's health is another than before. */
  readonly onHealth?: (health: BackendHealth) => void;
}

/** The -wal is written before its commit can be seen: look at once, then so many milliseconds later (C3). */
const LOOKS_AFTER_EVENT_MS = [1, 3, 8, 20, 50];

/**
 * Notices commits by others. `PRAGMA data_version` at every interval is the truth; a watch on the -wal only
 * makes it sooner, and is put up again whenever that file is another one.
 */
export class Tail {
  readonly #options: TailOptions;
  #watcher: FSWatcher | undefined;
  #watchedWal: string | null = null;
  #cancelPoll: Cancel | undefined;
  #cancelLook: Cancel | undefined;
  #turn: NodeJS.Immediate | undefined;
  #lastHealth: string | undefined;
  #isClosed = false;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /** Looks at once, so that health is known when this returns. */
  start(): void {
    if (this.#isClosed || this.#cancelPoll !== undefined) return;
    this.#poll();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll?.();
    this.#cancelLook?.();
    clearImmediate(this.#turn);
    this.#unwatch();
  }

  #poll(): void {
    this.#look();
    if (this.#isClosed) return;
    this.#cancelPoll = this.#options.clock.after(this.#options.pollIntervalMs, () => this.#poll());
  }

  /** True when something new was found. */
  #look(): boolean {
    const { connection, onChange, onHealth } = this.#options;
    const look = connection.look();
    this.#rearm();
    const health = connection.health();
    const told = `${health.connected} ${health.message}`;
    if (told !== this.#lastHealth) {
      this.#lastHealth = told;
      onHealth?.(health);
    }
    if (look === 'changed') onChange();
    return look === 'changed';
  }

  /**
   * However many events one turn brings, it brings one look. What that one finds may be the commit before: its own may
   * still wait for the disk, and so the later looks follow in any case.
   */
  #onEvent(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#cancelLook?.();
      this.#look();
      this.#lookLater(0);
    });
  }

  /** All but the last ask SQLite alone; that one sees what happened to the files meanwhile. */
  #lookLater(step: number): void {
    const at = LOOKS_AFTER_EVENT_MS[step];
    if (at === undefined || this.#isClosed) return;
    const { clock, connection } = this.#options;
    const before = LOOKS_AFTER_EVENT_MS[step - 1] ?? 0;
    const isLast = step === LOOKS_AFTER_EVENT_MS.length - 1;
    this.#cancelLook = clock.after(at - before, () => {
      const isWorthIt = isLast || connection.hasNews();
      if (!isWorthIt || !this.#look()) this.#lookLater(step + 1);
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
      // It cannot be had: polling goes on alone, and the next look tries again.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedWal = null;
  }
}
