import { accessSync, constants, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../src/core/model/errors.ts';
import { fetchNodePackage, type NodePackage } from '../src/core/runtime/node-package.ts';
import { type MachSlice, machSlicesOf } from './mach-o.ts';
import type { Machine } from './machine.ts';

/** The Mac's processor and macOS version. */
export interface MacKind {
  readonly arch: string;
  /** For example `15.6.1`. */
  readonly macos: string;
}

/**
 * Obtains a self-contained Node for this Mac: the pinned package, else the user's own Node. Returns the path of the
 * executable, which may be in `folder`. Throws an AppError with advice if there is none.
 */
export async function obtainNode(
  machine: Machine,
  mac: MacKind,
  folder: string,
  packages: Readonly<Record<string, NodePackage>>,
): Promise<string> {
  const pinned = packages[`darwin-${mac.arch}`];
  if (pinned !== undefined) {
    machine.stdout(
      `Fetching Node ${pinned.version} (npm package ${pinned.name}), so that Postern does not depend on your own Node.`,
    );
    const trouble = await fetchNodePackage(machine.run, pinned, folder);
    const node = join(folder, 'package', 'bin', 'node');
    if (trouble === null) return fitting(node, mac);
    machine.stdout(`  That failed: ${trouble} Copying your own Node instead.`);
  }
  return ownNode(machine, mac);
}

function ownNode(machine: Machine, mac: MacKind): string {
  const candidates = [machine.execPath, ...machine.path.map((folder) => join(folder, 'node'))].flatMap(realExecutable);
  const refusals: string[] = [];
  for (const candidate of new Set(candidates)) {
    const refusal = unfit(candidate, mac);
    if (refusal === null) {
      machine.stdout(`Using ${candidate}.`);
      return candidate;
    }
    refusals.push(refusal);
  }
  throw new AppError('no_self_contained_node', ['No Node on this Mac can be copied.', ...refusals].join('\n  '), {
    hint: 'Run the installation again when the network is available, or install Node from its official installer (or with nvm) first.',
  });
}

function realExecutable(path: string): readonly string[] {
  try {
    accessSync(path, constants.X_OK);
    return [realpathSync(path)];
  } catch {
    return [];
  }
}

function fitting(node: string, mac: MacKind): string {
  const refusal = unfit(node, mac);
  if (refusal === null) return node;
  throw new AppError('node_does_not_fit', refusal, {
    hint: 'Nothing was installed. This version of Postern does not run on this Mac or its macOS.',
  });
}

/** Returns the reason why a copy of this Node would not run on this Mac; null if it would. */
function unfit(node: string, mac: MacKind): string | null {
  const slices = machSlicesOf(node);
  if (slices.length === 0) return `${node} is not a macOS program.`;
  const slice = slices.find(({ arch }) => arch === mac.arch);
  if (slice === undefined) return `${node} is not built for this Mac (${mac.arch}).`;
  if (slice.libraries.some((library) => /(^|\/)libnode[.\d]/.test(library))) {
    return `${node} is only a stub that loads libnode from its own folder, as Homebrew builds it. A copy would not run.`;
  }
  const foreign = slice.libraries.find((library) => !isOfSystem(library));
  if (foreign !== undefined) return `${node} needs ${foreign}, so a copy would break when that file is updated.`;
  if (isNewer(slice, mac)) return `${node} needs macOS ${slice.minimumMacos ?? ''}; this Mac has ${mac.macos}.`;
  return null;
}

function isOfSystem(library: string): boolean {
  return library.startsWith('/usr/lib/') || library.startsWith('/System/Library/');
}

function isNewer({ minimumMacos }: MachSlice, mac: MacKind): boolean {
  const [needMajor = 0, needMinor = 0] = (minimumMacos ?? '0').split('.').map(Number);
  const [major = 0, minor = 0] = mac.macos.split('.').map(Number);
  return needMajor > major || (needMajor === major && needMinor > minor);
}
