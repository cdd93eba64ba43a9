import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from './layout.ts';
import type { Step } from './steps.ts';

/** SQLite recreates the -shm from these two. */
const KEPT = ['state.db', 'state.db-wal'];

/**
 * Copies the state while no agent runs. Undoing restores it as the old version left it, because an old version cannot
 * read a state.db that a newer one has migrated. Events delivered in between are delivered again.
 */
export function copyState(layout: Layout): Step {
  const copies = stateCopy(layout);
  /** Undefined until all copies are made: before that nothing has touched the state. */
  let kept: readonly string[] | undefined;
  return {
    name: 'keep a copy of the state',
    run() {
      removeStateCopy(layout);
      mkdirSync(copies, { mode: 0o700 });
      const names = KEPT.filter((name) => existsSync(join(layout.support, name)));
      for (const name of names) copyFileSync(join(layout.support, name), join(copies, name));
      kept = names;
    },
    undo() {
      if (kept === undefined) return;
      const missing = kept.map((name) => join(copies, name)).find((path) => !existsSync(path));
      if (missing !== undefined)
        throw new Error(`${missing} is missing, so the state stays as the new version left it.`);
      for (const name of [...KEPT, 'state.db-shm']) rmSync(join(layout.support, name), { force: true });
      // Moved, so that a full disk cannot prevent the restore.
      for (const name of kept) renameSync(join(copies, name), join(layout.support, name));
      removeStateCopy(layout);
    },
  };
}

export function removeStateCopy(layout: Layout): void {
  rmSync(stateCopy(layout), { recursive: true, force: true });
}

function stateCopy(layout: Layout): string {
  return join(layout.support, '.state-before');
}
