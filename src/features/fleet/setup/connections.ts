import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../../core/model/errors.ts';
import { connectOnce } from '../protocol/connection.ts';
import type { Membership } from '../protocol/membership.ts';
import { hubName, inboxPrefix } from '../protocol/subjects.ts';
import type { FleetFolder } from './fleet-folder.ts';

// Connections for a person who is waiting: each is tried once.

const CONNECT_MS = 5000;

export function managerOf(connection: NatsConnection): Promise<JetStreamManager> {
  return jetstreamManager(connection, { checkAPI: false, timeout: CONNECT_MS });
}

/**
 * Connects as the member, or as a hub whose name ends with `id`. Calls `onCertificateEnd` like `BrokerAccess`. Throws
 * what the NATS client throws.
 */
export function connectAs(
  membership: Membership,
  id: string,
  onCertificateEnd: (end: number) => void = () => {},
): Promise<NatsConnection> {
  const name = membership.member ?? hubName(id);
  return connectOnce(
    { ...membership, onCertificateEnd },
    { name, inboxPrefix: inboxPrefix(name), timeout: CONNECT_MS },
  );
}

/**
 * Connects to the fleet's servers as the operator or the system user. Throws AppError `broker_away` if no server can be
 * used.
 */
export async function connectOperator(folder: FleetFolder, whose: 'operator' | 'system'): Promise<NatsConnection> {
  const { servers, authority: ca } = folder;
  try {
    return await connectOnce(
      { servers, seed: folder.seedOf(whose), ca },
      { name: `postern fleet ${whose}`, timeout: CONNECT_MS },
    );
  } catch (error) {
    throw new AppError('broker_away', `No server of the fleet can be used: ${(error as Error).message}.`, {
      hint: `Tried ${servers.join(', ')}. Is nats-server running with the configuration in ${join(folder.path, 'server')}?`,
      cause: error,
    });
  }
}
