import { type FleetContent, type FleetSettings, MAC_ID } from '../model/fleet.ts';
import { isLoopback } from '../model/loopback.ts';
import { integer, optionalPath, type Setting } from './setting.ts';

const CONTENTS: readonly FleetContent[] = ['encrypted', 'metadata', 'plain'];

/** The settings of `[fleet]`. Without `servers` this Mac is in no fleet. */
export const FLEET_SETTINGS = {
  fleetServers: {
    name: 'fleet.servers',
    about: 'NATS servers that connect this Mac with others (docs/fleet.md). Empty: this Mac is on its own.',
    allowed:
      'an address with TLS, such as "tls://broker.example:4222", or one on this machine, such as "nats://127.0.0.1:4222"',
    defaultValue: () => [],
    read: (written) => (typeof written === 'string' ? server(written) : undefined),
  },
  fleetMac: {
    name: 'fleet.mac',
    about: 'The name of this Mac in the fleet. Empty: a random one that is kept in state.db.',
    allowed: '1 to 32 lowercase letters, digits and hyphens, or empty',
    defaultValue: () => '',
    read: (written) => (typeof written === 'string' && (written === '' || MAC_ID.test(written)) ? written : undefined),
  },
  fleetKeyFile: optionalPath(
    'fleet.key_file',
    'The file with the nkey seed that identifies this Mac to the NATS servers. Empty: none.',
  ),
  fleetCaFile: optionalPath(
    'fleet.ca_file',
    'The file with the CA certificates for the NATS servers. Empty: those of the system.',
  ),
  fleetContent: {
    name: 'fleet.content',
    about:
      'How messages cross the NATS servers: "encrypted", "metadata" (events without text) or "plain". Empty: "plain" if all servers are on this machine, otherwise "encrypted".',
    allowed: '"encrypted", "metadata", "plain", or empty',
    defaultValue: () => '',
    read: (written): FleetContent | '' | undefined =>
      written === '' ? '' : CONTENTS.find((content) => content === written),
  },
  fleetContentKeyFile: optionalPath('fleet.content_key_file', 'The file with the keys that encrypt messages.'),
  fleetBackfillHours: integer(
    'fleet.backfill_hours',
    0,
    8760,
    24,
    'How many hours of past messages this Mac sends when the fleet has no messages of this Mac yet.',
  ),
  fleetChanges: {
    name: 'fleet.changes',
    about: 'Whether hubs also get changes of existing messages. If true, this Mac detects changes all the time.',
    allowed: 'true or false',
    defaultValue: () => false,
    read: (written) => (typeof written === 'boolean' ? written : undefined),
  },
} satisfies Readonly<Record<string, Setting>>;

/** The settings of `[fleet]` as written. Each has been checked alone, but not yet against the others. */
export interface WrittenFleet extends Omit<FleetSettings, 'content'> {
  readonly content: FleetContent | '';
  /** True if the section sets other keys but not `servers`. */
  readonly lacksServers: boolean;
}

/** Checks the section as a whole and adds its mistakes to `mistakes`. Returns undefined if this Mac is in no fleet. */
export function fleetOf(written: WrittenFleet, mistakes: string[]): FleetSettings | undefined {
  const { lacksServers, content: wish, ...settings } = written;
  if (settings.servers.length === 0) {
    if (lacksServers) mistakes.push('fleet.servers is missing; a fleet needs the address of at least one NATS server.');
    return undefined;
  }
  const isLocal = settings.servers.every((address) => isLoopback(new URL(address).hostname));
  const content = wish === '' ? (isLocal ? 'plain' : 'encrypted') : wish;
  if (new Set(settings.servers.map((address) => new URL(address).protocol)).size > 1) {
    mistakes.push('fleet.servers must all begin with tls://, or all with nats://.');
  }
  if (content === 'encrypted' && settings.contentKeyFile === '') {
    mistakes.push(
      'fleet.content_key_file is missing; fleet.content = "encrypted" needs the file content.key that "postern fleet" makes. fleet.content = "plain" needs none.',
    );
  }
  if (content === 'plain' && settings.contentKeyFile !== '') {
    mistakes.push('fleet.content_key_file is not used with fleet.content = "plain"; remove one of the two.');
  }
  return { ...settings, content };
}

/**
 * Returns a server's address unchanged. Returns undefined if it is invalid, contains a password, or names another
 * machine without TLS.
 */
function server(text: string): string | undefined {
  if (!/^(?:nats|tls):\/\/[^/@?#\s]+$/.test(text) || !URL.canParse(text)) return undefined;
  const { hostname, protocol } = new URL(text);
  return hostname !== '' && (protocol === 'tls:' || isLoopback(hostname)) ? text : undefined;
}
