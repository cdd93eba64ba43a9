import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { type ConnectionOptions, type NatsConnection, nkeyAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { AppError } from '../../domain/errors.ts';
import type { FleetSettings } from '../../domain/fleet.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { type Bucket, inboxPrefix } from './layout.ts';
import { tlsOptions } from './tls.ts';

/** A server that does not answer two of these is left. */
const PING_MS = 2000;
const REQUEST_MS = 5000;
/** Attempts to connect are spread over a time that doubles up to this, so that a fleet does not come back at once. */
const MAX_RECONNECT_MS = 8000;
const FIRST_RECONNECT_MS = 250;

export interface ConnectionHost {
  readonly clock: Clock;
  readonly log: Log;
  /** Name of this client: a mac, or what `hubName` gives. Its replies come to inboxes of that name. */
  readonly name: string;
  /** At most so long between attempts to connect; less where few connect. */
  readonly maxReconnectMs?: number;
}

type ConnectionUse = Pick<FleetSettings, 'servers' | 'keyFile' | 'caFile'>;

/** Reads a file that the configuration names. Throws AppError with the key and what is wrong. */
export function readFleetFile(path: string, key: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new AppError('fleet_file_unreadable', `The file at ${key} cannot be read (${(error as Error).message}).`, {
      cause: error,
    });
  }
}

/** A connection to the broker that is never given up: it connects, and connects again, until it is closed. */
export class FleetConnection {
  readonly #settings: ConnectionUse;
  readonly #host: ConnectionHost;
  readonly #onConnect = new Set<() => void>();
  readonly #onDisconnect = new Set<() => void>();
  #nc: NatsConnection | undefined;
  #js: JetStreamClient | undefined;
  #isConnected = false;
  #isClosed = false;
  #attempts = 0;
  /** How long the present attempt waits: the client asks several times. */
  #wait = 0;
  #lastProblem = 'it was not tried yet';
  readonly #wakeup: Wakeup;
  readonly #ended: Promise<void>;

  constructor(settings: ConnectionUse, host: ConnectionHost) {
    this.#settings = settings;
    this.#wakeup = new Wakeup(host.clock);
    this.#host = host;
    this.#ended = this.#run();
  }

  get name(): string {
    return this.#host.name;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Why there is no connection; undefined while there is one. */
  get trouble(): string | undefined {
    return this.#isConnected ? undefined : this.#lastProblem;
  }

  /** Throws `broker_away` before the first connection; afterwards it is the same object through every reconnect. */
  get nc(): NatsConnection {
    if (this.#nc === undefined) throw problem('broker_away');
    return this.#nc;
  }

  get js(): JetStreamClient {
    this.#js ??= jetstream(this.nc, { timeout: REQUEST_MS });
    return this.#js;
  }

  /** Opens a bucket that `postern fleet` made. */
  async kv(name: Bucket): Promise<KV> {
    return new Kvm(this.js).open(name);
  }

  /** The keys that a bucket has, or had: the client's own list of them may never end. */
  async keys(name: Bucket): Promise<readonly string[]> {
    const prefix = `$KV.${name}.`;
    const jsm = await this.js.jetstreamManager(false);
    const { state } = await jsm.streams.info(`KV_${name}`, { subjects_filter: `${prefix}>` });
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
  }

  /** Calls `run` at every connection, at once if there is one. */
  onConnect(run: () => void): Cancel {
    this.#onConnect.add(run);
    if (this.#isConnected) run();
    return () => void this.#onConnect.delete(run);
  }

  onDisconnect(run: () => void): Cancel {
    this.#onDisconnect.add(run);
    return () => void this.#onDisconnect.delete(run);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakeup.close();
    await this.#nc?.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const nc = await connect(this.#options());
        if (this.#isClosed) return await nc.close();
        this.#nc = nc;
        this.#js = undefined;
        this.#connected();
        await this.#follow(nc);
      } catch (error) {
        this.#note(error);
      }
      if (this.#isConnected) this.#disconnected();
      if (!this.#isClosed) await this.#wakeup.wait(this.#nextWait());
    }
  }

  /** Until the connection is closed for good. */
  async #follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'reconnect') this.#connected();
      else if (status.type === 'reconnecting') this.#nextWait();
      else if (status.type === 'disconnect' && this.#isConnected) this.#disconnected();
      else if (status.type === 'error') this.#note(status.error);
    }
    const error = await nc.closed();
    if (error !== undefined) this.#note(error);
  }

  #connected(): void {
    this.#isConnected = true;
    this.#attempts = 0;
    if (this.#nc !== undefined) keepErrorListener(this.#nc);
    this.#nextWait();
    this.#host.log.info('connected to the broker');
    for (const run of this.#onConnect) run();
  }

  #disconnected(): void {
    this.#isConnected = false;
    this.#lastProblem = 'the connection was lost';
    if (!this.#isClosed) this.#host.log.warn('the broker is away, trying again');
    for (const run of this.#onDisconnect) run();
  }

  /** Messages of the client name servers and subjects, never keys. */
  #note(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason !== this.#lastProblem && !this.#isClosed) {
      this.#host.log.warn('the broker cannot be used', { reason });
    }
    this.#lastProblem = reason;
  }

  #nextWait(): number {
    const { maxReconnectMs = MAX_RECONNECT_MS } = this.#host;
    const upTo = Math.min(maxReconnectMs, FIRST_RECONNECT_MS * 2 ** Math.min(this.#attempts, 10));
    this.#attempts += 1;
    this.#wait = Math.random() * upTo;
    return this.#wait;
  }

  /** Read again for every first connection, so that a file may be put right without a restart. */
  #options(): ConnectionOptions {
    const { servers, keyFile, caFile } = this.#settings;
    const { name } = this.#host;
    const seed = keyFile === '' ? undefined : readFleetFile(keyFile, 'fleet.key_file').trim();
    if (seed !== undefined && !/^SU[A-Z2-7]{56}$/.test(seed)) {
      throw new AppError(
        'fleet_key_unusable',
        'The file at fleet.key_file does not hold the seed of a user nkey (SU…).',
      );
    }
    const ca = caFile === '' ? undefined : readFleetFile(caFile, 'fleet.ca_file');
    const tls = tlsOptions(servers, ca);
    return {
      servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, '')),
      name,
      inboxPrefix: inboxPrefix(name),
      ...(seed !== undefined && { authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)) }),
      ...(tls !== undefined && { tls }),
      // Others that the servers name need not be in their certificates.
      ignoreClusterUpdates: true,
      pingInterval: PING_MS,
      maxPingOut: 2,
      timeout: REQUEST_MS,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectDelayHandler: () => this.#wait,
    };
  }
}

/**
 * The client removes its listeners from a socket that ended, and the error of a write that was on its way would then
 * end the process (transport-node 3.4.0, `_closed`).
 */
function keepErrorListener(nc: NatsConnection): void {
  const { socket } =
    (nc as { readonly protocol?: { readonly transport?: { readonly socket?: Socket } } }).protocol?.transport ?? {};
  if (socket === undefined) return;
  const remove = socket.removeAllListeners.bind(socket);
  socket.removeAllListeners = (event) => remove(event).on('error', () => {});
}
