import type { Subscription } from '@nats-io/nats-core';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { readSubject, WHO } from '../protocol/layout.ts';

/** How long another agent with the same id has to answer. */
const ANSWER_MS = 2000;
/** How often one that was refused asks whether the other is gone. */
const AGAIN_MS = 30_000;

export type MembershipState = 'away' | 'joined' | 'refused';

export interface MembershipParts {
  readonly connection: FleetConnection;
  readonly mac: string;
  /** Of this run of the agent. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Whether this agent may act for its Mac: it is connected, and no other agent answers to the same id. A newcomer asks
 * before it answers itself, so of two that run at the same time the second one stops.
 */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #changed = new Set<() => void>();
  readonly #closers: readonly Cancel[];
  #state: MembershipState = 'away';
  #who: Subscription | undefined;
  /** Counts the attempts to join: an older one that is still asking has no say. */
  #attempt = 0;
  #again: Cancel | undefined;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    const { connection } = parts;
    this.#closers = [connection.onConnect(() => void this.check()), connection.onDisconnect(() => this.#leave())];
  }

  get state(): MembershipState {
    return this.#state;
  }

  get isJoined(): boolean {
    return this.#state === 'joined';
  }

  onChange(run: () => void): Cancel {
    this.#changed.add(run);
    return () => void this.#changed.delete(run);
  }

  /** Leaves, asks whether another agent has this id, and joins again if none has. */
  async check(): Promise<void> {
    this.#leave();
    const attempt = this.#attempt;
    const other = await this.#other();
    if (attempt !== this.#attempt || !this.#parts.connection.isConnected) return;
    const { mac, clock, log } = this.#parts;
    if (other) {
      log.error('another Mac uses the same id in the fleet; this one publishes nothing', { mac });
      this.#again = clock.after(AGAIN_MS, () => void this.check());
      return this.#set('refused');
    }
    this.#answer();
    this.#set('joined');
  }

  close(): void {
    for (const close of this.#closers) close();
    this.#leave();
  }

  /** True when another agent answers. Silence is no answer: one that was paused learns from the stream that it is late. */
  async #other(): Promise<boolean> {
    const { connection, mac, instance } = this.#parts;
    try {
      const { data } = await connection.nc.request(readSubject(mac, WHO), instance, { timeout: ANSWER_MS });
      return new TextDecoder().decode(data) !== instance;
    } catch {
      return false;
    }
  }

  #answer(): void {
    const { connection, mac, instance } = this.#parts;
    this.#who = connection.nc.subscribe(readSubject(mac, WHO), {
      callback: (error, message) => {
        if (error === null) message.respond(instance);
      },
    });
  }

  #leave(): void {
    this.#attempt += 1;
    this.#again?.();
    this.#who?.unsubscribe();
    this.#who = undefined;
    if (this.#state === 'joined') this.#set('away');
  }

  #set(state: MembershipState): void {
    this.#state = state;
    for (const run of [...this.#changed]) run();
  }
}
