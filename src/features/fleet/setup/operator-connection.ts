import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../../../core/model/errors.ts';
import { connectOnce } from '../protocol/connect-once.ts';
import type { FleetFolder } from './fleet-folder.ts';

/**
 * Connects to the fleet's servers as the operator or the system user. Throws AppError `broker_away` if no server can be
 * used.
 */
export async function connectOperator(folder: FleetFolder, whose: 'operator' | 'system'): Promise<NatsConnection> {
  const { servers, authority: ca } = folder;
  const seed = folder.seedOf(whose);
  try {
    return await connectOnce({ servers, seed, ca, name: `postern fleet ${whose}` });
  } catch (error) {
    throw new AppError('broker_away', `No server of the fleet can be used: ${(error as Error).message}.`, {
      hint: `Tried ${servers.join(', ')}. Is nats-server running with the configuration in ${join(folder.path, 'server')}?`,
      cause: error,
    });
  }
}
