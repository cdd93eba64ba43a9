import { readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Layout } from './install-layout.ts';
import type { Step } from './steps.ts';

/** Returns the version in use, if there is one. */
export function currentVersion(layout: Layout): string | undefined {
  return linkedVersion(layout.current);
}

/** Makes `id` the version in use and records the previous one. */
export function switchVersion(layout: Layout, id: string): Step {
  const current = currentVersion(layout);
  const previous = linkedVersion(layout.previous);
  return {
    name: `switch to version ${id}`,
    run() {
      if (current !== undefined && current !== id) link(layout.previous, current);
      link(layout.current, id);
    },
    undo() {
      link(layout.current, current);
      link(layout.previous, previous);
    },
  };
}

/** Removes every version except the current and the previous one. */
export function removeOldVersions(layout: Layout): void {
  const keep = new Set([currentVersion(layout), linkedVersion(layout.previous)]);
  for (const id of readdirSync(layout.versions)) {
    if (!keep.has(id)) rmSync(join(layout.versions, id), { recursive: true, force: true });
  }
}

function linkedVersion(path: string): string | undefined {
  try {
    return basename(readlinkSync(path));
  } catch {
    return undefined;
  }
}

/** Replaces the link atomically. Without `id`, removes it. */
function link(path: string, id: string | undefined): void {
  if (linkedVersion(path) === id) return;
  const fresh = join(dirname(path), `.${basename(path)}.new`);
  rmSync(id === undefined ? path : fresh, { force: true });
  if (id === undefined) return;
  symlinkSync(join('versions', id), fresh);
  renameSync(fresh, path);
}
