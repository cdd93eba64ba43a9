import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readStagedFoldersInUse } from '../src/core/chatdb/public.ts';
import { AppError, errorCode } from '../src/core/model/errors.ts';
import { resetPermissions, sharedWith, unregisterBundle } from './grants.ts';
import { LABEL, type Layout, layoutOf } from './install-layout.ts';
import { Launchd } from './launchd.ts';
import type { Machine } from './machine.ts';
import { unlinkMenuPlugin } from './menu-plugin.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { unlinkShellFiles } from './shell-files.ts';

export interface UninstallOptions {
  /** Also removes the configuration, state, logs and granted permissions. */
  readonly purge: boolean;
}

/**
 * Removes the agent from this Mac. Missing parts are not a failure, so running it twice is harmless. Continues after
 * every failure, and finally throws an AppError that lists everything left behind.
 */
export async function uninstall(machine: Machine, { purge }: UninstallOptions): Promise<void> {
  if (machine.platform !== 'darwin') {
    throw new AppError('not_a_mac', 'There is nothing to remove, because Postern can be installed only on a Mac.');
  }
  // The agent runs in the user's session, which root does not see.
  if (machine.uid === 0) {
    throw new AppError(
      'is_root',
      'Do not uninstall Postern with sudo. Its agent runs as you, and would go on running.',
      {
        hint: 'Run the same command without sudo.',
      },
    );
  }
  const layout = layoutOf(machine.home);
  await oneAtATime(layout, () => uninstallOne(machine, layout, { purge }));
}

async function uninstallOne(machine: Machine, layout: Layout, { purge }: UninstallOptions): Promise<void> {
  const left: string[] = [];
  left.push(...(await stopAgent(machine)));
  left.push(...(await unlinkMenuPlugin(machine, layout)));
  left.push(...unlinkShellFiles(machine, layout));
  // Resets permissions before removing the bundle, because tccutil looks the bundle up by its identifier.
  if (purge) left.push(...(await forgetPermissions(machine, layout)));
  await unregisterBundle(machine, layout);

  const code = [
    layout.plist,
    layout.app,
    layout.current,
    layout.previous,
    layout.versions,
    layout.command,
    layout.caches,
    layout.lock,
  ];
  const paths = [...code, ...(purge ? [layout.support, layout.logs] : [])];
  left.push(...paths.flatMap(remove));
  if (purge) left.push(...removeStagedFiles(machine));

  if (left.length > 0) {
    throw new AppError('not_removed', ['Not everything could be removed:', ...left].join('\n  '), {
      hint: 'Everything else was removed. Do what the lines above say, or run the same command again.',
    });
  }
  if (!purge && existsSync(layout.support)) {
    machine.stdout(
      `Kept: ${layout.support} (configuration, key, webhooks) and ${layout.logs}. --purge removes them too.`,
    );
  }
  machine.stdout('Postern has been uninstalled.');
}

async function stopAgent(machine: Machine): Promise<readonly string[]> {
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  const job = await launchd.state();
  if (job.kind === 'absent') return [];
  if (job.kind === 'no_session') {
    machine.stdout('Nobody is logged in at the screen, so the agent is not running. Removing its files.');
    return [];
  }
  machine.stdout(
    'launchctl bootout: stopping the agent and removing it from launchd, so that it does not start again.',
  );
  try {
    await launchd.bootout();
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`The agent may still be running: ${reason} Log out, or run: launchctl bootout ${launchd.target}`];
  }
}

async function forgetPermissions(machine: Machine, layout: Layout): Promise<readonly string[]> {
  if (existsSync(layout.app)) return resetPermissions(machine, layout);
  if (existsSync(layout.support)) {
    machine.stdout(
      sharedWith(machine) ??
        'The app was removed earlier, so its permissions could not be reset. If Postern is still listed in System Settings > Privacy & Security > Full Disk Access, select it there and click −.',
    );
  }
  return [];
}

/**
 * Removes Postern's copies of the files that it sent. Keeps the copies that a conversation in Messages still shows,
 * because Messages would otherwise show them as empty.
 */
function removeStagedFiles({ home, stdout }: Machine): readonly string[] {
  const messages = join(home, 'Library', 'Messages');
  const stagingFolder = join(messages, 'Attachments', 'Postern');
  try {
    const folders = readdirSync(stagingFolder);
    const question = { chatDbPath: join(messages, 'chat.db'), homeFolder: home, stagingFolder };
    const inUse = readStagedFoldersInUse(question);
    const removed = folders.filter((name) => !inUse.has(name));
    const left = removed.flatMap((name) => remove(join(stagingFolder, name)));
    if (inUse.size === 0 && left.length === 0) return remove(stagingFolder);
    if (inUse.size > 0) {
      stdout(
        `Kept: ${stagingFolder}, because conversations in Messages show ${inUse.size} of the files sent from there.`,
      );
    }
    return left;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    stdout(
      `Kept: ${stagingFolder}. This terminal cannot read it, and conversations in Messages may still show its files.`,
    );
    return [];
  }
}

function remove(path: string): readonly string[] {
  try {
    rmSync(path, { recursive: true, force: true });
    return [];
  } catch (error) {
    return [`${path}: ${error instanceof Error ? error.message : String(error)}. Remove it yourself.`];
  }
}
