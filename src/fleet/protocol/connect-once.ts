import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nkeyAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { tlsOptions } from './tls.ts';

const CONNECT_MS = 5000;

/** What streams and consumers are asked and made with. */
export type Manager = JetStreamManager;

export interface OneConnection {
  readonly servers: readonly string[];
  /** Of an nkey; undefined: none. */
  readonly seed: string | undefined;
  readonly ca: string | undefined;
  readonly name: string;
  /** Default: that of NATS. */
  readonly inboxPrefix?: string;
}

/** A connection for a person who waits for it: it is not attempted again. Throws what the client of NATS throws. */
export function connectOnce({ servers, seed, ca, ...options }: OneConnection): Promise<NatsConnection> {
  const tls = tlsOptions(servers, ca);
  return connect({
    ...options,
    servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, '')),
    ...(seed !== undefined && { authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())) }),
    ...(tls !== undefined && { tls }),
    timeout: CONNECT_MS,
    reconnect: false,
    ignoreClusterUpdates: true,
  });
}

export function managerOf(connection: NatsConnection): Promise<Manager> {
  return jetstreamManager(connection, { checkAPI: false, timeout: CONNECT_MS });
}
