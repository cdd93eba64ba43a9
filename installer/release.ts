import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type PlistValue, parse } from 'plist';
import { AppError } from '../src/core/model/errors.ts';
import type { CommandResult } from '../src/core/runtime/command.ts';
import { NODE_PACKAGES } from '../src/core/runtime/node-package.ts';
import { isBundleSound, stageBundle } from './app-bundle.ts';
import { installCode } from './code.ts';
import { knownCdhash } from './grants.ts';
import { LABEL, type Layout } from './install-layout.ts';
import type { AgentConfig } from './launch-agent.ts';
import type { Machine } from './machine.ts';
import { type MacKind, obtainNode } from './node-runtime.ts';
import type { InstallOptions } from './options.ts';
import { type StagedFolder, writeWhole } from './staging.ts';

/**
 * The parts of a new version, proved to work and ready to be put in place. Preparing them changes nothing that the
 * running version uses.
 */
export interface Release {
  /** Name of the version's folder in `Layout.versions`. */
  readonly id: string;
  /** Undefined if the current bundle is kept. */
  readonly bundle: NewBundle | undefined;
  /** The cdhash of the bundle that had the permissions before this release was prepared; null if unknown. */
  readonly knownCdhash: string | null;
  readonly plist: string;
  readonly command: string;
  readonly config: AgentConfig;
}

export interface NewBundle extends StagedFolder {
  /** False if the installed bundle is missing or damaged. There is then nothing useful to restore. */
  readonly replacesSound: boolean;
}

export async function prepareRelease(machine: Machine, layout: Layout, options: InstallOptions): Promise<Release> {
  mkdirSync(layout.support, { recursive: true, mode: 0o700 });
  chmodSync(layout.support, 0o700);
  const known = await knownCdhash(machine, layout);
  const bundle = await newBundle(machine, layout, options);
  try {
    const executable = join(bundle?.path ?? layout.app, 'Contents', 'MacOS', 'Postern');
    const id = await installCode(machine, { ...layout, executable }, options.root, options.version);
    const folder = join(layout.versions, id);
    // A repository unpacked from a Safari download is quarantined, and so are copies of its files.
    await machine.run('xattr', ['-dr', 'com.apple.quarantine', folder]);
    await checkScripts(machine, join(folder, 'dist'));
    const plist = await checkedPlist(machine, layout, folder);
    const config = await provideConfiguration(machine, layout, options, [executable, join(folder, 'dist', 'main.js')]);
    return { id, bundle, knownCdhash: known, plist, command: commandScript(layout), config };
  } catch (error) {
    bundle?.discard();
    throw error;
  }
}

async function newBundle(machine: Machine, layout: Layout, options: InstallOptions): Promise<NewBundle | undefined> {
  const replacesSound = await isBundleSound(machine, layout);
  if (replacesSound && !options.renewRuntime) {
    machine.stdout(`${layout.app} does not change and keeps its permissions.`);
    return undefined;
  }
  const mac = await macKind(machine);
  const folder = join(layout.support, '.runtime');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    const node = await obtainNode(machine, mac, folder, options.packages ?? NODE_PACKAGES);
    machine.stdout(`Making ${layout.app}, so that only Postern receives the permissions and not every Node script.`);
    return { ...(await stageBundle(machine, layout, node)), replacesSound };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function macKind({ run, arch }: Machine): Promise<MacKind> {
  // Asks sysctl for the processor, because a Node under Rosetta reports x64 on Apple silicon.
  const silicon = await run('sysctl', ['-in', 'hw.optional.arm64']);
  const version = await run('sw_vers', ['-productVersion']);
  return { arch: silicon.stdout.trim() === '1' ? 'arm64' : arch, macos: version.stdout.trim() };
}

async function checkedPlist(machine: Machine, layout: Layout, folder: string): Promise<string> {
  const plist = agentPlist(readFileSync(join(folder, 'launchd', `${LABEL}.plist`), 'utf8'), layout);
  const draft = join(layout.support, `.${LABEL}.plist`);
  try {
    writeWhole(draft, plist, 0o600);
    const lint = await machine.run('plutil', ['-lint', draft]);
    if (lint.code === 0) return plist;
    throw new AppError('plist_invalid', `plutil refuses the agent's property list: ${lint.stdout.trim()}`, {
      hint: 'Nothing was changed. Please report this.',
    });
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns the configuration. If there is none, runs the new version once, so that it writes one. */
async function provideConfiguration(
  machine: Machine,
  layout: Layout,
  options: InstallOptions,
  [executable, main]: readonly [string, string],
): Promise<AgentConfig> {
  if (options.readSettings(layout.support).kind === 'none') {
    const first = await machine.run(executable, [main, 'serve', '--config-dir', layout.support], {
      cwd: layout.support,
    });
    if (first.code !== 0) {
      throw new AppError('first_launch_failed', `The first launch failed: ${first.stderr.trim()}`, {
        hint: 'Fix the problem that it names and run the installation again.',
      });
    }
    machine.stdout(`Made the configuration: ${layout.config}`);
  }
  const settings = options.readSettings(layout.support);
  if (settings.kind === 'usable') return settings.config;
  const what =
    settings.kind === 'unusable' ? settings.mistakes.join('\n  ') : 'The first launch did not create this file.';
  throw new AppError('configuration_unusable', `${layout.config}: ${what}`, {
    hint:
      settings.kind === 'unusable'
        ? 'Fix the file and run the installation again.'
        : 'Run the installation again. If the file is still missing, please report this.',
  });
}

function commandScript({ executable, main }: Layout): string {
  const quoted = [executable, main].map((path) => `'${path.replaceAll("'", "'\\''")}'`);
  return `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`;
}

/**
 * Builds the agent's property list from the template and this user's paths. Parses the template first and serialises it
 * with the paths, so that no character in a user name can change the XML.
 */
export function agentPlist(template: string, layout: Layout): string {
  const values: Readonly<Record<string, string>> = {
    executable: layout.executable,
    main: layout.main,
    support: layout.support,
    log: layout.logFiles[0],
    errorLog: layout.logFiles[1],
  };
  return build(filled(parse(template), values));
}

function filled(value: PlistValue, values: Readonly<Record<string, string>>): PlistValue {
  if (typeof value === 'string') return values[/^\{\{(\w+)\}\}$/.exec(value)?.[1] ?? ''] ?? value;
  if (Array.isArray(value)) return value.map((item) => filled(item, values));
  if (typeof value !== 'object' || value === null || !isDictionary(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, values)]));
}

function isDictionary(value: object): value is { [key: string]: PlistValue } {
  return Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;
}

/**
 * Compiles every AppleScript of a version on this Mac, with its macOS and its dictionary of Messages. Compiling sends
 * no event and needs no permission. Nothing else proves before the first send that the scripts are valid.
 */
async function checkScripts(machine: Machine, folder: string): Promise<void> {
  const scripts = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.applescript'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const output = mkdtempSync(join(machine.temporaryFolder, 'postern-scripts-'));
  try {
    for (const [index, script] of scripts.entries()) {
      const result = await machine.run('osacompile', ['-o', join(output, `${index}.scpt`), script]);
      if (result.code !== 0) throw refusal(script, result);
    }
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
  machine.stdout(`This macOS understands all ${scripts.length} scripts that drive Messages.`);
}

function refusal(script: string, { stderr, trouble }: CommandResult): AppError {
  // osacompile writes `path:LINE: error: words (-2741)`.
  const [, line, words] = /:(\d+): error: (.+)/.exec(stderr) ?? [];
  const reason = trouble === 'missing' ? 'osacompile is missing.' : (words ?? stderr.trim());
  const text =
    line === undefined
      ? undefined
      : readFileSync(script, 'utf8')
          .split(/\r\n|\r|\n/)
          [Number(line) - 1]?.trim();
  const place = `${basename(script)}${line === undefined ? '' : `, line ${line}`}`;
  const message = `This macOS cannot compile ${place}: ${reason}${text === undefined ? '' : `\n  ${text}`}`;
  return new AppError('script_refused', message, {
    hint: 'Nothing was changed. Please report this with the text above and the output of: sw_vers',
  });
}
