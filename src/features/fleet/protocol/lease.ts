import { randomUUID } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { compareAndSet } from './compare-and-set.ts';

const TICK_MS = 1000;
const RENEW_EVERY_MS = 2000;
/**
 * A holder stops acting this long after it began its last successful renewal. Other processes wait longer: they take
 * the lease after `EXPIRES_AFTER_MS`.
 */
const LAPSES_AFTER_MS = 5000;
/** A lease that has not changed for this long is free. Each process measures with its own monotonic clock. */
const EXPIRES_AFTER_MS = 6000;
/** Minimum time between two writes of a changed state. */
const WRITE_EVERY_MS = 100;
/** A holder that has not been ready for this long gives the lease up. */
const UNREADY_MS = 3000;

/** A lease as stored in the bucket. */
export interface LeaseRecord<State> {
  /** Id of the process that holds the lease; "" once that process gave it up. */
  readonly holder: string;
  /** The fencing number: increases with each holder. */
  readonly fence: number;
  /** Number of times that the holder has renewed or changed this record since it took the lease. */
  readonly version: number;
  readonly state: State;
}

export interface LeaseParts<State> {
  readonly bucket: () => Promise<KV>;
  readonly key: string;
  readonly encode: (record: LeaseRecord<State>) => Uint8Array;
  /** Throws for anything that `encode` did not write. Such an entry is never taken over. */
  readonly decode: (bytes: Uint8Array) => LeaseRecord<State>;
  /** The state of a lease that has never been held. */
  readonly first: State;
  readonly isReady: () => boolean;
  /** The state that a holder writes with each renewal. */
  readonly state: () => State;
  /** Called with the newest known state of the lease, whether this process or another one holds the lease. */
  readonly onSeen: (state: State) => void;
  /** Called when this process takes the lease. `wasOwn`: no other process has held it since this one did. */
  readonly onTaken: (state: State, wasOwn: boolean) => void;
  /** Called when the lease has ended, or may have ended. This process must no longer act in the lease's name. */
  readonly onLost: () => void;
  /** Ends all work in the lease's name. Called before this process gives the lease up. */
  readonly release: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lease while this process has it. */
interface Hold {
  readonly fence: number;
  version: number;
  revision: number;
  renewedAtMs: number;
}

/**
 * A lease that one of many processes holds: an entry of a bucket, together with a state. The holder writes the entry by
 * compare-and-set, so a holder that slept while another process took the lease can write nothing.
 */
export class Lease<State> {
  readonly #parts: LeaseParts<State>;
  readonly #id = randomUUID();
  #hold: Hold | undefined;
  /** The newest record seen, which the broker may have lost since then. */
  #known: LeaseRecord<State> | undefined;
  /** The entry as last read, and the time since which it has not changed. */
  #seen: { readonly stamp: string; readonly sinceMs: number } | undefined;
  #unreadySinceMs: number | undefined;
  #isUnreadable = false;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #cancelTick: Cancel | undefined;
  #cancelWrite: Cancel | undefined;
  #looking: Promise<void> | undefined;
  /** The read that starts after the one in `#looking`. */
  #nextLook: Promise<void> | undefined;
  #releasing: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(parts: LeaseParts<State>) {
    this.#parts = parts;
  }

  start(): void {
    this.#tick();
  }

  /** True while this process certainly holds the lease: no other process takes it before `EXPIRES_AFTER_MS`. */
  get isHeld(): boolean {
    return this.#hold !== undefined && this.#now() - this.#hold.renewedAtMs < LAPSES_AFTER_MS;
  }

  /** True if `decode` refused the entry when it was last read, for example because another key sealed it. */
  get isUnreadable(): boolean {
    return this.#isUnreadable;
  }

  /** The fencing number of the current holder; 0 before the first one. */
  get fence(): number {
    return this.#hold?.fence ?? this.#known?.fence ?? 0;
  }

  /** Returns `isHeld`. First ends a lease that could not be renewed in time. */
  check(): boolean {
    if (this.#hold === undefined || this.isHeld) return this.isHeld;
    this.#parts.log.warn('the lease could not be renewed in time and has ended', { lease: this.#parts.key });
    this.#lose();
    return false;
  }

  /** Writes a changed state, at most every 100 ms. */
  note(): void {
    if (this.#hold === undefined) return;
    const waitMs = Math.max(0, this.#writtenAtMs + WRITE_EVERY_MS - this.#now());
    this.#cancelWrite ??= this.#parts.clock.after(waitMs, () => {
      this.#cancelWrite = undefined;
      this.#quietly('written', this.flush());
    });
  }

  /** Writes the state. Rejects if it may not have been written. */
  flush(): Promise<void> {
    const next = this.#last.then(() => this.#write(this.#id));
    this.#last = next.catch(() => {});
    return next;
  }

  /**
   * Reads the entry, and takes the lease if it is free and this process is ready. Resolves once everything written
   * before this call is known. Rejects if the entry cannot be read, or another process takes the lease first.
   */
  look(): Promise<void> {
    // A read that is already running may have missed the newest write, so a second one follows it.
    if (this.#looking !== undefined) {
      this.#nextLook ??= this.#looking.catch(() => {}).then(() => this.look());
      return this.#nextLook;
    }
    this.#nextLook = undefined;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Gives the lease up, so that no process has to wait until it expires. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#hold !== undefined) await this.#release();
    this.#cancelTick?.();
    this.#cancelWrite?.();
    await this.#looking?.catch(() => {});
  }

  #now(): number {
    return this.#parts.clock.monotonic();
  }

  #tick(): void {
    const { clock, isReady } = this.#parts;
    this.#cancelTick = clock.after(TICK_MS, () => this.#tick());
    if (isReady()) this.#unreadySinceMs = undefined;
    else this.#unreadySinceMs ??= this.#now();
    const hold = this.#hold;
    if (hold === undefined) {
      this.#quietly('read', this.look());
      return;
    }
    if (!this.check()) return;
    if (this.#unreadySinceMs !== undefined && this.#now() - this.#unreadySinceMs >= UNREADY_MS) void this.#release();
    if (this.#now() - hold.renewedAtMs >= RENEW_EVERY_MS) this.#quietly('renewed', this.flush());
  }

  async #look(): Promise<void> {
    const { bucket, key, isReady, onSeen } = this.#parts;
    let revision: number;
    let record: LeaseRecord<State> | undefined;
    try {
      ({ revision, record } = await this.#read(await bucket()));
    } catch (error) {
      // The holder may also be unable to reach the broker and renew, so the wait for the lease to expire starts again.
      this.#seen = undefined;
      throw error;
    }
    const stamp = JSON.stringify([revision, record?.holder, record?.fence, record?.version]);
    if (this.#seen?.stamp !== stamp) this.#seen = { stamp, sinceMs: this.#now() };
    if (this.#known === undefined || (record !== undefined && !isOlder(record, this.#known))) this.#known = record;
    if (this.#known !== undefined) onSeen(this.#known.state);
    if (this.#hold !== undefined || this.#isClosed || !isReady()) return;
    const isFree = record?.holder === '' || record?.holder === this.#id;
    if (!isFree && this.#now() - this.#seen.sinceMs < EXPIRES_AFTER_MS) return;
    const wasOwn = record?.holder === this.#id && record.fence === this.#known?.fence;
    await this.#take(revision, wasOwn);
    this.#parts.log.info('took the lease', { lease: key, fence: this.fence });
  }

  async #take(revision: number, wasOwn: boolean): Promise<void> {
    const { bucket, key, encode, first, onTaken } = this.#parts;
    const askedAtMs = this.#now();
    const state = this.#known === undefined ? first : this.#known.state;
    const record = { holder: this.#id, fence: (this.#known?.fence ?? 0) + 1, version: 0, state };
    const written = await compareAndSet(await bucket(), key, encode(record), revision);
    if (written === undefined) throw new Error('another took it first');
    this.#known = record;
    this.#hold = { fence: record.fence, version: 0, revision: written, renewedAtMs: askedAtMs };
    onTaken(state, wasOwn);
  }

  async #read(bucket: KV): Promise<{ readonly revision: number; readonly record: LeaseRecord<State> | undefined }> {
    const { key, decode } = this.#parts;
    const found = await bucket.get(key);
    this.#isUnreadable = true;
    const record = found?.operation === 'PUT' ? decode(found.value) : undefined;
    this.#isUnreadable = false;
    return { revision: found?.revision ?? 0, record };
  }

  async #write(holder: string): Promise<void> {
    const { bucket, key, encode, state } = this.#parts;
    const hold = this.#hold;
    if (hold === undefined) throw new Error('the lease is not held');
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const askedAtMs = this.#now();
    this.#writtenAtMs = askedAtMs;
    const opened = await bucket();
    const attempt = async (): Promise<number | undefined> => {
      const record = { holder, fence: hold.fence, version: hold.version + 1, state: state() };
      const revision = await compareAndSet(opened, key, encode(record), hold.revision);
      if (revision !== undefined && this.#hold === hold) this.#known = record;
      return revision;
    };
    let written = await attempt();
    if (written === undefined && (await this.#isStillOurs(opened, hold))) written = await attempt();
    if (this.#hold !== hold) throw new Error('the lease is over');
    if (written === undefined) {
      this.#parts.log.warn('another has the lease', { lease: key });
      this.#lose();
      throw new Error('another has the lease');
    }
    hold.revision = written;
    hold.version += 1;
    hold.renewedAtMs = askedAtMs;
  }

  /** Reports whether a refused write only means that an answer was lost, or that the broker restored an older copy. */
  async #isStillOurs(bucket: KV, hold: Hold): Promise<boolean> {
    const { revision, record } = await this.#read(bucket);
    const isOurs = record?.holder === this.#id && record.fence === hold.fence;
    if (record !== undefined && !isOurs && record.fence >= hold.fence) return false;
    hold.revision = revision;
    return true;
  }

  #release(): Promise<void> {
    this.#releasing ??= this.#releaseNow().finally(() => {
      this.#releasing = undefined;
    });
    return this.#releasing;
  }

  async #releaseNow(): Promise<void> {
    const { release, key, log } = this.#parts;
    await release();
    const given = this.#last.then(() => this.#write(''));
    this.#last = given.catch(() => {});
    try {
      await given;
    } catch (error) {
      log.warn('the lease could not be given up; others wait until it expires', { lease: key, error });
    }
    this.#lose();
  }

  #lose(): void {
    if (this.#hold === undefined) return;
    this.#hold = undefined;
    this.#seen = undefined;
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    this.#parts.onLost();
  }

  #quietly(done: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#parts.log.debug(`a lease could not be ${done}, retrying`, { lease: this.#parts.key, error });
    });
  }
}

function isOlder<State>(one: LeaseRecord<State>, other: LeaseRecord<State>): boolean {
  return one.fence < other.fence || (one.fence === other.fence && one.version < other.version);
}
