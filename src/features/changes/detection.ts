import type { Cursor } from '../../core/model/cursor.ts';
import { DAY_MS, HOUR_MS } from '../../core/model/durations.ts';
import { isChatDbAway } from '../../core/model/errors.ts';
import type { Print } from '../../core/model/fingerprint.ts';
import type { Offset } from '../../core/model/offset.ts';
import type {
  BackgroundPrintReader,
  Change,
  ChangeDetector,
  ChangeStore,
  PrintReader,
} from '../../core/model/ports/changes-ports.ts';
import type { Cancel, Clock, Log } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { Wakeup } from '../../core/runtime/wakeup.ts';
import { summary } from './compare.ts';
import { Passes, type PassLimits } from './passes.ts';
import { Sweep, type SweepLimits } from './sweep.ts';

/** The value of `changes.enabled`. `auto` switches detection on once a client asks for changes (decision I2). */
export type DetectionMode = 'auto' | true | false;

/** The default limits (decision I4). */
const LIMITS: PassLimits & SweepLimits = { windowRows: 2000, maxListed: 1000, blocksUnlisted: 64 };

/**
 * Delay from a commit in chat.db to the pass. It lets a new message reach its readers first. Messages often makes
 * several commits in a row, which one pass then covers.
 */
const PASS_AFTER_MS = 50;
const PASS_EVERY_MS = 1000;
/** Delay after a failure of the store before the next pass. */
const RETRY_MS = 1000;
/** Pause of a sweep between two blocks. Comparing a block takes 1.3 ms, so a sweep takes less than 3 % of a core. */
const SLICE_EVERY_MS = 50;
/** The pause during the first sweep. It is shorter, because changes of old rows are not seen until that sweep ends. */
const FIRST_SLICE_EVERY_MS = 2;
const SWEEP_EVERY_MS = HOUR_MS;
/** Minimum time from the end of a sweep to the next one, unless the change log was restarted in between. */
const SWEEP_REST_MS = 60_000;
/** Detection ends when no client has asked for changes for this long (decision I2). */
const KEPT_ON_MS = 30 * DAY_MS;
const NOTE_ASKED_EVERY_MS = HOUR_MS;

/** The status of detection, for status and metrics. */
export interface DetectionStatus {
  /** `starting`: the first comparison of all rows is not complete, so changes of old rows are not detected yet. */
  readonly state: 'off' | 'starting' | 'on';
  /** Number of changes in the log. A reader can resume at any of them. */
  readonly logged: number;
  /** When the last comparison of all rows (a sweep) was completed, Unix milliseconds; null before the first. */
  readonly sweptAtMs: number | null;
}

export interface DetectionParts {
  readonly mode: DetectionMode;
  readonly store: ChangeStore;
  readonly prints: PrintReader;
  readonly background: BackgroundPrintReader;
  /** Returns the position up to which rows are published; undefined before chat.db was first read. */
  readonly cursor: () => Cursor | undefined;
  readonly stream: { readonly lastRowId: number; readonly readers: number; restart(rowId: number): void };
  /** Makes the publisher look for new rows and changes, and for a replaced chat.db. */
  readonly publish: () => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: PassLimits & SweepLimits;
}

/**
 * Detects changes of published rows (decision I4). After commits, a pass compares the newest rows. It also compares the
 * older rows that became or ceased to be unread, undelivered, failed or deleted, because chat.db can list these rows
 * cheaply. In the background, a sweep compares all rows.
 */
export class ChangeDetection implements ChangeDetector {
  readonly #parts: DetectionParts;
  readonly #limits: PassLimits & SweepLimits;
  #isOn = false;
  #isClosed = false;
  #cancelPass: Cancel | undefined;
  #cancelHour: Cancel | undefined;
  #cancelSweep: Cancel | undefined;
  readonly #wakeup: Wakeup;
  #lastPassAtMs = Number.NEGATIVE_INFINITY;
  #sweepEndedAtMs = Number.NEGATIVE_INFINITY;
  #isSweeping = false;
  #swept: Promise<void> = Promise.resolve();
  /** True if there may be a change in a row that the passes do not compare. Only a sweep finds such a change. */
  #isDoubtful = true;
  #hasCommits = false;
  /**
   * Generation of the change log during which `#passes` remembered rows. Once the log has another generation, `#passes`
   * must forget these rows.
   */
  #generation = -1;
  readonly #passes: Passes;

  constructor(parts: DetectionParts) {
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.#limits = parts.limits ?? LIMITS;
    this.#passes = new Passes({ ...parts, record: (changes, prints) => this.#record(changes, prints) }, this.#limits);
  }

  /**
   * Resumes detection if it was on. Switches it off instead if the configuration says so, or if in mode `auto` no
   * client has asked for changes in 30 days. Call before publishing begins.
   */
  start(): void {
    const { mode, store, clock } = this.#parts;
    const { isOn, askedAtMs } = store.state();
    const isWanted = mode === true || (mode === 'auto' && isOn && clock.now() - askedAtMs < KEPT_ON_MS);
    if (isOn && !isWanted) store.end();
    this.#isOn = isOn && isWanted;
    if (this.#isOn) this.#everyHour();
  }

  noteAsked(): void {
    const { mode, store, clock } = this.#parts;
    if (mode === false) throw problem('changes_disabled');
    const nowMs = clock.now();
    if (!this.#isOn) this.#begin();
    else if (Math.abs(nowMs - store.state().askedAtMs) > NOTE_ASKED_EVERY_MS) store.noteAsked(nowMs);
  }

  /** Returns the prints of the newest rows up to `at`, to be stored as the baseline. Key: the row id. */
  printsUpTo(at: Offset): ReadonlyMap<number, Print> {
    return this.#parts.prints.newest(at, at.rowId, this.#limits.windowRows).prints;
  }

  /** Schedules a pass, because chat.db may have changed or is available again. */
  noteCommit(): void {
    if (this.#isClosed) return;
    if (!this.#isOn && this.#parts.mode === true) this.#beginOrRetry();
    if (!this.#isOn) return;
    this.#hasCommits = true;
    const nowMs = this.#parts.clock.monotonic();
    this.#passIn(Math.max(PASS_AFTER_MS, this.#lastPassAtMs + PASS_EVERY_MS - nowMs));
  }

  status(): DetectionStatus {
    const { store } = this.#parts;
    const { sweptAtMs } = store.state();
    if (!this.#isOn) return { state: 'off', logged: 0, sweptAtMs: null };
    const logged = store.newest() - store.floor();
    return { state: sweptAtMs === null ? 'starting' : 'on', logged, sweptAtMs };
  }

  /** Stops detecting. Resolves once nothing is being read or stored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of [this.#cancelPass, this.#cancelHour, this.#cancelSweep]) cancel?.();
    this.#wakeup.close();
    await this.#swept;
  }

  /** Starts detection, with the newest rows' prints as the baseline. */
  #begin(): void {
    const { store, stream, cursor, clock, log } = this.#parts;
    const at = cursor();
    store.begin(clock.now(), at === undefined ? new Map() : this.printsUpTo(at.offset));
    this.#isOn = true;
    if (at !== undefined) stream.restart(at.offset.rowId);
    log.info('started detecting changes');
    this.#everyHour();
    this.noteCommit();
  }

  #beginOrRetry(): void {
    try {
      this.#begin();
    } catch (error) {
      // `noteCommit` tries again at the next commit, or when chat.db is available again.
      this.#parts.log.warn('detection of changes cannot begin yet', { error });
    }
  }

  #passIn(ms: number): void {
    this.#cancelPass ??= this.#parts.clock.after(ms, () => this.#runPass());
  }

  #runPass(): void {
    this.#cancelPass = undefined;
    this.#lastPassAtMs = this.#parts.clock.monotonic();
    try {
      if (!this.#pass()) {
        // Makes the publisher read chat.db, and start over if it was replaced.
        this.#parts.publish();
        this.#passIn(RETRY_MS);
      }
    } catch (error) {
      // Once chat.db is available again, `noteCommit` schedules a pass.
      if (isChatDbAway(error)) return;
      this.#parts.log.error('could not store changes, retrying', { error });
      this.#passIn(RETRY_MS);
      return;
    }
    this.#sweepIfDoubtful();
  }

  /** Runs a pass. Returns false if chat.db has not been read yet, or was replaced since rows were last published. */
  #pass(): boolean {
    const at = this.#parts.cursor();
    if (at === undefined) return false;
    this.#followGeneration();
    const found = this.#passes.run(at);
    if (found === undefined) return false;
    if (found.isDoubtful) this.#isDoubtful = true;
    return true;
  }

  #record(changes: readonly Change[], prints: ReadonlyMap<number, Print>): void {
    if (prints.size === 0) return;
    const { store, clock, publish } = this.#parts;
    const many = changes.length > this.#limits.maxListed ? summary(changes) : undefined;
    store.record(many === undefined ? changes : [many], prints, clock.now());
    if (changes.length > 0) publish();
  }

  /** If the change log was restarted, makes the passes forget the earlier rows and requests a sweep. */
  #followGeneration(): void {
    const generation = this.#parts.store.generation();
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#passes.forget();
    this.#isDoubtful = true;
    this.#sweepEndedAtMs = Number.NEGATIVE_INFINITY;
  }

  #sweepIfDoubtful(): void {
    if (!this.#isOn || !this.#isDoubtful || this.#isSweeping || this.#isClosed) return;
    const restMs = this.#sweepEndedAtMs + SWEEP_REST_MS - this.#parts.clock.monotonic();
    if (restMs <= 0) {
      this.#swept = this.#sweep();
      return;
    }
    this.#cancelSweep?.();
    this.#cancelSweep = this.#parts.clock.after(restMs, () => this.#sweepIfDoubtful());
  }

  async #sweep(): Promise<void> {
    const { store, clock, log, stream } = this.#parts;
    this.#isSweeping = true;
    this.#isDoubtful = false;
    this.#hasCommits = false;
    try {
      const sliceEveryMs = store.state().sweptAtMs === null ? FIRST_SLICE_EVERY_MS : SLICE_EVERY_MS;
      const sweep = new Sweep(
        {
          ...this.#parts,
          lastRowId: () => stream.lastRowId,
          pause: () => this.#pause(sliceEveryMs),
          record: (changes, prints) => this.#record(changes, prints),
        },
        this.#limits,
      );
      if (await sweep.run()) store.noteSwept(clock.now());
      else this.#isDoubtful = true;
    } catch (error) {
      this.#isDoubtful = true;
      const isAway = isChatDbAway(error);
      if (!isAway && !this.#isClosed) {
        log.error('could not compare all messages with their recorded state, trying again later', { error });
      }
    }
    this.#isSweeping = false;
    this.#sweepEndedAtMs = clock.monotonic();
    this.#sweepIfDoubtful();
  }

  /** Waits for `ms` milliseconds, or until the service closes. Resolves to false if the service is closing. */
  async #pause(ms: number): Promise<boolean> {
    await this.#wakeup.wait(ms);
    return !this.#isClosed;
  }

  /** Every hour, sweeps if there were commits. Ends detection if no client has asked for changes in 30 days. */
  #everyHour(): void {
    const { clock, store, stream, mode, log } = this.#parts;
    this.#cancelHour = clock.after(SWEEP_EVERY_MS, () => {
      try {
        if (stream.readers > 0) store.noteAsked(clock.now());
        if (mode === 'auto' && clock.now() - store.state().askedAtMs >= KEPT_ON_MS) {
          store.end();
          this.#isOn = false;
          stream.restart(0);
          this.#cancelPass?.();
          this.#cancelPass = undefined;
          log.info('stopped detecting changes, because no client has asked for them in 30 days');
          return;
        }
      } catch (error) {
        log.error('could not store the time of the last request for changes', { error });
      }
      if (this.#hasCommits) this.#isDoubtful = true;
      this.#sweepIfDoubtful();
      this.#everyHour();
    });
  }
}
