import { Duplex } from 'node:stream';
import { errors, type Msg, type Subscription } from '@nats-io/nats-core';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import type { MachineRefusal } from '../problems.ts';
import { brokerAway, type FleetParts } from './connection.ts';
import { unreadable } from './envelope.ts';
import { every } from './every.ts';
import { answerSubject, toMacSubject } from './subjects.ts';

/** Bytes in one part: well below the megabyte that a server accepts. */
const PART_BYTES = 128 * 1024;
/** How many parts may be on their way before the receiver has taken them. */
const WINDOW = 8;
const ALIVE_EVERY_MS = 5000;
/** How often nothing may be heard in `ALIVE_EVERY_MS` before a call ends. */
const MAX_SILENT = 3;

/** The first byte of each part. */
const KINDS = { ack: 1, data: 3, end: 4, taken: 5, alive: 6, refused: 7, cancel: 8 } as const;
type Kind = keyof typeof KINDS;
const NAMES = new Map<number | undefined, Kind>(
  Object.entries(KINDS).map(([name, byte]) => [byte, name as Kind] as const),
);

/**
 * Why a Mac gave no whole answer. `nobody`: the broker says that no machine got the request. `silent`: none
 * acknowledged it in time, but one may have got it. `cut`: one acknowledged it, and then was not heard any more.
 */
export class Unanswered extends Error {
  readonly why: 'nobody' | 'silent' | 'cut';

  constructor(why: Unanswered['why']) {
    super(`The Mac gave no whole answer (${why}).`);
    this.why = why;
  }
}

/** The machine does not answer this request, and says why. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`The machine refused the request (${code}).`);
    this.code = code;
  }
}

export interface CallParts extends Omit<FleetParts, 'log'> {
  readonly member: string;
  /** The random id of the request. */
  readonly id: string;
}

/**
 * A connection between a hub and a machine, for one request and its answer: numbered, sealed parts in both directions.
 * The sender waits until the receiver has taken earlier parts, so a slow reader holds up nothing but its own call.
 */
export class Call extends Duplex {
  readonly #parts: CallParts;
  readonly #out: string;
  readonly #in: string;
  readonly #subscription: Subscription;
  readonly #offDisconnect: Cancel;
  #mayWrite: (() => void) | undefined;
  #sent = 0;
  #heard = 0;
  #window = WINDOW;
  /** Number of parts that were received and not taken yet. */
  #owed = 0;
  #silent = 0;
  readonly #cancelTick: Cancel;
  /** True once the other side knows that the call is over. */
  #isSaid = false;

  constructor(parts: CallParts, side: 'hub' | 'mac') {
    super();
    const { connection, member, id } = parts;
    if (!connection.isConnected) throw brokerAway();
    const subjects = [toMacSubject(member, id), answerSubject(member, id)] as const;
    this.#parts = parts;
    [this.#out, this.#in] = side === 'hub' ? subjects : [subjects[1], subjects[0]];
    this.#subscription = connection.nc.subscribe(this.#in, {
      callback: (error, message) => this.#take(error, message),
    });
    this.#offDisconnect = connection.onDisconnect(() => this.destroy(new Unanswered('cut')));
    this.#cancelTick = every(parts.clock, ALIVE_EVERY_MS, () => this.#tick());
    // Without a listener an error would end the process. Readers and writers get it too.
    this.on('error', () => {});
  }

  /** At a machine: tells the hub who answers. The hub's call emits `ack`. */
  acknowledge(machine: string): void {
    this.#send('ack', Buffer.from(machine));
  }

  /** At a machine: ends the call with a reason. */
  refuse(code: MachineRefusal): void {
    if (this.destroyed) return;
    this.#send('refused', Buffer.from(code));
    this.#isSaid = true;
    this.destroy();
  }

  override _read(): void {
    for (; this.#owed > 0; this.#owed -= 1) this.#send('taken');
  }

  override _write(bytes: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    this.#write(bytes).then(() => done(), done);
  }

  override _final(done: () => void): void {
    this.#send('end');
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isSaid && !(this.readableEnded && this.writableFinished)) this.#send('cancel');
    this.#cancelTick();
    this.#offDisconnect();
    this.#subscription.unsubscribe();
    this.#mayWrite?.();
    done(error);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += PART_BYTES) {
      while (this.#window === 0 && !this.destroyed) {
        await new Promise<void>((resolve) => {
          this.#mayWrite = resolve;
        });
      }
      if (this.destroyed) throw new Unanswered('cut');
      this.#window -= 1;
      this.#send('data', bytes.subarray(start, start + PART_BYTES));
    }
  }

  #send(kind: Kind, bytes: Uint8Array = new Uint8Array()): void {
    const { connection, envelope, member } = this.#parts;
    const subject = numbered(this.#out, this.#sent);
    this.#sent += 1;
    try {
      connection.nc.publish(this.#out, envelope.seal(member, subject, Buffer.concat([Buffer.of(KINDS[kind]), bytes])));
    } catch {
      this.destroy(new Unanswered('cut'));
    }
  }

  #tick(): void {
    this.#silent += 1;
    if (this.#silent > MAX_SILENT) this.destroy(new Unanswered('cut'));
    else this.#send('alive');
  }

  #take(error: Error | null, message: Msg): void {
    if (error instanceof errors.NoRespondersError || message.headers?.code === 503) {
      this.destroy(new Unanswered('nobody'));
    } else if (error !== null) this.destroy(new Unanswered('cut'));
    else {
      try {
        const { envelope, member } = this.#parts;
        this.#receive(envelope.open(member, numbered(this.#in, this.#heard), message.data));
      } catch (cause) {
        this.destroy(cause as Error);
      }
    }
  }

  #receive(opened: Uint8Array): void {
    this.#heard += 1;
    this.#silent = 0;
    const kind = NAMES.get(opened[0]);
    const bytes = opened.subarray(1);
    if (kind === 'data' && this.#owed < WINDOW) {
      this.#owed += 1;
      if (this.push(bytes)) this._read();
    } else if (kind === 'end') this.push(null);
    else if (kind === 'ack') this.emit('ack', Buffer.from(bytes).toString());
    else if (kind === 'taken') {
      this.#window = Math.min(WINDOW, this.#window + 1);
      this.#mayWrite?.();
    } else if (kind === 'refused' || kind === 'cancel') {
      this.#isSaid = true;
      this.destroy(kind === 'cancel' ? new Unanswered('cut') : new Refused(Buffer.from(bytes).toString()));
    } else if (kind !== 'alive') throw unreadable('its parts are out of order');
  }
}

/** A part that is sealed with this number opens in no other place. */
function numbered(subject: string, number: number): string {
  return `${subject} ${number}`;
}
