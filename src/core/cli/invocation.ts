import { basename, delimiter, dirname, resolve, sep } from 'node:path';
import { layoutOf } from '../../../installer/install-layout.ts';
import { shellCommand } from '../../../installer/shell-files.ts';
import { configFolder } from '../config/environment.ts';
import { commandLine, quoted, withCommands } from '../model/command-words.ts';
import type { ConnectionOptions } from './context.ts';
import { type Context, folderOf, namedUrl } from './context.ts';
import { thisMachine } from './this-machine.ts';

/** Returns the command line that starts this program from a shell in any folder. */
export function programText(context: Context, path = script()): string {
  const { environment } = context;
  if (basename(path) === 'postern') {
    // Ignores a folder that npx added to PATH, because other terminals do not have it.
    const isOnPath = (environment.env.PATH ?? '').split(delimiter).includes(dirname(path));
    return isOnPath && !path.includes(`${sep}_npx${sep}`) ? 'postern' : quoted(path);
  }
  const layout = layoutOf(environment.homeFolder);
  if (path === layout.main) return quoted(shellCommand(thisMachine(context), layout));
  const runtime = basename(process.execPath);
  const isUsual = runtime === 'node' || runtime === 'bun';
  return `${isUsual ? runtime : quoted(process.execPath)} ${quoted(path)}`;
}

/**
 * Returns the options with which commands select the service in this folder. Ignores POSTERN_CONFIG_DIR, because other
 * terminals do not have it.
 */
export function folderOptions(dir: string, { environment }: Context): string {
  const { env, ...rest } = environment;
  const usual = configFolder(undefined, { ...rest, env: { ...env, POSTERN_CONFIG_DIR: undefined } });
  return dir === usual ? '' : `--config-dir ${quoted(dir)}`;
}

/** Commands that work on this machine, and therefore do not take --url. */
const ON_THIS_MACHINE = /^(?:doctor|config|serve|hub)\b/;

/**
 * Completes each command in backticks or double quotes, such as `postern keys list`, so that a user can copy and run
 * it. The completed command starts this program by its path where necessary, and selects the same service. `space`
 * separates the command's words.
 */
export function copyable(
  text: string,
  { demo, configDir, url }: ConnectionOptions,
  context: Context,
  space = ' ',
): string {
  const folder = [
    ...(demo === true ? ['--demo'] : []),
    ...(configDir === undefined ? [] : ['--config-dir', quoted(resolve(configDir))]),
  ];
  const cli = { program: programText(context), options: folder.join(' ') };
  return withCommands(text, (words) => {
    const address = url === undefined || ON_THIS_MACHINE.test(words) ? '' : ` --url ${quoted(url)}`;
    return commandLine(cli, `${words}${address}`).replaceAll(' ', space);
  });
}

/** A command line for programs that start it without a shell, and perhaps without a PATH. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns the command line that runs the command `name` with the service that `options` select. */
export function invocationOf(name: string, options: ConnectionOptions, context: Context): Invocation {
  const { env } = context.environment;
  const url = namedUrl(options, context);
  const isElsewhere = options.configDir !== undefined || Boolean(env.POSTERN_CONFIG_DIR);
  const args = [
    script(),
    name,
    ...(url === undefined ? [] : ['--url', url]),
    ...(options.demo === true ? ['--demo'] : []),
    ...(isElsewhere ? ['--config-dir', folderOf(options, context)] : []),
  ];
  return { command: process.execPath, args };
}

function script(): string {
  return resolve(process.argv[1] ?? 'postern');
}
