import { join } from 'node:path';
import { MEMBER_FILES } from '../../features/fleet/setup/member-files.ts';
import type { FleetContent } from '../model/fleet.ts';

interface FleetAccess {
  readonly servers: readonly string[];
  readonly content: FleetContent;
  /** False if a public authority signed the servers' certificates. */
  readonly hasAuthority: boolean;
}

/** Returns the lines of the section `[fleet]` for a Mac or hub whose files are in `folder`. */
export function fleetSection(fleet: FleetAccess, folder: string, mac?: string): readonly string[] {
  const text = (value: string): string => JSON.stringify(value);
  return [
    '[fleet]',
    `servers = [${fleet.servers.map(text).join(', ')}]`,
    ...(mac === undefined ? [] : [`mac = ${text(mac)}`]),
    `key_file = ${text(join(folder, MEMBER_FILES.key))}`,
    ...(fleet.hasAuthority ? [`ca_file = ${text(join(folder, MEMBER_FILES.authority))}`] : []),
    `content = ${text(fleet.content)}`,
    ...(fleet.content === 'plain' ? [] : [`content_key_file = ${text(join(folder, MEMBER_FILES.content))}`]),
  ];
}
