import { isIP, type Socket } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import {
  type ConnectionOptions,
  type NatsConnection,
  nkeyAuthenticator,
  PermissionViolationError,
  type TlsOptions,
} from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { AppError } from '../../../core/model/errors.ts';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import type { Envelope } from './envelope.ts';
import type { Membership } from './membership.ts';
import { inboxPrefix } from './subjects.ts';

/** Ping interval in milliseconds. A connection ends when the server misses two pings. */
const PING_MS = 2000;
const CONNECT_MS = 3000;
/** Nobody answers a request that comes while a stream has no leader, so it must be given up and made again soon. */
const REQUEST_MS = 2000;
/** Longest wait between attempts to connect. */
const MAX_RECONNECT_MS = 8000;
const FIRST_RECONNECT_MS = 250;

/** The parts that every part of a hub uses. */
export interface FleetParts extends Host {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
}

interface Host {
  readonly clock: Clock;
  readonly log: Log;
}

export interface ConnectionHost extends Host {
  /** Name of this client: `<member>.<machine>`, or the result of `hubName`. Its inboxes carry this name. */
  readonly name: string;
  /** Longest wait between attempts to connect, in milliseconds; 8 s by default. Hubs are few, and set less. */
  readonly maxReconnectMs?: number;
}

/**
 * A connection to the broker. When it ends, everything that waits for the broker fails at once, and a new one is made,
 * until this is closed.
 */
export class FleetConnection {
  readonly #membership: () => Membership;
  readonly #host: ConnectionHost;
  readonly #onConnect = new Set<() => void>();
  readonly #onDisconnect = new Set<() => void>();
  #nc: NatsConnection | undefined;
  #js: JetStreamClient | undefined;
  #isConnected = false;
  #isClosed = false;
  #certificateEnd: number | undefined;
  #lastProblem = 'no connection has been tried yet';
  /** The address of the last server. */
  #server = '';
  readonly #wakeup: Wakeup;
  #ended: Promise<void> | undefined;

  /** Reads the membership for each new connection, so that a corrected file needs no restart. */
  constructor(membership: () => Membership, host: ConnectionHost) {
    this.#membership = membership;
    this.#wakeup = new Wakeup(host.clock);
    this.#host = host;
  }

  /** Connects, and keeps connecting. */
  start(): void {
    this.#ended ??= this.#run();
  }

  /** When the server's certificate expires, in Unix milliseconds; undefined without TLS. */
  get certificateEnd(): number | undefined {
    return this.#certificateEnd;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Why there is no connection; undefined while there is one. */
  get trouble(): string | undefined {
    return this.#isConnected ? undefined : this.#lastProblem;
  }

  /** The connection of the NATS client. Throws `broker_away` while there is none. */
  get nc(): NatsConnection {
    if (this.#nc === undefined || !this.#isConnected) throw brokerAway();
    return this.#nc;
  }

  get js(): JetStreamClient {
    this.#js ??= jetstream(this.nc, { timeout: REQUEST_MS });
    return this.#js;
  }

  manager(): Promise<JetStreamManager> {
    return jetstreamManager(this.nc, { checkAPI: false, timeout: REQUEST_MS });
  }

  /** Calls `run` after each connect, and immediately if connected. */
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
    const { log, maxReconnectMs = MAX_RECONNECT_MS } = this.#host;
    let failures = 0;
    while (!this.#isClosed) {
      try {
        const nc = await this.#connect();
        if (this.#isClosed) return await nc.close();
        failures = 0;
        this.#connected(nc);
        this.#disconnected((await nc.closed()) ?? undefined);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== this.#lastProblem && !this.#isClosed) log.warn('connecting to the broker failed', { reason });
        this.#lastProblem = reason;
      }
      // Random, so that a fleet does not come back all at once.
      const upTo = Math.min(maxReconnectMs, FIRST_RECONNECT_MS * 2 ** Math.min(failures, 10));
      failures += 1;
      if (!this.#isClosed) await this.#wakeup.wait(Math.random() * upTo);
    }
  }

  #connected(nc: NatsConnection): void {
    this.#nc = nc;
    this.#server = nc.getServer();
    this.#js = undefined;
    this.#isConnected = true;
    keepErrorListener(nc);
    void this.#logRefusals(nc);
    this.#host.log.info('connected to the broker');
    for (const run of this.#onConnect) run();
  }

  /** Logs what the broker refuses, once for each kind, because the caller may never learn it. */
  async #logRefusals(nc: NatsConnection): Promise<void> {
    const known = new Set<string>();
    for await (const status of nc.status()) {
      if (status.type !== 'error') continue;
      const { error } = status;
      const reason = error instanceof PermissionViolationError ? kindOf(error) : error.message;
      if (!known.has(reason)) this.#host.log.warn('the broker refused something', { reason });
      known.add(reason);
    }
  }

  #disconnected(error: Error | undefined): void {
    this.#isConnected = false;
    this.#js = undefined;
    this.#lastProblem = error?.message ?? 'the connection was lost';
    if (!this.#isClosed) {
      this.#host.log.warn('the connection to the broker was lost, reconnecting', { reason: this.#lastProblem });
    }
    for (const run of this.#onDisconnect) run();
  }

  #connect(): Promise<NatsConnection> {
    const { name } = this.#host;
    const onCertificateEnd = (end: number): void => {
      this.#certificateEnd = end;
    };
    const membership = this.#membership();
    const access = { ...membership, servers: inTurn(membership.servers, this.#server), onCertificateEnd };
    const how = { noRandomize: true, pingInterval: PING_MS, maxPingOut: 2, timeout: CONNECT_MS };
    return connectOnce(access, { name, inboxPrefix: inboxPrefix(name), ...how });
  }
}

/**
 * Returns the servers in random order, and last the one that was lost: while it stands still, it takes connections and
 * says nothing.
 */
function inTurn(servers: readonly string[], lost: string): readonly string[] {
  const placed = servers.map((server) => [server.endsWith(`//${lost}`) ? 1 : Math.random(), server] as const);
  return placed.toSorted(([one], [other]) => one - other).map(([, server]) => server);
}

/**
 * Connects to one of the servers. The client's own reconnecting would keep what waits for the broker waiting, and send
 * old messages late. Refuses a server without streams, such as the one that Debian's package starts by itself.
 */
export async function connectOnce(access: BrokerAccess, options: ConnectionOptions): Promise<NatsConnection> {
  const nc = await connect({ ...options, ...accessOptions(access), reconnect: false });
  if (nc.info?.jetstream === true) return nc;
  await nc.close();
  throw new Error(`another nats-server has the port of ${nc.getServer()}: it does not have the fleet's configuration`);
}

/** The problem while no server can be reached. */
export function brokerAway(): AppError {
  return new AppError('broker_away', 'The broker of the fleet cannot be reached.', {
    status: 503,
    hint: 'It is tried again all the time. At the desk, `postern fleet status` says which server is down.',
  });
}

/** Names what is not permitted by the beginning of its subject. The rest differs each time. */
function kindOf({ operation, subject }: PermissionViolationError): string {
  return `no right to ${operation}: ${subject.split('.', subject.startsWith('$JS.') ? 5 : 2).join('.')}`;
}

/**
 * Keeps a listener for errors on the socket. The NATS client removes its listener when the socket ends. Without a
 * listener, the error of a pending write would then end the process (transport-node 3.4.0, `_closed`).
 */
function keepErrorListener(nc: NatsConnection): void {
  const { socket } =
    (nc as { readonly protocol?: { readonly transport?: { readonly socket?: Socket } } }).protocol?.transport ?? {};
  if (socket === undefined) return;
  const remove = socket.removeAllListeners.bind(socket);
  socket.removeAllListeners = (event) => remove(event).on('error', () => {});
}

export interface BrokerAccess {
  readonly servers: readonly string[];
  /** The seed of an nkey. */
  readonly seed: string;
  /** PEM of the authority that signs the servers' certificates; undefined for the system's authorities. */
  readonly ca: string | undefined;
  /** Called for each server reached, with the expiry of its certificate in Unix milliseconds. */
  readonly onCertificateEnd?: (end: number) => void;
}

/** Returns the options of the NATS client for these servers and this key. */
export function accessOptions({ servers, seed, ca, onCertificateEnd }: BrokerAccess): ConnectionOptions {
  const tls = tlsOptions(servers, ca, onCertificateEnd);
  return {
    servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, '')),
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
    ...(tls !== undefined && { tls }),
  };
}

/** Returns the options for servers at `tls://` addresses; undefined if there are none. */
function tlsOptions(
  servers: readonly string[],
  ca: string | undefined,
  onEnd: (end: number) => void = () => {},
): TlsOptions | undefined {
  if (!servers.some((server) => server.startsWith('tls://'))) return undefined;
  const hosts = servers.map((server) => new URL(server).hostname.replace(/^\[|\]$/g, ''));
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  const options = {
    ...(ca !== undefined && { ca }),
    // For a server at an IP address, the NATS client passes no host to Node. The certificate is therefore accepted if
    // it is valid for any of the configured IP addresses.
    checkServerIdentity: (host: string, certificate: PeerCertificate): Error | undefined => {
      onEnd(Date.parse(certificate.valid_to));
      if (hosts.includes(host)) return checkServerIdentity(host, certificate);
      const errors = addresses.map((address) => checkServerIdentity(address, certificate));
      return errors.includes(undefined) ? undefined : (errors[0] ?? checkServerIdentity(host, certificate));
    },
  };
  return options;
}
