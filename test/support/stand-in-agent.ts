import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { type NatsConnection, headers as newHeaders, nkeyAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Event } from '../../src/core/model/event.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { encodeEvent, eventId } from '../../src/features/fleet/protocol/event-message.ts';
import type { FleetOperation, FleetRequest, RowEvent } from '../../src/features/fleet/protocol/fleet-reads-schema.ts';
import type { LastPublished } from '../../src/features/fleet/protocol/fleet-records-schema.ts';
import {
  BUCKETS,
  EVENTS,
  eventSubject,
  HEADERS,
  inboxPrefix,
  readSubject,
} from '../../src/features/fleet/protocol/layout.ts';
import { packPresence } from '../../src/features/fleet/protocol/presence.ts';
import { type Reply, readQuestion, respond } from '../../src/features/fleet/protocol/requests.ts';
import type { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../src/features/fleet/setup/member-files.ts';

/** Plays an agent: publishes events of invented rows. */
export class StandInAgent {
  readonly mac: string;
  readonly epoch: string;
  readonly #envelope: Envelope;
  readonly #nc: NatsConnection;
  readonly #js: JetStreamClient;
  #previousRow = 0;
  /** Sequence of its newest message. After `follow`, the next message names it. */
  #sequence = 0;
  #isChained = false;
  /** Rows that only a hub of a later version can read. */
  readonly newerRows = new Set<number>();
  /** Number of requests for rows from hubs. */
  asked = 0;

  private constructor(nc: NatsConnection, mac: string, envelope: Envelope, epoch: string) {
    this.#nc = nc;
    this.#js = jetstream(nc);
    this.mac = mac;
    this.epoch = epoch;
    this.#envelope = envelope;
  }

  static async connect(url: string, mac: string, envelope = new Envelope(), epoch = 'e1'): Promise<StandInAgent> {
    return new StandInAgent(
      await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 50 }),
      mac,
      envelope,
      epoch,
    );
  }

  /** Connects with the rights and keys of a Mac of this fleet. */
  static async in(fleet: FleetFolder, url: string, mac: string): Promise<StandInAgent> {
    const seed = readFileSync(join(fleet.memberFolder({ mac }), MEMBER_FILES.key), 'utf8').trim();
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed));
    const nc = await connect({ servers: url, authenticator, inboxPrefix: inboxPrefix(mac) });
    return new StandInAgent(nc, mac, fleet.envelope, 'e1');
  }

  /** Publishes rows `from` to `to`; `previousRow` is the row before the first of them. */
  async publish(from: number, to = from, previousRow = this.#previousRow): Promise<void> {
    this.#previousRow = previousRow;
    for (let row = from; row <= to; row += 1) {
      const id = eventId(this.mac, this.epoch, `G${row}`);
      const { headers, body } = encodeEvent(
        {
          ...{ mac: this.mac, epoch: this.epoch, row, id },
          previousRow: this.#previousRow,
          type: 'message.received',
          instance: 'i',
          isMetadata: false,
        },
        this.#jsonOf(row),
        this.#envelope,
      );
      if (this.#isChained) headers.set(HEADERS.previousSequence, String(this.#sequence));
      const options = { headers, msgID: id, retries: 10, timeout: 1000 };
      this.#sequence = (await this.#js.publish(eventSubject(this.mac), body, options)).seq;
      this.#previousRow = row;
    }
  }

  /** From now on each message names the sequence before it, as an agent's does; 0 if the stream has none. */
  follow(earlier: { readonly sequence: number } = this): void {
    this.#isChained = true;
    this.#sequence = earlier.sequence;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Announces itself, as an agent does when it joins. */
  async announce(instance = 'i', addresses: readonly string[] = [], changes?: LastPublished['changes']): Promise<void> {
    const { created } = await (await this.#js.jetstreamManager(false)).streams.info(EVENTS.stream);
    const last = { stream: created, sequence: this.#sequence, row: this.#previousRow, changes };
    const presence = {
      ...(this.#previousRow > 0 && { last }),
      ...{ version: '0', instance, epoch: this.epoch, newestRow: 0, publishedRow: 0, addresses, atMs: Date.now() },
      ...{ health: { connected: true, message: null }, isLeaving: false },
    };
    await this.#js.publish(`$KV.${BUCKETS.macs}.${this.mac}`, packPresence(this.#envelope, this.mac, presence));
  }

  /**
   * Answers hubs that request rows. Lacks the rows in `without`. With `isReplaced`, answers as if its database had been
   * replaced.
   */
  async supply({ isReplaced = false, without = [] as readonly number[] } = {}): Promise<void> {
    this.#nc.subscribe(readSubject(this.mac, 'events'), {
      callback: (_, message) => {
        const asked = readQuestion(message, this.mac, 'events', this.#envelope) as FleetRequest<'events'>;
        const rows: RowEvent[] = [];
        for (let row = asked.after + 1; row < asked.before && rows.length < 200; row += 1) {
          if (without.includes(row)) continue;
          rows.push({ row, guid: `G${row}`, type: 'message.received', json: this.#jsonOf(row) });
        }
        this.asked += 1;
        respond(message, this.mac, 'events', { result: isReplaced ? null : rows }, this.#envelope);
      },
    });
    await this.#nc.flush();
  }

  #jsonOf(row: number): string {
    return JSON.stringify(this.newerRows.has(row) ? { type: 'message.danced', data: {} } : eventOfRow(row));
  }

  /** Gives every request of this kind the same answer, or with undefined none. */
  async answer(operation: FleetOperation, reply: Reply | undefined): Promise<void> {
    this.#nc.subscribe(readSubject(this.mac, operation), {
      callback: (_, message) => {
        this.asked += 1;
        if (reply !== undefined) respond(message, this.mac, operation, reply, this.#envelope);
      },
    });
    await this.#nc.flush();
  }

  /** Publishes whatever a broken or hostile publisher may send. */
  async publishRaw(body: string, given: Readonly<Record<string, string>> = {}): Promise<void> {
    const headers = newHeaders();
    for (const [name, value] of Object.entries(given)) headers.set(name, value);
    await this.#js.publish(eventSubject(this.mac), body, { headers });
  }

  async close(): Promise<void> {
    await this.#nc.close();
  }
}

export function eventOfRow(row: number): Event {
  return {
    type: 'message.received',
    data: {
      id: String(row),
      guid: `G${row}`,
      conversation_id: 'any;-;+15550100',
      sender: '+15550100',
      body: `row ${row}`,
      attachments: [],
      timestamp: '2026-01-02T03:04:05Z',
      is_from_me: false,
      status: 'delivered',
    },
  };
}
