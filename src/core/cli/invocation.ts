import { basename, delimiter, dirname, resolve, sep } from 'node:path';
import { type Context, quoted } from './context.ts';
import type { ConnectionOptions } from './service-connection.ts';

/** Returns the command line that starts this program from a shell in any folder. */
export function programText({ environment }: Context): string {
  const path = script();
  if (basename(path) === 'postern') {
    // Ignores a folder that npx added to PATH, because other terminals do not have it.
    const isOnPath = (environment.env.PATH ?? '').split(delimiter).includes(dirname(path));
    return isOnPath && !path.includes(`${sep}_npx${sep}`) ? 'postern' : quoted(path);
  }
  const runtime = basename(process.execPath);
  const isUsual = runtime === 'node' || runtime === 'bun';
  return `${isUsual ? runtime : quoted(process.execPath)} ${quoted(path)}`;
}

/** Commands that work on this machine, and therefore do not take --url. */
const ON_THIS_MACHINE = /^(?:doctor|config|serve|hub)\b/;

/**
 * Completes each command in backticks, such as `postern keys list`, so that a user can copy and run it. The completed
 * command starts this program by its path where necessary, and selects the same service. `space` separates the
 * command's words.
 */
export function copyable(
  text: string,
  { demo, configDir, url }: ConnectionOptions,
  context: Context,
  space = ' ',
): string {
  const folderOptions = [
    ...(demo === true ? ['--demo'] : []),
    ...(configDir === undefined ? [] : ['--config-dir', quoted(resolve(configDir))]),
  ];
  return text.replaceAll(/`postern ([^`]+)`/g, (_found, words: string) => {
    const address = url === undefined || ON_THIS_MACHINE.test(words) ? [] : ['--url', quoted(url)];
    return [programText(context), words, ...address, ...folderOptions].join(' ').replaceAll(' ', space);
  });
}

/** A command line for programs that start it without a shell, and perhaps without a PATH. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns the command line that runs the command `name` with the service that `options` select. */
export function invocationOf(name: string, options: ConnectionOptions, { environment }: Context): Invocation {
  const { env } = environment;
  // Ignores POSTERN_URL if an option names the configuration, because a configuration selects its own service.
  const isNamed = options.demo === true || options.configDir !== undefined;
  const url = options.url ?? (isNamed ? undefined : env.POSTERN_URL || undefined);
  const folder = options.configDir ?? env.POSTERN_CONFIG_DIR;
  const args = [
    script(),
    name,
    ...(url === undefined ? [] : ['--url', url]),
    ...(options.demo === true ? ['--demo'] : []),
    ...(folder === undefined ? [] : ['--config-dir', resolve(folder)]),
  ];
  return { command: process.execPath, args };
}

function script(): string {
  return resolve(process.argv[1] ?? 'postern');
}
