import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ClientContext, type CommonOptions, EXIT } from '../../../core/cli/context.ts';
import { readConfig, replaceFile } from '../../../core/config/config-file.ts';
import { configFolder } from '../../../core/config/environment.ts';
import { AppError, isAppError } from '../../../core/model/errors.ts';
import { type Membership, membershipLine, parseMembership, readMembership } from '../protocol/membership.ts';
import { hubName, inboxPrefix } from '../protocol/subjects.ts';
import { writeFleetFile } from './config-section.ts';

interface JoinOptions extends CommonOptions {
  readonly file?: string;
}

/** `postern fleet join`: makes this machine what the line says, and tells whether the servers let it in. */
export async function joinFleet(options: JoinOptions, context: ClientContext): Promise<number> {
  const { environment, stdout } = context;
  const folder = configFolder(options.configDir, environment);
  const known = ownFile(folder, context);
  const membership = parseMembership(await lineOf(options, context));
  assertSame(known, membership);
  const files = join(folder, 'fleet');
  mkdirSync(files, { recursive: true, mode: 0o700 });
  const file = known ?? join(files, 'member.line');
  replaceFile(file, `${membershipLine(membership)}\n`);
  const mistakes = writeFleetFile(folder, file, environment);
  if (mistakes.length > 0) throw unwritten(folder, mistakes);
  const name = membership.member ?? 'a hub';
  stdout(`This machine is ${name} of the fleet at ${membership.servers.join(', ')}; config.toml says so in [fleet].`);
  const refusal = await refusalOf(membership);
  stdout(
    refusal === undefined
      ? 'The servers let it in. Restart Postern (on a Mac: postern restart).'
      : `The servers do not let it in yet (${refusal}). Have they reloaded users.conf? Then restart Postern.`,
  );
  return EXIT.ok;
}

/** Returns the file that the configuration names; undefined if this machine is in no fleet. */
function ownFile(folder: string, { environment }: ClientContext): string | undefined {
  const reading = readConfig(folder, environment);
  if (reading.state === 'absent') {
    throw new AppError('no_configuration', `There is no ${reading.path}.`, {
      hint: 'Install Postern first, or start it once: postern serve, or at a hub postern hub, writes that file. --config-dir names another folder.',
    });
  }
  if (reading.state === 'unusable') throw unwritten(folder, reading.mistakes);
  const file = reading.config.features.fleet?.file;
  return typeof file === 'string' && file !== '' ? file : undefined;
}

/** A machine changes its line, but not by accident its name. */
function assertSame(file: string | undefined, { member }: Membership): void {
  if (file === undefined) return;
  let known: Membership;
  try {
    known = readMembership(file);
  } catch (error) {
    if (isAppError(error)) return;
    throw error;
  }
  if (known.member === member) return;
  throw new AppError(
    'in_a_fleet',
    `This machine is already ${known.member ?? 'a hub'} in a fleet. Nothing was changed.`,
    {
      hint: 'To join as another, first remove the section [fleet] from config.toml.',
    },
  );
}

async function lineOf({ file }: JoinOptions, context: ClientContext): Promise<string> {
  if (file === undefined) return context.secretLine('Line of the fleet (hidden as you type): ');
  try {
    return readFileSync(resolve(file), 'utf8');
  } catch (error) {
    throw new AppError('fleet_line_unusable', `The line cannot be read (${(error as Error).message}).`);
  }
}

async function refusalOf(membership: Membership): Promise<string | undefined> {
  const { connectOnce } = await import('../protocol/connect-once.ts');
  const name = membership.member ?? hubName('join');
  try {
    const connection = await connectOnce({ ...membership, name, inboxPrefix: inboxPrefix(name) });
    await connection.close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function unwritten(folder: string, mistakes: readonly string[]): AppError {
  return new AppError('configuration_unusable', `config.toml in ${folder} cannot be used: ${mistakes.join(' ')}`, {
    hint: 'Correct config.toml, then run the command again.',
  });
}
