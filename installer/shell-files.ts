import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../src/core/model/errors.ts';
import { type Layout, layoutOf } from './install-layout.ts';
import { installLine } from './install-line.ts';
import type { Machine } from './machine.ts';

/**
 * The manual page and the completions. Keys are the paths, below a prefix such as /usr/local, where man and shells look
 * for them. Values are paths below a version's folder.
 */
export const SHARED_FILES: Readonly<Record<string, string>> = {
  'share/man/man1/postern.1': 'dist/postern.1',
  'share/zsh/site-functions/_postern': 'dist/src/features/shell/completions/_postern',
  'share/bash-completion/completions/postern': 'dist/src/features/shell/completions/postern.bash',
  'share/fish/vendor_completions.d/postern.fish': 'dist/src/features/shell/completions/postern.fish',
};
const COMMAND = join('bin', 'postern');

/**
 * Returns the links to create. Each is a pair: the link's path below a prefix, and its target. No update needs to
 * change the links: the command has a fixed path, and all other targets lead through `current`.
 */
function linksOf(layout: Layout): readonly (readonly [string, string])[] {
  const shared = Object.entries(SHARED_FILES).map(([link, file]) => [link, join(layout.current, file)] as const);
  return [[COMMAND, layout.command], ...shared];
}

/**
 * Creates links to `postern`, its manual page and its completions in the folders where man and shells look. Replaces no
 * file that Postern did not make. Prints failures, but throws none of them.
 */
export function linkShellFiles(machine: Machine, layout: Layout): void {
  const prefix = prefixFor(machine);
  for (const [name, target] of linksOf(layout)) {
    const link = join(prefix, name);
    try {
      if (isForeign(link, target)) {
        if (npmPackageOf(link) === undefined) machine.stdout(`Postern did not make ${link} and leaves it alone.`);
        continue;
      }
      mkdirSync(dirname(link), { recursive: true });
      rmSync(link, { force: true });
      symlinkSync(target, link);
    } catch (error) {
      machine.stdout(`${link} could not be created (${errorCode(error) ?? String(error)}).`);
    }
  }
  const found = commandOnPath(machine);
  if (found?.isOurs === true) machine.stdout(`The command: postern (${found.path})`);
  else if (found?.npmVersion !== undefined) machine.stdout(`The command: postern (${found.path}). ${OF_NPM}`);
  else machine.stdout(`The command: ${join(prefix, COMMAND)}. ${pathAdvice(machine, layout)}`);
  if (isOwn(prefix, machine)) {
    machine.stdout(
      `Completion in zsh: put this into ~/.zshrc, before compinit: fpath=("${shown(prefix, machine)}/share/zsh/site-functions" $fpath)`,
    );
  }
}

/**
 * Removes Postern's links, and the folders below the home folder that are empty afterwards. Returns one line for each
 * link that could not be removed.
 */
export function unlinkShellFiles(machine: Machine, layout: Layout): readonly string[] {
  const left: string[] = [];
  for (const prefix of machine.prefixes) {
    for (const [name, target] of linksOf(layout)) {
      const link = join(prefix, name);
      if (!isThere(link) || isForeign(link, target)) continue;
      try {
        rmSync(link);
      } catch (error) {
        left.push(`${link}: ${error instanceof Error ? error.message : String(error)}. Remove it yourself.`);
      }
      if (isOwn(prefix, machine)) removeEmpty(dirname(link), machine.home);
    }
  }
  return left;
}

export interface FoundCommand {
  readonly path: string;
  /** True for the link that an installation creates. */
  readonly isOurs: boolean;
  /** Version of the npm package, if `npm install -g` linked the command. */
  readonly npmVersion: string | undefined;
}

/** Finds the `postern` that a shell would run. */
export function commandOnPath({ path, home }: Machine): FoundCommand | undefined {
  const { command } = layoutOf(home);
  const found = path.map((folder) => join(folder, 'postern')).find((file) => existsSync(file));
  if (found === undefined) return undefined;
  return { path: found, isOurs: found === command || !isForeign(found, command), npmVersion: npmPackageOf(found) };
}

export const OF_NPM = 'npm installed this command. After each `npm install -g`, run: postern install';

/** Returns the version of the npm package that a link leads into; undefined for any other file. */
function npmPackageOf(link: string): string | undefined {
  try {
    const [, root] = /^(.*\/node_modules\/postern)\//.exec(realpathSync(link)) ?? [];
    if (root === undefined) return undefined;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version?: unknown };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns what a user types for the installed command: its name, or its path if shells may not find it. Homebrew and
 * macOS put the other prefixes on the PATH, but not the one below the home folder.
 */
export function shellCommand(machine: Machine, { command }: Layout): string {
  if (commandOnPath(machine)?.isOurs === true) return 'postern';
  const links = machine.prefixes.map((prefix) => join(prefix, COMMAND));
  const link = links.find((one) => isThere(one) && !isForeign(one, command));
  if (link === undefined) return command;
  return link.startsWith(machine.home) ? link : 'postern';
}

/** Returns the sentence that tells the user how to get `postern` onto the PATH. */
export function pathAdvice(machine: Machine, layout: Layout): string {
  const prefix = machine.prefixes.find(
    (one) => !isForeign(join(one, COMMAND), layout.command) && isThere(join(one, COMMAND)),
  );
  if (prefix === undefined) return `Run: ${installLine()}`;
  return `To have it on the PATH, put this into ~/.zshrc: export PATH="${shown(join(prefix, 'bin'), machine)}:$PATH"`;
}

function shown(path: string, { home }: Machine): string {
  return path.startsWith(`${home}/`) ? `$HOME${path.slice(home.length)}` : path;
}

/** Returns the first prefix whose `bin` is writable and on PATH, otherwise the last prefix. */
function prefixFor({ prefixes, path }: Machine): string {
  const usable = prefixes.find((prefix) => path.includes(join(prefix, 'bin')) && isWritable(join(prefix, 'bin')));
  return usable ?? prefixes.at(-1) ?? '/usr/local';
}

function isOwn(prefix: string, { home }: Machine): boolean {
  return prefix.startsWith(`${home}/`);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isForeign(link: string, target: string): boolean {
  const found = lstatSync(link, { throwIfNoEntry: false });
  return found !== undefined && (!found.isSymbolicLink() || readlinkSync(link) !== target);
}

function removeEmpty(folder: string, home: string): void {
  for (let one = folder; one !== home && one.startsWith(`${home}/`); one = dirname(one)) {
    try {
      rmdirSync(one);
    } catch {
      return;
    }
  }
}
