import { type Subscription, TimeoutError } from '@nats-io/nats-core';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { readSubject, WHO } from '../protocol/layout.ts';
import type { MachineClaim } from '../protocol/machine-claim.ts';

/** How long to wait for the answer of another agent with the same id. */
const ANSWER_MS = 2000;
/**
 * Interval at which a refused agent checks again whether another agent answers to its id, or another machine has
 * claimed the id.
 */
const AGAIN_MS = 30_000;
/** Wait before another attempt if the claim could not be read or written. */
const RETRY_MS = 1000;

export type MembershipState = 'away' | 'joined' | 'refused';

export interface MembershipParts {
  readonly connection: FleetConnection;
  readonly mac: string;
  /** Identifies this run of the agent. */
  readonly instance: string;
  /**
   * Claims this Mac's id for this machine, unless another agent answers to the id (`isAnswered`). If another machine
   * has claimed the id, returns that claim; otherwise undefined.
   */
  readonly claim: (isAnswered: boolean) => Promise<MachineClaim | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Decides whether this agent may act for its Mac. The agent may act if it is connected, no other agent answers to its
 * id, and no other machine has claimed the id. An agent checks this before it answers or claims anything itself, so of
 * two agents that run at the same time, the second one stops.
 */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #changed = new Set<() => void>();
  readonly #closers: readonly Cancel[];
  #state: MembershipState = 'away';
  #who: Subscription | undefined;
  /**
   * Incremented by each attempt to join and each loss of the connection. An older attempt that is still waiting for an
   * answer then has no effect.
   */
  #attempt = 0;
  #again: Cancel | undefined;
  #trouble: string | undefined;
  #holder: MachineClaim | undefined;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    const { connection } = parts;
    this.#closers = [connection.onConnect(() => this.#connected()), connection.onDisconnect(() => this.#leave())];
  }

  /** Why it is unknown whether this agent may act; undefined if known. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** The other machine's claim, if this agent is refused because of it; otherwise undefined. */
  get holder(): MachineClaim | undefined {
    return this.#holder;
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

  /** Leaves, asks whether another agent or machine has this id, and joins again if none has. */
  async check(): Promise<void> {
    this.#leave();
    const attempt = this.#attempt;
    const { mac, clock, log, claim, connection } = this.#parts;
    const isAnswered = await this.#isAnswered();
    const isStale = (): boolean => attempt !== this.#attempt || !connection.isConnected;
    if (isStale()) return;
    let trouble: string | undefined;
    const holder = await claim(isAnswered).catch((error: Error) => {
      trouble = error.message;
      return undefined;
    });
    if (isStale()) return;
    this.#trouble = isAnswered ? undefined : trouble;
    this.#holder = holder;
    if (this.#trouble !== undefined) {
      log.warn('the broker cannot say which machine this identity belongs to', { reason: this.#trouble });
      this.#again = clock.after(RETRY_MS, () => void this.check());
      return;
    }
    if (isAnswered || holder !== undefined) {
      log.error('another machine has this id in the fleet; this one publishes nothing', { mac });
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

  /**
   * Checks now, or later if this agent was refused. The delay lets the accepted agent go first, even if the broker has
   * lost that agent's claim.
   */
  #connected(): void {
    if (this.#state !== 'refused') return void this.check();
    this.#again?.();
    this.#again = this.#parts.clock.after(AGAIN_MS, () => void this.check());
  }

  /**
   * Reports whether another agent answers. After a timeout, asks once more when the broker answers, because the broker
   * may have been paused. A paused agent answers neither, but can do no harm when it resumes: the stream then refuses
   * its events.
   */
  async #isAnswered(): Promise<boolean> {
    const { connection, mac, instance } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (attempt > 1) await connection.nc.flush();
        const { data } = await connection.nc.request(readSubject(mac, WHO), instance, { timeout: ANSWER_MS });
        return new TextDecoder().decode(data) !== instance;
      } catch (error) {
        if (attempt > 1 || !(error instanceof TimeoutError)) return false;
      }
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
