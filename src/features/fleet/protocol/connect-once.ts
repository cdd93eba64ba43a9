import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { accessOptions, type BrokerAccess } from './tls.ts';

const CONNECT_MS = 5000;

export interface OneConnection extends BrokerAccess {
  readonly name: string;
  /** Defaults to `_INBOX`. */
  readonly inboxPrefix?: string;
}

/** Connects once, for a user who is waiting. Throws what the NATS client throws. */
export function connectOnce({ name, inboxPrefix, ...access }: OneConnection): Promise<NatsConnection> {
  const options = { name, ...(inboxPrefix !== undefined && { inboxPrefix }) };
  return connect({ ...options, ...accessOptions(access), timeout: CONNECT_MS, reconnect: false });
}

export function managerOf(connection: NatsConnection): Promise<JetStreamManager> {
  return jetstreamManager(connection, { checkAPI: false, timeout: CONNECT_MS });
}
