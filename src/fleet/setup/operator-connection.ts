import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nkeyAuthenticator } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { AppError } from '../../domain/errors.ts';
import { tlsOptions } from '../tls.ts';
import type { FleetFolder } from './fleet-folder.ts';
import { AUTHORITY_FILE } from './server-config.ts';

const CONNECT_MS = 5000;

/** What streams and consumers are made with. */
export type Manager = JetStreamManager;

export function managerOf(connection: NatsConnection): Promise<Manager> {
  return jetstreamManager(connection, { checkAPI: false, timeout: CONNECT_MS });
}

/** One connection as operator or system user, without trying again: a person waits for it. */
export async function connectOperator(folder: FleetFolder, whose: 'operator' | 'system'): Promise<NatsConnection> {
  const { servers } = folder;
  const seed = readFileSync(folder.keyFile(whose), 'utf8').trim();
  const ca = folder.hasAuthority ? readFileSync(join(folder.path, 'server', AUTHORITY_FILE), 'utf8') : undefined;
  const tls = tlsOptions(servers, ca);
  try {
    return await connect({
      servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, '')),
      name: `postern fleet ${whose}`,
      authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
      ...(tls !== undefined && { tls }),
      timeout: CONNECT_MS,
      reconnect: false,
    });
  } catch (error) {
    throw new AppError('broker_away', `No server of the fleet can be used: ${(error as Error).message}.`, {
      hint: `Tried ${servers.join(', ')}. Is nats-server running with the configuration in ${join(folder.path, 'server')}?`,
      cause: error,
    });
  }
}
