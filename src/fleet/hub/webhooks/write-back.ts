import type { Cancel, Clock, Log } from '../../../domain/ports/host.ts';
import type { Registration } from './registration.ts';
import type { Registrations } from './registrations.ts';

/** At most one write in this time; a crash repeats what was delivered meanwhile. */
const WRITE_EVERY_MS = 100;
const RETRY_MS = 1000;

export interface WriteBackParts {
  readonly id: string;
  /** Under which the webhook is held. */
  readonly lease: string;
  readonly registrations: Registrations;
  /** What is to be written; undefined when there is no such webhook any more. */
  readonly current: () => Omit<Registration, 'version' | 'holder'> | undefined;
  /** Another hub has written it: it is no longer ours to write. */
  readonly onSuperseded: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes one webhook of this hub into the bucket when it has changed, one write at a time. */
export class WriteBack {
  readonly #parts: WriteBackParts;
  /** Of the last write; only the hub that made it knows that nothing else came after. */
  #revision: number;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #isDirty = false;
  #isEnded = false;
  #cancelTimer: Cancel | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: WriteBackParts, revision: number) {
    this.#parts = parts;
    this.#revision = revision;
  }

  /** Something has changed: it is written at once, if nothing was written just before. */
  note(): void {
    this.#isDirty = true;
    this.#later(Math.max(0, this.#writtenAtMs + WRITE_EVERY_MS - this.#parts.clock.monotonic()));
  }

  /** Resolves once what is so now is in the bucket; rejects when it cannot be written. */
  flush(): Promise<void> {
    this.#isDirty = true;
    return this.#next(() => this.#write());
  }

  /** Resolves once the webhook is gone from the bucket. */
  remove(): Promise<void> {
    return this.#next(async () => {
      const { id, registrations } = this.#parts;
      if (this.#isEnded) throw new Error('the webhook is no longer held here');
      if (!(await registrations.remove(id, this.#revision))) {
        this.#revision = await this.#ownRevision();
        if (!(await registrations.remove(id, this.#revision))) throw this.#superseded();
      }
      this.end();
    });
  }

  /** Writes nothing from now on. */
  end(): void {
    this.#isEnded = true;
    this.#cancelTimer?.();
  }

  #later(ms: number): void {
    if (this.#isEnded) return;
    this.#cancelTimer ??= this.#parts.clock.after(ms, () => {
      this.#cancelTimer = undefined;
      this.#next(() => this.#write()).catch((error: unknown) => {
        const { log, id } = this.#parts;
        log.debug('the position of a webhook could not be written', { webhook: id, error });
      });
    });
  }

  #next(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }

  async #write(): Promise<void> {
    if (!this.#isDirty) return;
    if (this.#isEnded) throw new Error('the webhook is no longer held here');
    const { id, lease, registrations, current } = this.#parts;
    const now = current();
    if (now === undefined) return;
    const registration = { ...now, holder: lease };
    this.#isDirty = false;
    this.#writtenAtMs = this.#parts.clock.monotonic();
    try {
      let written = await registrations.write(id, registration, this.#revision);
      if (written === undefined) {
        written = await registrations.write(id, registration, await this.#ownRevision());
        if (written === undefined) throw this.#superseded();
      }
      this.#revision = written;
    } catch (error) {
      this.#isDirty = true;
      this.#later(RETRY_MS);
      throw error;
    }
  }

  /**
   * The revision to write over after a conflict: a write of ours came through without its answer, or a hub put back
   * what the broker had lost. 0 where there is nothing.
   */
  async #ownRevision(): Promise<number> {
    const { id, lease, registrations } = this.#parts;
    const found = await registrations.read(id);
    if (found === undefined) return 0;
    if (found.registration?.holder !== lease) throw this.#superseded();
    return found.revision;
  }

  #superseded(): Error {
    this.end();
    this.#parts.onSuperseded();
    return new Error('another hub has written the webhook');
  }
}
