import type { KV } from '@nats-io/kv';
import type { Cancel, Clock, Log } from '../../../domain/ports/host.ts';
import type { StoredWebhook } from '../../../domain/webhook.ts';
import { type BucketEntry, BucketWatch } from './bucket-watch.ts';
import { compareAndDelete, compareAndSet } from './compare-and-set.ts';
import type { Registration, RegistrationCodec } from './registration.ts';

const CHECK_MS = 1000;
/** Ids of removed webhooks that are remembered, so that none of them comes back. */
const MAX_REMOVED = 10_000;

export interface KnownRegistration {
  readonly registration: Registration;
  readonly revision: number;
}

export interface RegistrationsParts {
  readonly bucket: () => Promise<KV>;
  readonly codec: RegistrationCodec;
  readonly clock: Clock;
  readonly log: Log;
  /** A webhook as the bucket has it now; undefined: it was removed. */
  readonly onChange: (id: string, known: KnownRegistration | undefined) => void;
}

/**
 * Every webhook of the fleet, as the bucket has it. Each write counts its version up: where the bucket has lost what
 * this hub has seen in it, the hub puts it back, and never over something newer.
 */
export class Registrations {
  readonly #parts: RegistrationsParts;
  readonly #watch: BucketWatch;
  readonly #known = new Map<string, KnownRegistration>();
  readonly #removed = new Set<string>();
  /** What the bucket has lost, and the revision that is there now; 0: none. */
  readonly #lost = new Map<string, number>();
  #isComplete = false;
  #cancelCheck: Cancel | undefined;

  constructor(parts: RegistrationsParts) {
    this.#parts = parts;
    this.#watch = new BucketWatch({
      name: 'webhooks',
      bucket: parts.bucket,
      log: parts.log,
      onEntry: (id, entry) => this.#note(id, entry),
      onComplete: (isPresent) => this.#noteMissing(isPresent),
    });
  }

  start(): void {
    void this.#check();
  }

  close(): void {
    this.#cancelCheck?.();
    this.#watch.close();
  }

  /** Whether all of the bucket was read at least once. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  get count(): number {
    return this.#known.size;
  }

  ids(): readonly string[] {
    return [...this.#known.keys()];
  }

  get(id: string): KnownRegistration | undefined {
    return this.#known.get(id);
  }

  /** In the order of registration. Positions are those of the hub that has it, so there is none here. */
  list(): readonly StoredWebhook[] {
    const key = ({ created_at, id }: StoredWebhook): string => `${created_at} ${id}`;
    return [...this.#known.values()].map(shown).sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }

  webhook(id: string): StoredWebhook | undefined {
    const known = this.#known.get(id);
    return known && shown(known);
  }

  /** What a hub that has just written it says of it. */
  learn(id: string, known: KnownRegistration): void {
    const version = this.#known.get(id)?.registration.version ?? 0;
    if (known.registration.version >= version && !this.#removed.has(id)) this.#known.set(id, known);
  }

  learnRemoved(id: string): void {
    this.#known.delete(id);
    this.#lost.delete(id);
    this.#removed.add(id);
    for (const oldest of this.#removed) {
      if (this.#removed.size <= MAX_REMOVED) break;
      this.#removed.delete(oldest);
    }
  }

  /** As the broker has it at this moment; undefined: there is none. `registration` is undefined where it was removed. */
  async read(id: string): Promise<{ readonly registration?: Registration; readonly revision: number } | undefined> {
    const found = await (await this.#parts.bucket()).get(id);
    if (found === null) return undefined;
    const { revision, operation, value } = found;
    if (operation !== 'PUT') return { revision };
    const known = { registration: this.#parts.codec.decode(id, value), revision };
    // The next write counts on from there.
    this.learn(id, known);
    return known;
  }

  /** Gives its revision, or undefined when it was written by somebody else meanwhile. */
  async write(id: string, given: Omit<Registration, 'version'>, revision: number): Promise<number | undefined> {
    const version = (this.#known.get(id)?.registration.version ?? 0) + 1;
    const registration = { ...given, version };
    const value = this.#parts.codec.encode(id, registration);
    const written = await compareAndSet(await this.#parts.bucket(), id, value, revision);
    if (written !== undefined) this.learn(id, { registration, revision: written });
    return written;
  }

  /** False when it was written by somebody else meanwhile. */
  async remove(id: string, revision: number): Promise<boolean> {
    const isRemoved = await compareAndDelete(await this.#parts.bucket(), id, revision);
    if (isRemoved) this.learnRemoved(id);
    return isRemoved;
  }

  async #check(): Promise<void> {
    this.#cancelCheck = this.#parts.clock.after(CHECK_MS, () => void this.#check());
    await this.#watch.check();
    for (const [id, revision] of this.#lost) await this.#putBack(id, revision);
  }

  #note(id: string, { revision, value }: BucketEntry): void {
    this.#lost.delete(id);
    if (value === undefined) {
      this.learnRemoved(id);
      this.#parts.onChange(id, undefined);
      return;
    }
    let registration: Registration;
    try {
      registration = this.#parts.codec.decode(id, value);
    } catch (error) {
      this.#parts.log.error('a webhook in the bucket cannot be read, and is not delivered', { webhook: id, error });
      return;
    }
    const before = this.#known.get(id);
    if (this.#removed.has(id) || (before !== undefined && before.registration.version > registration.version)) {
      this.#lost.set(id, revision);
      return;
    }
    const known = { registration, revision };
    this.#known.set(id, known);
    this.#parts.onChange(id, known);
  }

  #noteMissing(isPresent: (id: string) => boolean): void {
    this.#isComplete = true;
    for (const id of this.#known.keys()) if (!isPresent(id)) this.#lost.set(id, 0);
  }

  /** The first writer wins; the others read its value and compare again. */
  async #putBack(id: string, revision: number): Promise<void> {
    const { log, codec, bucket } = this.#parts;
    const known = this.#known.get(id);
    try {
      if (known !== undefined) {
        const value = codec.encode(id, known.registration);
        const written = await compareAndSet(await bucket(), id, value, revision);
        if (written !== undefined) log.warn('the broker had lost a webhook; it was put back', { webhook: id });
      } else if (this.#removed.has(id) && revision > 0) await compareAndDelete(await bucket(), id, revision);
      if (this.#lost.get(id) === revision) this.#lost.delete(id);
    } catch (error) {
      log.debug('a webhook could not be put back, retrying', { webhook: id, error });
    }
  }
}

function shown({ registration }: KnownRegistration): StoredWebhook {
  return { ...registration.webhook, offset: { rowId: 0, change: 0 } };
}
