import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ClientContext } from '../../../core/cli/client-context.ts';
import { type CommonOptions, EXIT } from '../../../core/cli/context.ts';
import {
  type ConfigReading,
  checkConfigText,
  configPath,
  createConfig,
  readConfig,
} from '../../../core/config/config-file.ts';
import { configFolder, type Environment } from '../../../core/config/environment.ts';
import { quoted } from '../../../core/model/command-words.ts';
import { AppError, isAppError } from '../../../core/model/errors.ts';
import { replaceFile } from '../../../core/runtime/whole-file.ts';
import { hubApiKey, type Membership, membershipLine, parseMembership, readMembership } from '../protocol/membership.ts';

interface JoinOptions extends CommonOptions {
  readonly file?: string;
  readonly hub?: boolean;
}

/**
 * `postern fleet join`: makes this machine what the line says, and tells whether the servers let it in. A hub needs no
 * configuration before: this writes one, with the `api_key` that all hubs of the fleet have.
 */
export async function joinFleet(options: JoinOptions, context: ClientContext): Promise<number> {
  const { environment, stdout } = context;
  const { hub: isHub = false } = options;
  const folder = configFolder(options.configDir, environment);
  const reading = readConfig(folder, environment);
  const known = ownFile(reading);
  if (reading.state === 'absent' && !isHub) throw notInstalled(reading.path);
  const membership = parseMembership(await lineOf(options, context));
  assertKind(membership, options, folder);
  assertSame(known, membership);
  const files = join(folder, 'fleet');
  mkdirSync(files, { recursive: true, mode: 0o700 });
  const file = known ?? join(files, 'member.line');
  replaceFile(file, `${membershipLine(membership)}\n`);
  if (reading.state === 'absent') {
    const values = new Map([
      ['auth.api_key', hubApiKey(membership)],
      ['fleet.file', file],
    ]);
    const written = createConfig(folder, environment, values);
    if (written.state === 'unusable') throw unwritten(folder, written.mistakes);
    stdout(`Wrote ${reading.path}, with the api_key that every hub with this line gets.`);
  } else if (known === undefined) {
    const mistakes = nameInConfig(folder, file, environment);
    if (mistakes.length > 0) throw unwritten(folder, mistakes);
  }
  const name = membership.member ?? 'a hub';
  stdout(`This machine is ${name} of the fleet at ${membership.servers.join(', ')}; config.toml says so in [fleet].`);
  const isUsual = folder === configFolder(undefined, environment);
  const next = isHub
    ? `Start or restart it: postern hub --config-dir ${quoted(folder)}`
    : `Restart Postern${isUsual ? ': postern restart' : ` in ${folder}.`}`;
  const refusal = await refusalOf(membership);
  stdout(
    refusal === undefined
      ? `The servers let it in. ${next}`
      : `The servers do not let it in yet (${refusal}). Have they reloaded users.conf? Then: ${next}`,
  );
  return EXIT.ok;
}

/** Returns the file that the configuration names; undefined if this machine is in no fleet. */
function ownFile(reading: ConfigReading): string | undefined {
  if (reading.state === 'unusable') throw unwritten(dirname(reading.path), reading.mistakes);
  const file = reading.state === 'usable' ? reading.config.features.fleet?.file : undefined;
  return typeof file === 'string' && file !== '' ? file : undefined;
}

function notInstalled(path: string): AppError {
  return new AppError('no_configuration', `There is no ${path}.`, {
    hint: 'Install Postern on this Mac first, or start it once with "postern serve": that writes the file. --config-dir names another folder.',
  });
}

/** A hub that got the line of a Mac would start as nothing, and a Mac with the line of the hubs would have all keys. */
function assertKind({ member }: Membership, { hub: isHub = false }: JoinOptions, folder: string): void {
  if (member !== undefined && isHub) {
    throw new AppError('fleet_line_of_a_mac', `This is the line of the Mac ${member}, not of the hubs.`, {
      hint: 'A hub joins with hub.line, from the folder of the fleet. On the Mac, leave out --hub.',
    });
  }
  if (member === undefined && (!isHub || existsSync(join(folder, 'state.db')))) {
    const where = isHub ? `, and ${folder} is the folder of a Mac` : '';
    throw new AppError('fleet_line_of_a_hub', `This is the line of the hubs${where}.`, {
      hint: isHub
        ? 'Name the folder of the hub with --config-dir.'
        : 'At a hub, add --hub. A Mac joins with the line that "postern fleet add" prints.',
    });
  }
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
  const { connectAs } = await import('./connections.ts');
  try {
    await (await connectAs(membership, 'join')).close();
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

/**
 * Adds `fleet.file` to config.toml, and keeps the rest. Returns the mistakes that prevented it; empty after success.
 */
function nameInConfig(folder: string, file: string, environment: Environment): readonly string[] {
  try {
    // If config.toml is a symbolic link, replaces its target and keeps the link.
    const path = realpathSync(configPath(folder));
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
    const changed = withSetting(text, `file = ${JSON.stringify(file)}`);
    const checked = checkConfigText(changed, folder, environment);
    if ('mistakes' in checked) return checked.mistakes;
    if (checked.config.features.fleet?.file !== file) {
      return ['Its section [fleet] is written in a way that Postern cannot edit.'];
    }
    replaceFile(path, changed);
    return [];
  } catch (error) {
    return [`It cannot be written (${(error as Error).message}).`];
  }
}

/** Returns the text of config.toml with this line in its section [fleet], in place of one that sets `file` to "". */
function withSetting(text: string, line: string): string {
  const lines = text.split('\n');
  const header = lines.findIndex((one) => one.startsWith('[fleet]'));
  if (header < 0) return `${text.trimEnd()}\n\n[fleet]\n${line}\n`;
  const next = lines.findIndex((one, at) => at > header && one.startsWith('['));
  const end = next < 0 ? lines.length : next;
  const empty = lines.findIndex((one, at) => at > header && at < end && /^file[ \t]*=[ \t]*(?:""|'')/.test(one));
  lines.splice(empty < 0 ? header + 1 : empty, empty < 0 ? 0 : 1, line);
  return lines.join('\n');
}
