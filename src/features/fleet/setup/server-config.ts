import type { ServerAddress } from './addresses.ts';
import type { Rights } from './rights.ts';

/** A server listens for clients on its port, and for the other servers of the cluster on that port plus this number. */
const CLUSTER_PORT_DISTANCE = 2000;
const HANDSHAKE_SECONDS = 10;
/** The first version of nats-server that knows this setting. */
export const SYNC_INTERVAL_SINCE = '2.10';

/** A user of the broker, as its configuration has it. One without permissions may do everything in its account. */
export interface ServerUser {
  /** The public key. */
  readonly nkey: string;
  readonly permissions?: Rights;
}

export interface ClusterPlan {
  readonly servers: readonly ServerAddress[];
  /** Version of nats-server, such as 2.12. Older versions do not know every setting. */
  readonly serverVersion: string;
  /** The password with which servers join the cluster. Only the servers know it. */
  readonly routePassword: string;
}

/**
 * Returns the paths of a server's files, relative to its working folder. `index` starts at 0 for the first of `count`
 * servers.
 */
export function serverFiles(index: number, count: number): Record<'config' | 'certificate' | 'key' | 'data', string> {
  const suffix = count === 1 ? '' : `-${index + 1}`;
  return {
    config: `nats-server${suffix}.conf`,
    certificate: `tls/server${suffix}.pem`,
    key: `tls/server${suffix}.key`,
    data: `data${suffix}`,
  };
}

export const USERS_FILE = 'users.conf';
export const AUTHORITY_FILE = 'tls/ca.pem';

/**
 * Returns the text of a server's configuration file, which the operator may edit. It includes `users.conf`, which only
 * Postern writes.
 */
export function serverConfig(plan: ClusterPlan, index: number): string {
  const { servers, serverVersion } = plan;
  const own = servers[index];
  if (own === undefined) throw new RangeError(`There is no server ${index}.`);
  const files = serverFiles(index, servers.length);
  const tls = [`cert_file: "./${files.certificate}"`, `key_file: "./${files.key}"`, `ca_file: "./${AUTHORITY_FILE}"`];
  const timeout = `timeout: ${HANDSHAKE_SECONDS}`;
  return [
    '# A nats-server for a fleet of Postern, to start from: change what you like.',
    `# Start it in the folder of this file: nats-server -c ${files.config}`,
    `server_name: "postern-${index + 1}"`,
    `listen: "${own.isLoopback ? bracketed(own.host) : '0.0.0.0'}:${own.port}"`,
    '',
    '# Monitoring, for programs on this machine such as prometheus-nats-exporter: it has no password.',
    '# http: "127.0.0.1:8222"',
    '',
    'jetstream {',
    `  store_dir: "./${files.data}"`,
    ...syncLines(serverVersion),
    '}',
    '',
    ...(own.isLoopback ? [] : section('tls', [...tls, timeout])),
    ...(servers.length === 1 ? [] : section('cluster', clusterLines(plan, own, tls))),
    '# How long a client has to show its key: the default of two seconds is too short for a slow line.',
    `authorization { ${timeout} }`,
    '',
    '# Who may do what. postern fleet add and revoke rewrite this file; the server reads it again at SIGHUP.',
    `include "./${USERS_FILE}"`,
    '',
  ].join('\n');
}

/** Returns the text of `users.conf`, in JSON, which nats-server reads like its own format. */
export function usersConfig(users: readonly ServerUser[], system: ServerUser): string {
  const accounts = { FLEET: { jetstream: 'enabled', users }, SYS: { users: [system] } };
  const json = JSON.stringify({ accounts, system_account: 'SYS' }, null, 2);
  return `# Written by postern fleet. Changes made here are lost.\n${json}\n`;
}

/** Compares versions number by number, so that 2.10 is newer than 2.9. */
export function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, 'en', { numeric: true }) >= 0;
}

function syncLines(version: string): readonly string[] {
  if (isAtLeast(version, SYNC_INTERVAL_SINCE)) {
    return ['  # Every acknowledged message is on the disk.', '  sync_interval: always'];
  }
  return [
    '  # Before 2.10 a server writes to the disk every two minutes, so a power cut loses what came since.',
    '  # From 2.10 on, write here: sync_interval: always',
  ];
}

function clusterLines({ servers, routePassword }: ClusterPlan, own: ServerAddress, tls: readonly string[]) {
  const route = ({ host, port }: ServerAddress): string =>
    `"nats-route://fleet:${routePassword}@${bracketed(host)}:${port + CLUSTER_PORT_DISTANCE}"`;
  return [
    'name: "postern"',
    `listen: "${own.isLoopback ? bracketed(own.host) : '0.0.0.0'}:${own.port + CLUSTER_PORT_DISTANCE}"`,
    `authorization { user: "fleet", password: "${routePassword}" }`,
    `routes: [ ${servers
      .filter((server) => server !== own)
      .map(route)
      .join(', ')} ]`,
    ...(own.isLoopback ? [] : ['tls {', ...tls.map((line) => `  ${line}`), '  verify: true', '}']),
  ];
}

function section(name: string, lines: readonly string[]): readonly string[] {
  return [`${name} {`, ...lines.map((line) => `  ${line}`), '}', ''];
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
