import type { Caller } from '../../core/model/caller.ts';
import { ACCESS } from './port.ts';
import type { AccessService } from './ports.ts';

/** Returns the services behind the owner's routes. Throws `not_available` for a limited key. */
export function ownersAccess(caller: Caller): Promise<AccessService> {
  return caller.port(ACCESS).load();
}
