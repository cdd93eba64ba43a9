import { existsSync, lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from './install-layout.ts';
import type { Machine } from './machine.ts';

const NAME = 'postern.30s.sh';

interface MenuProgram {
  readonly name: string;
  readonly folder: string;
  readonly refreshUrl: string;
}

/** Finds the menu bar programs on this Mac and the folders they load plugins from. */
async function menuPrograms(machine: Machine): Promise<readonly MenuProgram[]> {
  const candidates = [
    {
      name: 'SwiftBar',
      folder: await swiftBarFolder(machine),
      refreshUrl: 'swiftbar://refreshallplugins',
    },
    {
      name: 'xbar',
      folder: join(machine.home, 'Library', 'Application Support', 'xbar', 'plugins'),
      refreshUrl: 'xbar://app.xbarapp.com/refreshAllPlugins',
    },
  ];
  return candidates.filter(({ name, folder }) => {
    if (isGuarded(machine, folder)) {
      machine.stdout(`macOS may ask whether this terminal may open ${folder}, the plugin folder of ${name}.`);
    }
    return folder !== '' && existsSync(folder);
  });
}

/** Returns the folder chosen in SwiftBar; empty if there is none. */
async function swiftBarFolder(machine: Machine): Promise<string> {
  const read = await machine.run('defaults', ['read', 'com.ameba.SwiftBar', 'PluginDirectory']);
  // SwiftBar expands the `~` that it stores (SwiftBar #76, PreferencesStore.swift).
  return read.code === 0 ? read.stdout.trim().replace(/^~(?=\/|$)/, machine.home) : '';
}

/** Reports whether macOS asks the user before programs may use this folder. */
function isGuarded({ home }: Machine, folder: string): boolean {
  return ['Documents', 'Desktop', 'Downloads'].some((name) => `${folder}/`.startsWith(`${join(home, name)}/`));
}

/**
 * Links Postern's plugin into the plugin folder of each installed menu bar program. The link leads through `current`,
 * so that it stays valid after an update.
 */
export async function linkMenuPlugin(machine: Machine, layout: Layout): Promise<void> {
  const programs = await menuPrograms(machine);
  const chosen = await swiftBarFolder(machine);
  if (chosen !== '' && !existsSync(chosen)) {
    machine.stdout(
      `No menu bar item in SwiftBar, because its plugin folder ${chosen} is missing. Choose another in its preferences and run the installation again.`,
    );
  } else if (programs.length === 0) {
    machine.stdout(
      'No menu bar item, because neither SwiftBar nor xbar is installed. To get it, install one of them and run the installation again.',
    );
  }
  for (const { name, folder, refreshUrl } of programs) {
    const link = join(folder, NAME);
    try {
      if (isForeign(link, layout)) {
        machine.stdout(
          `Postern did not make ${link} and leaves it alone. To have the menu bar item in ${name}, remove that file first.`,
        );
        continue;
      }
      rmSync(link, { force: true });
      symlinkSync(layout.menuPlugin, link);
    } catch (error) {
      machine.stdout(`No menu bar item in ${name}: ${reasonOf(error)}.`);
      continue;
    }
    machine.stdout(`Menu bar item: linked into ${name}.`);
    await machine.run('open', ['-g', refreshUrl]);
  }
}

/** Removes Postern's links from the plugin folders. Returns a line for each link that it could not remove. */
export async function unlinkMenuPlugin(machine: Machine, layout: Layout): Promise<readonly string[]> {
  const left: string[] = [];
  for (const { folder, refreshUrl } of await menuPrograms(machine)) {
    const link = join(folder, NAME);
    try {
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined || isForeign(link, layout)) continue;
      rmSync(link);
    } catch (error) {
      left.push(`${link}: ${reasonOf(error)}. Remove it yourself.`);
      continue;
    }
    machine.stdout('Removed the menu bar item.');
    await machine.run('open', ['-g', refreshUrl]);
  }
  return left;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function isForeign(link: string, layout: Layout): boolean {
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return !found.isSymbolicLink() || readlinkSync(link) !== layout.menuPlugin;
}
