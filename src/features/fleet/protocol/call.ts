import { errors, type Msg, type Subscription } from '@nats-io/nats-core';
import type { Cancel, Clock } from '../../../core/model/ports/host-ports.ts';
import { brokerAway, type FleetConnection } from './connection.ts';
import { type Envelope, unreadable } from './envelope.ts';
import { answerSubject, toMacSubject } from './subjects.ts';

/** Bytes in one part: well below the megabyte that a server accepts. */
const PART_BYTES = 128 * 1024;
/** How many parts of a body may be on their way before the receiver has taken them. */
const WINDOW = 8;
const ALIVE_EVERY_MS = 5000;
/** How often nothing may be heard in `ALIVE_EVERY_MS` before a call ends. */
const MAX_SILENT = 3;

/** The first byte of each part. */
const KINDS = { ack: 1, head: 2, data: 3, end: 4, taken: 5, alive: 6, failed: 7, cancel: 8 } as const;
type Kind = keyof typeof KINDS;
const NAMES = new Map<number | undefined, Kind>(
  Object.entries(KINDS).map(([name, byte]) => [byte, name as Kind] as const),
);

export interface CallPart {
  readonly kind: 'ack' | 'head' | 'data' | 'end' | 'failed';
  readonly bytes: Uint8Array;
}

/**
 * Why a Mac gave no whole answer. `nobody`: the broker says that no machine got the request. `silent`: none acknowledged
 * it in time, but one may have got it. `cut`: one acknowledged it, and then was not heard any more.
 */
export class Unanswered extends Error {
  readonly why: 'nobody' | 'silent' | 'cut';

  constructor(why: Unanswered['why']) {
    super(`The Mac gave no whole answer (${why}).`);
    this.why = why;
  }
}

/** The other side wants no more of this call. */
export class Cancelled extends Error {}

export interface CallParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly member: string;
  /** The random id of the request. */
  readonly id: string;
}

/**
 * One request and its answer between a hub and a machine: numbered, sealed parts in both directions. The sender of a
 * body waits until the receiver has taken earlier parts, so a slow reader holds up nothing but its own call.
 */
export class Call {
  readonly #parts: CallParts;
  readonly #out: string;
  readonly #in: string;
  readonly #subscription: Subscription;
  readonly #offDisconnect: Cancel;
  readonly #received: CallPart[] = [];
  #wake: (() => void) | undefined;
  #mayWrite: (() => void) | undefined;
  #sent = 0;
  #heard = 0;
  #window = WINDOW;
  #silent = 0;
  #cancelTick: Cancel;
  #failure: Error | undefined;
  readonly #onOver: (() => void)[] = [];

  constructor(parts: CallParts, side: 'hub' | 'mac') {
    const { connection, member, id } = parts;
    if (!connection.isConnected) throw brokerAway();
    const subjects = [toMacSubject(member, id), answerSubject(member, id)] as const;
    this.#parts = parts;
    [this.#out, this.#in] = side === 'hub' ? subjects : [subjects[1], subjects[0]];
    this.#subscription = connection.nc.subscribe(this.#in, {
      callback: (error, message) => this.#take(error, message),
    });
    this.#offDisconnect = connection.onDisconnect(() => this.#fail(new Unanswered('cut')));
    this.#cancelTick = this.#tick();
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /** Calls `run` once the call is over, for whatever reason. */
  onOver(run: () => void): void {
    if (this.isOver) run();
    else this.#onOver.push(run);
  }

  /** Resolves with the next part. Rejects with `Unanswered`, `Cancelled`, or AppError `fleet_content_unreadable`. */
  async next(): Promise<CallPart> {
    for (;;) {
      const part = this.#received.shift();
      if (part !== undefined) return part;
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Yields the body that follows. Whoever stops early ends the call. */
  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    let isWhole = false;
    try {
      for (;;) {
        const { kind, bytes } = await this.next();
        isWhole = kind === 'end';
        if (isWhole) return;
        if (kind !== 'data') throw unreadable('its parts are out of order');
        yield bytes;
        this.send('taken');
      }
    } finally {
      if (!isWhole) this.cancel();
    }
  }

  send(kind: Kind, bytes: Uint8Array = new Uint8Array()): void {
    if (this.isOver) return;
    const { connection, envelope, member } = this.#parts;
    const sealed = envelope.seal(
      member,
      numbered(this.#out, this.#sent),
      Buffer.concat([Buffer.of(KINDS[kind]), bytes]),
    );
    this.#sent += 1;
    try {
      connection.nc.publish(this.#out, sealed);
    } catch {
      this.#fail(new Unanswered('cut'));
    }
  }

  sendJson(kind: Kind, value: unknown): void {
    this.send(kind, Buffer.from(JSON.stringify(value)));
  }

  /** Sends a piece of a body. Resolves once more may be sent; rejects once the call is over. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += PART_BYTES) {
      while (this.#window === 0 && this.#failure === undefined) {
        await new Promise<void>((resolve) => {
          this.#mayWrite = resolve;
        });
      }
      if (this.#failure !== undefined) throw this.#failure;
      this.#window -= 1;
      this.send('data', bytes.subarray(start, start + PART_BYTES));
    }
  }

  /** Ends the call and tells the other side, unless it is over already. */
  cancel(): void {
    this.send('cancel');
    this.#fail(new Cancelled());
  }

  /** Ends the call without a word: both sides have said everything. */
  close(): void {
    this.#fail(new Cancelled());
  }

  #tick(): Cancel {
    return this.#parts.clock.after(ALIVE_EVERY_MS, () => {
      this.#silent += 1;
      if (this.#silent > MAX_SILENT) this.#fail(new Unanswered('cut'));
      else {
        this.send('alive');
        this.#cancelTick = this.#tick();
      }
    });
  }

  #take(error: Error | null, message: Msg): void {
    if (error instanceof errors.NoRespondersError || message.headers?.code === 503) {
      this.#fail(new Unanswered('nobody'));
    } else if (error !== null) this.#fail(new Unanswered('cut'));
    else {
      try {
        const { envelope, member } = this.#parts;
        this.#receive(envelope.open(member, numbered(this.#in, this.#heard), message.data));
      } catch (cause) {
        this.#fail(cause as Error);
      }
    }
  }

  #receive(opened: Uint8Array): void {
    this.#heard += 1;
    this.#silent = 0;
    const kind = NAMES.get(opened[0]);
    if (kind === 'taken') {
      this.#window = Math.min(WINDOW, this.#window + 1);
      this.#mayWrite?.();
    } else if (kind === 'cancel') {
      this.#fail(new Cancelled());
    } else if (kind === undefined || this.#received.length > WINDOW + 3) {
      this.#fail(unreadable('its parts are out of order'));
    } else if (kind !== 'alive') {
      this.#received.push({ kind, bytes: opened.subarray(1) });
      this.#wake?.();
    }
  }

  /** The first failure is kept. What has been received can still be read. */
  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#cancelTick();
    this.#offDisconnect();
    this.#subscription.unsubscribe();
    this.#wake?.();
    this.#mayWrite?.();
    for (const run of this.#onOver) run();
  }
}

/** What is sealed as the part with this number opens in no other place. */
function numbered(subject: string, number: number): string {
  return `${subject} ${number}`;
}
