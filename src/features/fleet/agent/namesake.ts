import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Subscription } from '@nats-io/nats-core';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { isRecord } from '../../../core/model/record.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { every } from '../protocol/every.ts';
import { presenceSubject } from '../protocol/subjects.ts';

const SAY_EVERY_MS = 1000;
/** Another process that is silent for so many turns has ended. A time would end it after a stop of this process. */
const GONE_TURNS = 4;

export interface NamesakeParts {
  readonly member: string;
  readonly machine: string;
  readonly connection: FleetConnection;
  readonly envelope: () => Envelope;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when this process has to stand back, or need not any more. */
  readonly onChange: () => void;
}

interface Other {
  readonly host: string;
  /** True if it started before this process. */
  readonly isFirst: boolean;
}

/**
 * Notices another process with the name of this machine: of a copied home folder, or of a second account of this Mac.
 * The one that started later stands back, because a hub cannot tell them apart: a request could reach either.
 */
export class Namesake {
  readonly #parts: NamesakeParts;
  /** The id begins with the time of the start, so that the lower one of two was there first. */
  readonly #own: { readonly id: string; readonly host: string };
  #subscription: Subscription | undefined;
  #cancel: Cancel = () => {};
  #other: Other | undefined;
  #silentTurns = 0;

  constructor(parts: NamesakeParts) {
    this.#parts = parts;
    this.#own = { id: `${parts.clock.now()} ${randomBytes(8).toString('hex')}`, host: hostname().slice(0, 100) };
  }

  /** Reports whether the other process was there first. */
  get isFirst(): boolean {
    return this.#other?.isFirst === true;
  }

  /** Describes the trouble with the other process; undefined if there is none. */
  get trouble(): string | undefined {
    if (this.#other === undefined) return undefined;
    const { host, isFirst } = this.#other;
    const what = isFirst ? 'and was there first: this one publishes and answers nothing' : 'and is kept out';
    return `another Postern, on ${host}, has the name ${this.#parts.machine} of this machine, ${what}`;
  }

  /** Listens at a new connection. */
  start(): void {
    const { member, machine, connection, clock } = this.#parts;
    this.stop();
    const callback = (_: Error | null, { data }: { readonly data: Uint8Array }): void => this.#hear(data);
    this.#subscription = connection.nc.subscribe(presenceSubject(member, machine), { callback });
    this.#say();
    this.#cancel = every(clock, SAY_EVERY_MS, () => {
      this.#silentTurns += 1;
      if (this.#silentTurns >= GONE_TURNS) this.#set(undefined);
      this.#say();
    });
  }

  stop(): void {
    this.#cancel();
    this.#subscription?.unsubscribe();
  }

  #say(): void {
    const { member, machine, connection, envelope } = this.#parts;
    const subject = presenceSubject(member, machine);
    if (connection.isConnected) connection.nc.publish(subject, envelope().sealJson(member, subject, this.#own));
  }

  #hear(data: Uint8Array): void {
    const { member, machine, envelope } = this.#parts;
    try {
      const said = envelope().openJson(member, presenceSubject(member, machine), data);
      if (!isRecord(said) || said.id === this.#own.id) return;
      const isFirst = String(said.id) < this.#own.id;
      this.#silentTurns = 0;
      this.#set({ host: String(said.host).slice(0, 100), isFirst });
    } catch {
      // Sealed with a key that this machine does not have yet.
    }
  }

  #set(other: Other | undefined): void {
    const before = this.#other;
    this.#other = other;
    if (before?.isFirst === other?.isFirst) return;
    const { log, onChange } = this.#parts;
    if (this.trouble === undefined) log.info('this machine alone has its name in the fleet again');
    else log.warn('two machines of the fleet have one name', { reason: this.trouble });
    if (before === undefined) this.#say();
    onChange();
  }
}
