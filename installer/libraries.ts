import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { AppError, errorCode } from '../src/core/model/errors.ts';
import type { Layout } from './install-layout.ts';
import type { Machine } from './machine.ts';

/** The files that `npm ci` reads. */
const DESCRIPTION = ['package.json', 'package-lock.json', '.npmrc'];
const INSTALL_LIMIT_MS = 15 * 60_000;

/**
 * Installs the libraries of the project in `folder` with the private Node. Downloads no prebuilt binaries: native
 * libraries are built from source if `isCompiling`, else left out.
 */
export async function installLibraries(
  machine: Machine,
  layout: Layout,
  folder: string,
  isCompiling: boolean,
): Promise<void> {
  const workshop = mkdtempSync(join(folderWithoutSpaces(machine), 'postern-libraries-'));
  try {
    for (const file of DESCRIPTION) copyFileSync(join(folder, file), join(workshop, file));
    await runNpm(machine, layout, workshop, isCompiling);
    removeSourceMaps(join(workshop, 'node_modules'));
    move(join(workshop, 'node_modules'), join(folder, 'node_modules'));
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/**
 * Returns a folder without spaces in its path, because the makefiles of native libraries fail in a folder such as
 * `Application Support`.
 */
function folderWithoutSpaces({ temporaryFolder }: Machine): string {
  return /\s/.test(temporaryFolder) ? '/tmp' : temporaryFolder;
}

/**
 * Reports whether there is a compiler. Does not look for `cc` itself, which would open the dialog that offers to
 * install the developer tools.
 */
export async function hasCompiler({ run }: Machine): Promise<boolean> {
  return (await run('xcode-select', ['-p'])).code === 0;
}

async function runNpm(machine: Machine, layout: Layout, folder: string, isCompiling: boolean): Promise<void> {
  machine.stdout(
    isCompiling
      ? 'Installing the libraries. The native ones are built from source, which takes a minute or two.'
      : 'Installing the libraries without the native ones, because this Mac has no compiler (to get one: xcode-select --install). Postern then uses the SQLite that is part of Node.',
  );
  // Puts the private Node first on PATH, because npm and the builds that it starts use the first `node` there.
  const programs = join(folder, '.programs');
  mkdirSync(programs);
  symlinkSync(layout.executable, join(programs, 'node'));
  const script = npmScript(machine.path);
  const args = ['ci', '--omit=dev', ...(isCompiling ? [] : ['--omit=optional']), '--no-audit', '--no-fund'];
  const [command, rest] = script === undefined ? ['npm', args] : [layout.executable, [script, ...args]];
  const result = await machine.run(command, rest, {
    cwd: folder,
    timeoutMs: INSTALL_LIMIT_MS,
    env: {
      PATH: [programs, ...machine.path].join(delimiter),
      // Stops prebuild-install from downloading a prebuilt binary, because no lock file pins its content.
      npm_config_build_from_source: 'true',
    },
  });
  if (result.code === 0) return;
  const isDiskFull = /ENOSPC|no space left/i.test(result.stderr);
  throw new AppError(isDiskFull ? 'disk_full' : 'libraries_failed', lastLines(result.stderr), {
    hint: isDiskFull
      ? 'The disk is full. Nothing was changed: make room (about 500 MB) and run the installation again.'
      : 'Nothing was changed. npm says above what is missing; if that is the network, run the installation again when it is there.',
  });
}

/**
 * Removes source maps, about 10 MB that only a debugger reads. Does not follow symbolic links, because their targets
 * may lie outside the installation.
 */
function removeSourceMaps(modules: string): void {
  if (!lstatSync(modules).isDirectory()) return;
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith('.map')) rmSync(join(entry.parentPath, entry.name));
  }
}

/** Moves a folder. If `to` is on another volume, copies the folder instead; the caller then removes the original. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

/**
 * Returns the path of npm-cli.js if the first `npm` on PATH is a link to it. Returns undefined for any other `npm`,
 * such as the program of a version manager.
 */
function npmScript(path: readonly string[]): string | undefined {
  const npm = path.map((folder) => join(folder, 'npm')).find((candidate) => existsSync(candidate));
  if (npm === undefined) return undefined;
  const script = realpathSync(npm);
  return basename(script) === 'npm-cli.js' ? script : undefined;
}

/** Returns the last five lines of a program's output. */
export function lastLines(text: string): string {
  return text.trim().split('\n').slice(-5).join('\n  ') || 'it said nothing.';
}
