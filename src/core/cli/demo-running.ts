import { once } from 'node:events';
import { connect } from 'node:net';
import { readConfig } from '../config/config-file.ts';
import { demoFolder } from '../config/environment.ts';
import { trustedSocketOf } from '../config/service-address.ts';
import type { Context } from './context.ts';

/** Reports whether a demo in the usual folder accepts connections on its Unix socket. */
export async function isDemoRunning({ environment }: Context): Promise<boolean> {
  const reading = readConfig(demoFolder(undefined, environment), environment);
  const socket = reading.state === 'usable' ? trustedSocketOf(reading.config) : undefined;
  if (socket === undefined || !('path' in socket)) return false;
  const connection = connect(socket.path);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}
