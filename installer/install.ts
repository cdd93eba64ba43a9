import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../src/domain/errors.ts';
import { Launchd, noSession } from '../src/mac/launchd.ts';
import { agentPlist } from './agent-plist.ts';
import { isBundleSound, makeBundle } from './app-bundle.ts';
import { currentVersion, installCode, previousVersion, removeOldVersions, switchTo } from './code.ts';
import { type Address, Gateway } from './gateway.ts';
import { LABEL, type Layout, layoutOf } from './layout.ts';
import { type Machine, pause } from './machine.ts';
import { linkMenuPlugin } from './menu-plugin.ts';
import { type MacKind, NODE_PACKAGES, type NodePackage, obtainNode } from './node-runtime.ts';
import { stillMissing, walkThroughPermissions } from './permissions.ts';
import { portState } from './port.ts';
import { writeWhole } from './staging.ts';

/** What the configuration says, read by the version that is being installed. */
export type Settings =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly address: Address; readonly warnings: readonly string[] }
  | { readonly kind: 'unusable'; readonly mistakes: readonly string[] };

export interface InstallOptions {
  /** The built project: the folder with package.json and dist. */
  readonly root: string;
  readonly version: string;
  /** Replaces the program in the bundle, which costs the permissions. */
  readonly renewRuntime: boolean;
  /** How long to wait for the person to grant the permissions; 0 asks once. */
  readonly permissionsLimitMs: number;
  readonly readSettings: (configDir: string) => Settings;
  readonly packages?: Readonly<Record<string, NodePackage>>;
}

const HEALTH_LIMIT_MS = 40_000;
const HEALTH_POLL_MS = 1_000;
const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 3001 };

/**
 * Installs or updates the agent. Nothing that runs is touched before the new version has proved that it loads.
 * Throws AppError with what to do; missing permissions are no failure.
 */
export async function install(machine: Machine, options: InstallOptions): Promise<void> {
  refuseOtherMachines(machine);
  const layout = layoutOf(machine.home);
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  const mac = await macKind(machine);
  await checkBeforehand(machine, layout, launchd, options);

  mkdirSync(layout.support, { recursive: true, mode: 0o700 });
  chmodSync(layout.support, 0o700);
  await provideBundle(machine, layout, mac, options);
  const id = await installCode(machine, layout, options.root, options.version);
  const before = currentVersion(layout);
  switchTo(layout, id);
  machine.say(before === id ? `Version ${id} is in place.` : `Switched to version ${id}.`);

  const address = await provideConfiguration(machine, layout, options);
  writeWhole(layout.command, commandScript(layout), 0o755);
  await provideAgent(machine, layout, launchd);
  const gateway = new Gateway(address);
  await startOrGoBack(machine, layout, launchd, gateway, before === id ? undefined : before);
  removeOldVersions(layout);

  await linkMenuPlugin(machine, layout);
  const missing = await walkThroughPermissions(machine, layout, gateway, options.permissionsLimitMs);
  machine.say('');
  machine.say(missing.length === 0 ? `Postern is at home: ${gateway.url}` : stillMissing(missing));
  machine.say(`Configuration and key: ${layout.config}`);
  machine.say(`To look after it: "${layout.command}" doctor`);
}

/** Throws unless this is a Mac and its owner, with what to do instead. */
export function refuseOtherMachines({ platform, uid }: Machine): void {
  if (platform !== 'darwin') {
    throw new AppError('refused', 'not_a_mac', 'Postern can only be installed on a Mac: it drives Messages.', {
      hint: 'To try it here, on a simulated Mac, run: make run',
    });
  }
  if (uid === 0) {
    throw new AppError('refused', 'is_root', 'Do not install Postern with sudo: it belongs to you and your Messages.', {
      hint: 'Run the same command without sudo.',
    });
  }
}

async function macKind({ run, arch }: Machine): Promise<MacKind> {
  // A Node running under Rosetta says x64 on Apple silicon.
  const silicon = await run('sysctl', ['-in', 'hw.optional.arm64']);
  const version = await run('sw_vers', ['-productVersion']);
  return { arch: silicon.stdout.trim() === '1' ? 'arm64' : arch, macos: version.stdout.trim() };
}

async function checkBeforehand(
  machine: Machine,
  layout: Layout,
  launchd: Launchd,
  options: InstallOptions,
): Promise<void> {
  const job = await launchd.state();
  if (job.kind === 'no_session') throw noSession();

  const settings = options.readSettings(layout.support);
  if (settings.kind === 'unusable') {
    throw new AppError('invalid', 'configuration_unusable', [`${layout.config}:`, ...settings.mistakes].join('\n  '), {
      hint: 'Nothing was changed. Mend these and run the installation again.',
    });
  }
  if (settings.kind === 'usable') for (const warning of settings.warnings) machine.say(`Configuration: ${warning}`);

  const { host, port } = settings.kind === 'usable' ? settings.address : DEFAULT_ADDRESS;
  const state = await portState(machine.run, host, port);
  if (state.kind === 'impossible') {
    throw new AppError('unavailable', 'port_impossible', `Nothing can listen on ${host}:${port} (${state.code}).`, {
      hint: `Change server.host or server.port in ${layout.config}.`,
    });
  }
  const isOurs = job.kind === 'running' && state.kind === 'taken' && (state.pid ?? job.pid) === job.pid;
  if (state.kind === 'taken' && !isOurs) {
    throw new AppError('unavailable', 'port_taken', `Port ${port} is taken by ${state.program ?? 'another program'}.`, {
      hint: `Stop that program${state.pid === null ? '' : ` (process ${state.pid})`}, or set another server.port in ${layout.config}. Nothing was changed.`,
    });
  }
}

async function provideBundle(machine: Machine, layout: Layout, mac: MacKind, options: InstallOptions): Promise<void> {
  if (!options.renewRuntime && (await isBundleSound(machine, layout))) {
    machine.say(`${layout.app} stays as it is, and so do its permissions.`);
    return;
  }
  const isReplaced = existsSync(layout.app);
  const folder = join(layout.support, '.runtime');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    const node = await obtainNode(machine, mac, folder, options.packages ?? NODE_PACKAGES);
    machine.say(`Making ${layout.app}: the permissions belong to this one program, not to every Node script.`);
    await makeBundle(machine, layout, node, options.version);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (isReplaced) {
    machine.say('The program is a new one for macOS, so it has to be granted its permissions again.');
    for (const service of ['SystemPolicyAllFiles', 'AppleEvents']) {
      await machine.run('tccutil', ['reset', service, 'local.postern']);
    }
  }
}

async function provideConfiguration(machine: Machine, layout: Layout, options: InstallOptions): Promise<Address> {
  if (options.readSettings(layout.support).kind === 'none') {
    const args = [layout.main, 'serve', '--config-dir', layout.support];
    const first = await machine.run(layout.executable, args, { cwd: layout.support });
    if (first.code !== 0) {
      throw new AppError('unavailable', 'first_launch_failed', `The first launch failed: ${first.stderr.trim()}`, {
        hint: 'Mend what it says and run the installation again.',
      });
    }
    machine.say(`Made the configuration: ${layout.config}`);
  }
  const settings = options.readSettings(layout.support);
  if (settings.kind === 'usable') return settings.address;
  const what = settings.kind === 'unusable' ? settings.mistakes.join('\n  ') : 'It was not made.';
  throw new AppError('invalid', 'configuration_unusable', `${layout.config}: ${what}`, {
    hint: 'Mend it and run the installation again.',
  });
}

function commandScript({ executable, main }: Layout): string {
  const quoted = [executable, main].map((path) => `'${path.replaceAll("'", "'\\''")}'`);
  return `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`;
}

async function provideAgent(machine: Machine, layout: Layout, launchd: Launchd): Promise<void> {
  // launchd refuses to start a program whose log folder is missing (78).
  mkdirSync(layout.logs, { recursive: true, mode: 0o700 });
  const template = join(layout.current, 'launchd', `${LABEL}.plist`);
  writeWhole(layout.plist, agentPlist(readFileSync(template, 'utf8'), layout), 0o644);
  const lint = await machine.run('plutil', ['-lint', layout.plist]);
  if (lint.code !== 0) {
    throw new AppError('internal', 'plist_invalid', `plutil refuses ${layout.plist}: ${lint.stdout.trim()}`);
  }
  if ((await launchd.state()).kind !== 'absent') {
    machine.say(
      'launchctl bootout: the running agent is stopped, because launchd reads a property list only when it loads it.',
    );
    await launchd.bootout();
  }
  machine.say('launchctl enable: the agent may be started, even if it was once switched off.');
  await launchd.enable();
  machine.say('launchctl bootstrap: the agent is loaded, which starts it now and at every login.');
  await launchd.bootstrap(layout.plist);
}

async function startOrGoBack(
  machine: Machine,
  layout: Layout,
  launchd: Launchd,
  gateway: Gateway,
  before: string | undefined,
): Promise<void> {
  const trouble = await healthTrouble(machine, launchd, gateway);
  if (trouble === null) return;
  const lines = layout.logFiles.flatMap(lastLines);
  const story = [trouble, ...(lines.length === 0 ? [] : ['The end of its log:', ...lines])].join('\n  ');
  const back = before === undefined ? undefined : previousVersion(layout);
  if (back === undefined) {
    throw new AppError('unavailable', 'agent_not_healthy', story, {
      hint: `Look into ${layout.logs}, and run: "${layout.command}" doctor`,
    });
  }
  machine.say(`launchctl kickstart: version ${back} is started again, because the new one does not answer.`);
  switchTo(layout, back);
  await launchd.restart();
  const isBack = (await healthTrouble(machine, launchd, gateway)) === null;
  throw new AppError('unavailable', 'rolled_back', story, {
    hint: `${isBack ? `Version ${back} runs again.` : `Version ${back} does not answer either.`} Run: "${layout.command}" doctor`,
  });
}

/** Waits until the agent answers. Null when it does, else what is wrong. */
async function healthTrouble(machine: Machine, launchd: Launchd, gateway: Gateway): Promise<string | null> {
  const end = machine.clock.monotonic() + HEALTH_LIMIT_MS;
  for (;;) {
    const { kind } = await gateway.health();
    if (kind === 'answer' || kind === 'busy') return null;
    const job = await launchd.state();
    if (job.kind === 'absent') {
      return 'macOS took the agent away again: it is switched off under System Settings, General, Login Items & Extensions. Switch Postern on there.';
    }
    if (machine.clock.monotonic() >= end) {
      const last = job.kind === 'loaded' && job.lastExitCode !== null ? ` It ended with code ${job.lastExitCode}.` : '';
      return `The agent does not answer at ${gateway.url}.${last}`;
    }
    await pause(machine.clock, HEALTH_POLL_MS);
  }
}

function lastLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).slice(-4);
  } catch {
    return [];
  }
}
