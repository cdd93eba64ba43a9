import { join, resolve } from 'node:path';
import type { ClientContext } from '../../../core/cli/client-context.ts';
import { type CommonOptions, type Context, EXIT } from '../../../core/cli/context.ts';
import { programText } from '../../../core/cli/invocation.ts';
import { configFolder } from '../../../core/config/environment.ts';
import { quoted } from '../../../core/model/command-words.ts';
import { AppError, isAppError } from '../../../core/model/errors.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { commandRunner, type RunCommand } from '../../../core/runtime/command.ts';
import { type ServerAddress, serverAddress } from './addresses.ts';
import { FleetFolder } from './fleet-folder.ts';
import { serverFiles } from './server-config.ts';

export interface FleetOptions extends CommonOptions {
  readonly dir?: string;
}

interface InitOptions extends FleetOptions {
  readonly server?: readonly string[];
  readonly serverVersion?: string;
  readonly connect?: boolean;
  readonly keepHours?: number;
}

const KEEP_HOURS = 7 * 24;
const NEWEST = '2.12';

/** `postern fleet init`: writes the keys of a new fleet; with --connect, makes what the servers of one lack. */
export async function initFleet(options: InitOptions, context: ClientContext): Promise<number> {
  const path = fleetPath(options, context);
  if (options.connect === true) {
    const folder = FleetFolder.open(path);
    if (options.keepHours !== undefined) folder.keepEvents(options.keepHours);
    if (folder.rewrite()) context.stdout(...reload(folder));
    await createMissing(folder);
    context.stdout('The servers have all streams and buckets.');
    return EXIT.ok;
  }
  const servers = addresses(options.server ?? ['127.0.0.1']);
  const run = commandRunner(context.environment.env);
  const isHere = isLocal(servers.map(({ url }) => url));
  const fleet = {
    servers,
    serverVersion: options.serverVersion ?? (isHere ? await versionHere(run) : NEWEST),
    keepHours: options.keepHours ?? KEEP_HOURS,
  };
  const folder = await FleetFolder.create(path, fleet, run);
  context.stdout(...introduction(folder, servers, options, context));
  return EXIT.ok;
}

/** `postern fleet add`: prints the line alone on stdout, so that it can be piped, and the rest on stderr. */
export async function addMac(member: string, options: FleetOptions, context: ClientContext): Promise<number> {
  const folder = FleetFolder.open(fleetPath(options, context));
  const isNew = !folder.macs.includes(member);
  context.stdout(folder.addMac(member));
  context.stderr(
    `This line makes a machine ${member}. It is a password: keep it secret until "postern fleet revoke ${member}".`,
    `On the Mac, run: postern fleet join`,
    ...(isNew ? reload(folder) : []),
  );
  try {
    await createMissing(folder);
  } catch (error) {
    if (!isAppError(error)) throw error;
    context.stderr(error.message, 'Once the servers run, type: postern fleet init --connect');
  }
  return EXIT.ok;
}

/** `postern fleet revoke`: takes a member's user away. */
export async function revokeMac(member: string, options: FleetOptions, context: ClientContext): Promise<number> {
  const folder = FleetFolder.open(fleetPath(options, context));
  if (!folder.macs.includes(member)) {
    throw new AppError('mac_unknown', `There is no Mac ${member} in this fleet.`, {
      hint: `Its Macs: ${folder.macs.join(', ') || 'none. postern fleet add adds one'}.`,
    });
  }
  folder.removeMac(member);
  context.stdout(
    `${member} is no longer a user of the servers, and its line was deleted here.`,
    ...reload(folder),
    `Until they have reloaded, ${member} keeps working. Its events stay in the stream until they expire.`,
  );
  return EXIT.ok;
}

/** `postern fleet renew`: makes new certificates, or takes the next step to a new content key. */
export async function renewFleet(
  options: FleetOptions & { readonly contentKey?: boolean; readonly now?: boolean },
  context: ClientContext,
): Promise<number> {
  const folder = FleetFolder.open(fleetPath(options, context));
  if (options.contentKey === true) {
    const said = {
      added: 'Step 1 of 3: there is a new key. Nothing is sealed with it yet.',
      switched: 'Step 2 of 3: the new key is used from now on. The old one still opens what is in the stream.',
      ended: 'Step 3 of 3: the old key is gone.',
    }[folder.rotateKey(systemClock.now(), options.now)];
    context.stdout(
      said,
      `Join again at every hub, with ${folder.hubLine}, and at every Mac, with "postern fleet add".`,
    );
    return EXIT.ok;
  }
  const ends = await folder.renewCertificates(commandRunner(context.environment.env));
  context.stdout(
    ...ends.map(({ file, end }) => `${file} is valid until ${isoSecond(end).slice(0, 10)}.`),
    `Copy ${join(folder.path, 'server/tls')} to each server, and run there:`,
    '  nats-server --signal reload',
    'Macs and hubs need no change.',
  );
  return EXIT.ok;
}

export function fleetPath({ dir, configDir }: FleetOptions, { environment }: Context): string {
  return dir === undefined ? join(configFolder(configDir, environment), 'fleet') : resolve(dir);
}

/** The NATS client is loaded only here, because most commands only write files. */
async function createMissing(folder: FleetFolder): Promise<void> {
  const { connectOperator, managerOf } = await import('./connections.ts');
  const { createFleet } = await import('./streams.ts');
  const connection = await connectOperator(folder, 'operator');
  try {
    await createFleet(await managerOf(connection), folder.size);
  } finally {
    await connection.close();
  }
}

function addresses(written: readonly string[]): readonly ServerAddress[] {
  const servers = written.map((one) => {
    const address = serverAddress(one);
    if (address !== undefined) return address;
    throw new AppError('server_address', `--server ${one} cannot be used.`, {
      hint: 'It must be a host with or without a port, such as n1.example.net:4222. nats:// works only for this machine; TLS is required elsewhere.',
    });
  });
  if (new Set(servers.map(({ url }) => url)).size < servers.length || ![1, 3].includes(servers.length)) {
    throw new AppError('server_count', 'A fleet has one server, or a cluster of three different ones.');
  }
  return servers;
}

function introduction(
  folder: FleetFolder,
  servers: readonly ServerAddress[],
  options: InitOptions,
  context: Context,
): readonly string[] {
  const program = programText(context);
  const dir = options.dir === undefined ? '' : ` --dir ${quoted(folder.path)}`;
  const files = servers.map((_, index) => serverFiles(index, servers.length));
  const isHere = isLocal(folder.servers);
  return [
    `Wrote the keys of a new fleet to ${folder.path}. Keep that folder private: whoever has it controls the fleet.`,
    '',
    `  server/    for the servers: ${files.map(({ config }) => config).join(', ')}, users.conf${isHere ? '' : ', tls/'}`,
    '  hub.line   for every hub, which joins with: postern fleet join --hub --file hub.line',
    '  operator/  stays here',
    ...(isHere ? ['', 'No certificates: only this machine reaches a server at this address.'] : []),
    '',
    'Next:',
    ...(isHere ? [] : ['  copy server/ to each server, and run there:']),
    ...files.map(
      ({ config }) => `  cd ${isHere ? quoted(join(folder.path, 'server')) : 'server'} && nats-server -c ${config}`,
    ),
    `  ${program} fleet add${dir} m1`,
  ];
}

/** Reports whether the servers are on this machine, which alone are reached without TLS. */
function isLocal(urls: readonly string[]): boolean {
  return urls.every((url) => url.startsWith('nats:'));
}

/** Returns the version of this machine's nats-server, such as 2.9.10. */
async function versionHere(run: RunCommand): Promise<string> {
  const { stdout } = await run('nats-server', ['--version']);
  return /\bv(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? NEWEST;
}

function reload(folder: FleetFolder): readonly string[] {
  const file = join(folder.path, 'server/users.conf');
  return [
    isLocal(folder.servers)
      ? `The servers must read ${file} again:`
      : `The servers must read ${file} again. Copy it to each server, and run there:`,
    '  nats-server --signal reload',
  ];
}
