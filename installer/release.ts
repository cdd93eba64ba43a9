import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../src/domain/errors.ts';
import type { AgentConfig } from './agent.ts';
import { agentPlist } from './agent-plist.ts';
import { isBundleSound, stageBundle } from './app-bundle.ts';
import { installCode } from './code.ts';
import { knownCdhash } from './grants.ts';
import { LABEL, type Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import { type MacKind, NODE_PACKAGES, obtainNode } from './node-runtime.ts';
import type { InstallOptions } from './options.ts';
import { checkScripts } from './scripts.ts';
import { type StagedFolder, writeWhole } from './staging.ts';

/** Everything in the new version, proved and ready. Creating it has touched nothing that runs. */
export interface Release {
  /** Name of its folder in `versions`. */
  readonly id: string;
  /** Undefined if the bundle in place stays. */
  readonly bundle: NewBundle | undefined;
  /** The cdhash that the permissions belonged to before; null if unknown. */
  readonly knownCdhash: string | null;
  readonly plist: string;
  readonly command: string;
  readonly config: AgentConfig;
}

export interface NewBundle extends StagedFolder {
  /** False if there is no sound bundle to go back to: the one in place is missing or damaged. */
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
    // A repository unpacked from a Safari download is quarantined, and copies inherit that.
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
    machine.stdout(`${layout.app} stays as it is, and so do its permissions.`);
    return undefined;
  }
  const mac = await macKind(machine);
  const folder = join(layout.support, '.runtime');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    const node = await obtainNode(machine, mac, folder, options.packages ?? NODE_PACKAGES);
    machine.stdout(`Making ${layout.app}: the permissions belong to this one program, not to every Node script.`);
    return { ...(await stageBundle(machine, layout, node)), replacesSound };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function macKind({ run, arch }: Machine): Promise<MacKind> {
  // A Node under Rosetta reports x64 on Apple silicon.
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

/** Has the new version write its configuration if there is none. */
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
        hint: 'Fix what it says and run the installation again.',
      });
    }
    machine.stdout(`Made the configuration: ${layout.config}`);
  }
  const settings = options.readSettings(layout.support);
  if (settings.kind === 'usable') return settings.config;
  const what = settings.kind === 'unusable' ? settings.mistakes.join('\n  ') : 'It was not made.';
  throw new AppError('configuration_unusable', `${layout.config}: ${what}`, {
    hint: 'Fix it and run the installation again.',
  });
}

function commandScript({ executable, main }: Layout): string {
  const quoted = [executable, main].map((path) => `'${path.replaceAll("'", "'\\''")}'`);
  return `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`;
}
