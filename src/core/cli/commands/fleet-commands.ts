import { join, resolve } from 'node:path';
import type { Manager } from '../../../features/fleet/protocol/connect-once.ts';
import type * as streams from '../../../features/fleet/protocol/streams.ts';
import { type ServerAddress, serverAddress } from '../../../features/fleet/setup/addresses.ts';
import { FleetFolder } from '../../../features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../../features/fleet/setup/member-files.ts';
import { serverFiles } from '../../../features/fleet/setup/server-config.ts';
import { configFolder } from '../../config/environment.ts';
import { AppError, isAppError } from '../../model/errors.ts';
import type { FleetContent } from '../../model/fleet.ts';
import { isoSecond } from '../../model/iso-second.ts';
import { systemClock } from '../../runtime/clock.ts';
import { commandRunner } from '../../runtime/command.ts';
import { type ClientContext, type CommonOptions, type Context, EXIT, quoted } from '../context.ts';
import { fleetSection } from '../fleet-section.ts';
import { programText } from '../invocation.ts';

export interface FleetOptions extends CommonOptions {
  readonly dir?: string;
}

interface InitOptions extends FleetOptions {
  readonly server?: readonly string[];
  readonly serverVersion?: string;
  readonly content?: FleetContent;
  readonly certificates: boolean;
  readonly connect?: boolean;
  readonly keepHours?: number;
  readonly maxBytes?: number;
}

export interface OneMacOptions extends FleetOptions {
  readonly offline?: boolean;
}

const SERVER_VERSION = '2.12';
/** A Mac's folder for fleet files, written with `~`, which config.toml accepts. */
const MAC_FOLDER = '~/Library/Application Support/Postern/fleet';

/**
 * `postern fleet init`: creates keys and configuration. With `--connect`, also creates the streams, buckets and queues
 * that the servers lack.
 */
export function initFleet(options: InitOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const path = fleetPath(options, context);
    if (options.connect === true && FleetFolder.isIn(path)) {
      await createMissing(FleetFolder.open(path), options, context);
      return EXIT.ok;
    }
    const servers = addresses(options.server ?? ['127.0.0.1:4222']);
    const isLocal = servers.every(({ isLoopback }) => isLoopback);
    const fleet = {
      servers,
      serverVersion: options.serverVersion ?? SERVER_VERSION,
      content: options.content ?? (isLocal ? 'plain' : 'encrypted'),
      hasCertificates: options.certificates,
    };
    const folder = await FleetFolder.create(path, fleet, commandRunner(context.environment.env));
    context.stdout(...introduction(folder, servers, options, context));
    if (options.connect === true) await createMissing(folder, options, context);
    return EXIT.ok;
  });
}

export function addMac(mac: string, options: OneMacOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    assertNew(mac, folder, `postern fleet adopt ${mac}`);
    folder.addMac(mac, today());
    context.stdout(...joining(mac, folder));
    await onServers(options, folder, context, async ({ createMac }, jsm) => createMac(jsm, mac));
    context.stdout('', ...reload(folder));
    return EXIT.ok;
  });
}

/** Lets a new machine take over a Mac's id: the new machine gets a new key, and the old machine's user is removed. */
export function adoptMac(mac: string, options: OneMacOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    assertKnown(mac, folder);
    folder.addMac(mac, today());
    context.stdout(...joining(mac, folder), '', ...reload(folder), 'After the reload, the servers refuse the old key.');
    return EXIT.ok;
  });
}

export function revokeMac(mac: string, options: OneMacOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    const isKnown = folder.macs.includes(mac);
    let isForgotten = false;
    if (isKnown) folder.removeMac(mac);
    await onServers(options, folder, context, async ({ removeMac }, jsm) => {
      isForgotten = await removeMac(jsm, mac);
    });
    const forgotten = `${mac} had already been revoked. Now the servers and hubs have forgotten it, too.`;
    const revoked = [
      `${mac} is no longer a user of the servers, and its key was deleted here.`,
      ...reload(folder),
      `Until the servers have reloaded, ${mac} keeps working and may reappear at hubs.`,
      'If it does, run this command again after the reload.',
      'Its events stay in the stream until they expire.',
    ];
    if (!isKnown && !isForgotten) assertKnown(mac, folder);
    context.stdout(...(isKnown ? revoked : [forgotten]));
    return EXIT.ok;
  });
}

export async function showFleet(
  options: FleetOptions & { readonly json?: boolean },
  context: ClientContext,
): Promise<number> {
  return reported(context, async () => {
    const { fleetStatus } = await import('./fleet-status-command.ts');
    return fleetStatus(FleetFolder.open(fleetPath(options, context)), options.json === true, context);
  });
}

export function fleetPath({ dir, configDir }: FleetOptions, { environment }: Context): string {
  return dir === undefined ? join(configFolder(configDir, environment), 'fleet') : resolve(dir);
}

function addresses(written: readonly string[]): readonly ServerAddress[] {
  const wrong = written.filter((one) => serverAddress(one) === undefined);
  if (wrong.length > 0) {
    throw new AppError('server_address', `--server ${wrong.join(', --server ')} cannot be used.`, {
      hint: 'It must be a host with or without a port, such as n1.example.net:4222. nats:// works only for this machine; TLS is required elsewhere.',
    });
  }
  const servers = written.flatMap((one) => serverAddress(one) ?? []);
  if (new Set(servers.map(({ url }) => url)).size < servers.length || servers.length === 2) {
    throw new AppError(
      'server_count',
      'A cluster needs at least three different servers. Two would both stop when either of them fails.',
    );
  }
  return servers;
}

type Streams = typeof streams;

async function withServers(
  folder: FleetFolder,
  work: (streams: Streams, jsm: Manager) => Promise<void>,
): Promise<void> {
  const { managerOf } = await import('../../../features/fleet/protocol/connect-once.ts');
  const { connectOperator } = await import('../../../features/fleet/setup/operator-connection.ts');
  const connection = await connectOperator(folder, 'operator');
  try {
    await work(await import('../../../features/fleet/protocol/streams.ts'), await managerOf(connection));
  } finally {
    await connection.close();
  }
}

/**
 * Creates the streams, buckets and queues that the servers lack. If `limits` has values, sets how many events are kept.
 */
async function createMissing(folder: FleetFolder, limits: InitOptions, context: Context): Promise<void> {
  if (folder.updateUsers()) context.stdout('users.conf has changed with this version of Postern.', ...reload(folder));
  await withServers(folder, async ({ createFleet, createMac, DEFAULT_SIZE, keepEvents, writePair }, jsm) => {
    await createFleet(jsm, { ...DEFAULT_SIZE, replicas: folder.servers.length >= 3 ? 3 : 1 });
    if (limits.keepHours !== undefined || limits.maxBytes !== undefined) await keepEvents(jsm, limits);
    for (const mac of folder.macs) await createMac(jsm, mac);
    for (const pair of folder.pairs) await writePair(jsm, pair);
  });
  const macs = folder.macs.length === 0 ? '' : `, and the queues of ${folder.macs.join(', ')}`;
  context.stdout(`The servers have all streams and buckets${macs}.`);
}

/**
 * Runs `work` on the servers, unless `offline`. If the servers are unreachable, only prints how to update them later,
 * because the fleet's files have already been changed.
 */
export async function onServers(
  { offline }: OneMacOptions,
  folder: FleetFolder,
  context: Context,
  work: (streams: Streams, jsm: Manager) => Promise<void>,
): Promise<void> {
  if (offline === true) return;
  try {
    await withServers(folder, work);
  } catch (error) {
    if (!isAppError(error)) throw error;
    context.stderr(error.message, 'Once the servers are running, type: postern fleet init --connect');
  }
}

export function assertNew(mac: string, folder: FleetFolder, remedy: string): void {
  if (!folder.macs.includes(mac)) return;
  throw new AppError('mac_known', `${mac} is in the fleet already. Nothing was changed.`, {
    hint: `If its machine was replaced: ${remedy}`,
  });
}

export function assertKnown(mac: string, folder: FleetFolder): void {
  if (folder.macs.includes(mac)) return;
  throw new AppError('mac_unknown', `There is no Mac ${mac} in this fleet.`, {
    hint: `Its Macs: ${folder.macs.join(', ') || 'none. postern fleet invite adds one'}.`,
  });
}

function introduction(
  folder: FleetFolder,
  servers: readonly ServerAddress[],
  options: FleetOptions,
  context: Context,
): readonly string[] {
  const program = programText(context);
  const folderOption = options.dir === undefined ? '' : ` --dir ${quoted(folder.path)}`;
  const files = servers.map((_, index) => serverFiles(index, servers.length).config);
  const isLocal = servers.every(({ isLoopback }) => isLoopback);
  return [
    `Wrote the keys of a new fleet to ${folder.path}. Keep that folder private: anyone who has it controls the fleet.`,
    '',
    `  server/    for the servers: ${files.join(', ')}, users.conf${isLocal ? '' : ', tls/'}`,
    `  hub/       for every hub: ${Object.values(MEMBER_FILES)
      .slice(0, folder.hasAuthority ? 3 : 2)
      .join(', ')}`,
    '  macs/      one folder for each Mac that is added',
    '  operator/  stays here',
    ...(isLocal || folder.hasAuthority
      ? []
      : [
          '',
          `Put a certificate and its key for each server into ${join(folder.path, 'server/tls')}:`,
          ...servers.map(({ host }, index) => {
            const { certificate, key } = serverFiles(index, servers.length);
            return `  ${certificate} and ${key} for ${host}`;
          }),
          '  tls/ca.pem, the certificate of the authority that signed them',
        ]),
    '',
    'Next:',
    ...(isLocal ? [] : ['  copy server/ to each server, and run there:']),
    ...files.map(
      (file) => `  cd ${isLocal ? quoted(join(folder.path, 'server')) : 'server'} && nats-server -c ${file}`,
    ),
    ...(isLocal ? [] : ['  then run here again:']),
    `  ${program} fleet init${folderOption} --connect`,
    `  ${program} fleet invite${folderOption} m1`,
    '',
    'Put this section into config.toml of each hub, with the path of the files on that hub:',
    '',
    ...fleetSection(folder, folder.memberFolder('hub')),
  ];
}

function joining(mac: string, folder: FleetFolder): readonly string[] {
  return [
    `Wrote the key of ${mac} to ${folder.memberFolder({ mac })}. Copy that folder to the Mac, as`,
    `  ${MAC_FOLDER}`,
    'and make this the section [fleet] of config.toml on the Mac:',
    '',
    ...fleetSection(folder, MAC_FOLDER, mac),
  ];
}

export function reload(folder: FleetFolder): readonly string[] {
  return [
    `The servers must read ${join(folder.path, 'server/users.conf')} again. Copy it to each server, and run there:`,
    '  nats-server --signal reload',
  ];
}

export function today(): string {
  return isoSecond(systemClock.now());
}

/**
 * Runs `work` and returns its exit code. For an AppError, prints its message and hint, and returns the error's exit
 * code.
 */
export async function reported(context: Context, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!isAppError(error)) throw error;
    context.stderr(error.message, ...(error.hint === undefined ? [] : [`  ${error.hint}`]));
    return EXIT_CODES[error.code] ?? EXIT.refusedInput;
  }
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  broker_away: EXIT.unavailable,
  invitation_ended: EXIT.unavailable,
  certificates_not_made: EXIT.crash,
};
