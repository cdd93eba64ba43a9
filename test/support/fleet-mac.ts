import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AckPolicy, DeliverPolicy, JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type RunningApp, startApp } from '../../src/core/service.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { type EventMessage, openEvent, readEventHeaders } from '../../src/features/fleet/protocol/event-message.ts';
import { EVENTS, eventSubject, HEADERS } from '../../src/features/fleet/protocol/layout.ts';
import { FEATURES } from '../../src/features/list.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from './chat-fixture.ts';
import { waitFor } from './eventually.ts';
import { collectingLog } from './log.ts';

const KEY = 'a-key-for-all-the-tests';

const ENDED = { code: 0, stdout: '', stderr: '', trouble: null };

/** A whole service on a real chat.db, in this process, as an agent of a fleet. */
export class FleetMac {
  readonly log = collectingLog();
  readonly folder: string;
  readonly #osascriptPath: string;
  readonly chatDbPath: string;
  database: ChatFixture | undefined;
  /** Address of `canary.self`. */
  canarySelf = '';
  /** Hardware id; by default that of the machine that runs the tests. */
  machine: string | undefined;
  settings: Partial<Record<string, unknown>>;
  clock: Clock = systemClock;
  #app: RunningApp | undefined;

  constructor(
    folder: string,
    settings: Partial<Record<string, unknown>>,
    simulated?: { readonly chatDbPath: string; readonly osascriptPath: string },
  ) {
    this.folder = folder;
    this.settings = settings;
    this.#osascriptPath = simulated?.osascriptPath ?? '/usr/bin/false';
    this.chatDbPath = simulated?.chatDbPath ?? join(folder, 'chat.db');
    if (simulated === undefined) this.createDatabase();
  }

  /** Replaces chat.db by one that has one conversation and no messages. */
  createDatabase(): void {
    this.database?.remove();
    this.database = new ChatFixture(this.chatDbPath);
    this.database.chat('any;-;+15550100', ['+15550100']);
  }

  /** Writes a message with the current time and returns its row id. */
  write(text: string): number {
    const date = appleDate(Date.now());
    if (this.database === undefined) throw new Error('its database is not a fixture');
    return this.database.message({ chat: 1, handle_id: 1, text, date });
  }

  async start(): Promise<void> {
    const dir = join(this.folder, 'config');
    if (!existsSync(dir)) mkdirSync(dir, { mode: 0o700, recursive: true });
    const tables = {
      server: { port: 0n, socket: false, rate_limit_per_minute: 1_000_000n },
      auth: { api_key: KEY },
      backend: { chat_db_path: this.chatDbPath, osascript_path: this.#osascriptPath, poll_interval_ms: 20n },
      fleet: this.settings,
      canary: { self: this.canarySelf },
    };
    const checked = checkConfig(tables, dir, processEnvironment({ HOME: this.folder }, 'linux', FEATURES));
    if ('mistakes' in checked) throw new Error(checked.mistakes.join(' '));
    this.#app = await startApp(checked.config, {
      clock: this.clock,
      log: this.log,
      supervised: false,
      version: '1.2.3',
      features: FEATURES,
      platform: 'simulated',
      homeFolder: this.folder,
      cacheFolder: join(this.folder, 'cache'),
      run: (program) => {
        if (program !== 'ioreg' || this.machine === undefined) return Promise.reject(new Error('not used'));
        return Promise.resolve({ ...ENDED, stdout: `    "IOPlatformUUID" = "${this.machine}"\n` });
      },
      restart: () => {},
    });
  }

  async stop(): Promise<void> {
    await this.#app?.close();
    this.#app = undefined;
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.database?.close();
  }

  async get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#app?.url}/api/v1${path}`, { headers: { 'x-api-key': KEY } });
    return answer.json();
  }

  /** Returns the status and body of /ready, which balancers read without a key. */
  async ready(): Promise<readonly [number, unknown]> {
    const answer = await fetch(`${this.#app?.url}/ready`);
    return [answer.status, await answer.json()];
  }

  /** Waits until the status's `fleet` meets the condition, and returns it. */
  async fleet(fits: (fleet: Record<string, unknown>) => boolean = () => true): Promise<Record<string, unknown>> {
    return waitFor(async () => {
      const { fleet } = (await this.get('/status')) as { fleet: Record<string, unknown> };
      return fits(fleet) && fleet;
    });
  }

  /** Waits until the stream has acknowledged everything up to this row. */
  published(row: number): Promise<unknown> {
    return this.fleet(({ published_row: published }) => Number(published) >= row);
  }
}

export interface StreamEvent extends EventMessage {
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns everything that a stream holds of one Mac, in order. */
export async function streamOf(nc: NatsConnection, mac: string, envelope = new Envelope()): Promise<StreamEvent[]> {
  const jsm = await jetstreamManager(nc);
  const { num_pending: total, name } = await jsm.consumers.add(EVENTS.stream, {
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.None,
    filter_subject: eventSubject(mac),
    mem_storage: true,
  });
  const consumer = await jsm.jetstream().consumers.get(EVENTS.stream, name);
  const found: StreamEvent[] = [];
  if (total > 0) {
    for await (const message of await consumer.fetch({ max_messages: total })) {
      const event = readEventHeaders(message.subject, message.headers);
      if (event === undefined) throw new Error(`not an event: ${message.subject} ${message.seq}`);
      const json = openEvent(event, message.headers?.get(HEADERS.key), message.data, envelope);
      found.push({ ...event, sequence: message.seq, data: (JSON.parse(json) as { data: StreamEvent['data'] }).data });
    }
  }
  await jsm.consumers.delete(EVENTS.stream, name).catch((error: unknown) => {
    // The broker removes the consumer 5 s after its last use.
    const isGone = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
    if (!isGone) throw error;
  });
  return found;
}

export const rowsOf = (events: readonly EventMessage[]): number[] => events.map(({ row }) => row);

/** Connects the test itself to the broker. */
export function clientOf(server: { readonly url: string }): Promise<NatsConnection> {
  return connect({ servers: server.url, reconnectTimeWait: 50, maxReconnectAttempts: -1 });
}
