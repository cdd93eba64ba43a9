import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { type Invitation, joinFleet, readToken } from '../../../features/fleet/setup/invitation.ts';
import { writeMemberFiles } from '../../../features/fleet/setup/member-files.ts';
import { readConfig } from '../../config/config-file.ts';
import { configFolder } from '../../config/environment.ts';
import { writeFleetSection } from '../../config/fleet-section.ts';
import { AppError } from '../../model/errors.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import { pause, systemClock } from '../../runtime/clock.ts';
import { type ClientContext, type CommonOptions, EXIT } from '../context.ts';
import { fleetSection } from '../fleet-section.ts';
import { reported } from './fleet-commands.ts';

const WAIT_MS = 15 * 60_000;
const TRY_EVERY_MS = 1000;

interface JoinOptions extends CommonOptions {
  readonly tokenFile?: string;
}

/** `postern fleet join`: makes this machine a Mac of a fleet, and waits until the servers admit it. */
export function joinAsMac(options: JoinOptions, context: ClientContext): Promise<number> {
  const { environment, stdout } = context;
  const folder = configFolder(options.configDir, environment);
  return reported(context, async () => {
    assertFree(folder, context);
    const invitation = readToken(await tokenText(options, context));
    const { mac, servers, authority = '' } = invitation;
    const files = join(folder, 'fleet');
    const isConfirmed = await joinFleet(invitation, hostname(), ({ seed, content, contentKeys }) => {
      writeMemberFiles(files, { key: `${seed}\n`, content: contentKeys, authority });
      const section = fleetSection({ servers, content, hasAuthority: authority !== '' }, files, mac);
      const mistakes = writeFleetSection(folder, section, environment);
      if (mistakes.length > 0) throw unwritten(folder, mistakes);
    });
    stdout(
      `The keys of ${mac} for the fleet at ${servers.join(', ')} are now in ${files}.`,
      'config.toml has its section [fleet].',
      ...(isConfirmed
        ? []
        : [
            'The inviting machine has not confirmed that this machine has joined. Look at its terminal. Unless it says',
            `"has joined as ${mac}" there, remove the section [fleet] from config.toml here, and join with another token.`,
          ]),
      'Waiting until the servers have reloaded users.conf. The inviting machine shows the command for that.',
      isConfirmed ? 'Ctrl+C only stops waiting: the Mac has already joined.' : 'Ctrl+C only stops waiting.',
    );
    return await untilAdmitted(folder, invitation, context);
  });
}

/** Throws if config.toml is missing or unusable, or already names a fleet. */
function assertFree(folder: string, { environment }: ClientContext): void {
  const reading = readConfig(folder, environment);
  if (reading.state === 'absent') {
    throw new AppError('no_configuration', `There is no ${reading.path}.`, {
      hint: 'Install Postern first, or start it once: postern serve writes that file. --config-dir names another folder.',
    });
  }
  if (reading.state === 'unusable') throw unwritten(folder, reading.mistakes);
  const { fleet } = reading.config;
  if (fleet === undefined) return;
  throw new AppError('in_a_fleet', `This machine is already ${fleet.mac === '' ? 'a Mac' : fleet.mac} in a fleet.`, {
    hint: `To join again, first remove the section [fleet] with all its lines from ${reading.path}.`,
  });
}

function unwritten(folder: string, mistakes: readonly string[]): AppError {
  return new AppError('configuration_unusable', `config.toml in ${folder} cannot be used: ${mistakes.join(' ')}`, {
    hint: 'This machine has not joined. Fix config.toml, then run the command again.',
  });
}

async function tokenText({ tokenFile }: JoinOptions, context: ClientContext): Promise<string> {
  if (tokenFile === undefined) return context.secretLine('Token (hidden as you type): ');
  try {
    return readFileSync(resolve(tokenFile), 'utf8');
  } catch (error) {
    throw new AppError('token_unusable', `The token cannot be read (${(error as Error).message}).`);
  }
}

async function untilAdmitted(folder: string, { mac }: Invitation, context: ClientContext): Promise<number> {
  const reading = readConfig(folder, context.environment);
  const settings: FleetSettings | undefined = reading.state === 'usable' ? reading.config.fleet : undefined;
  const { examineFleet } = await import('../../../features/fleet/protocol/examine.ts');
  const ended = context.untilEnded();
  const until = systemClock.monotonic() + WAIT_MS;
  while (settings !== undefined && !ended.aborted && systemClock.monotonic() < until) {
    const { files, refusal } = await examineFleet(settings, { mac });
    if (files.length === 0 && refusal === undefined) {
      context.stdout(
        `The servers let ${mac} in. To take part in the fleet, restart Postern (on a Mac: postern restart).`,
      );
      return EXIT.ok;
    }
    await pause(systemClock, TRY_EVERY_MS, ended);
  }
  context.stderr(`The servers do not let ${mac} in yet. To check later, run: postern doctor`);
  return EXIT.timedOut;
}
