import type { Setting } from '../../core/config/setting.ts';
import { feature } from '../../core/feature.ts';
import type { ChangesReport } from './report.ts';

/** Detects changes of published rows, which are events for the readers that ask for them (decision I4). */
export const changes = feature({
  name: 'changes',
  settings: {
    enabled: {
      name: 'changes.enabled',
      title: 'Changes',
      about:
        'Whether changes of existing messages (edited, read, deleted …) are detected. "auto" detects them while search is on, and for 30 days after a client last asked for changes.',
      allowed: '"auto", true or false',
      defaultValue: () => 'auto',
      read: (written) => (written === 'auto' || typeof written === 'boolean' ? written : undefined),
    } satisfies Setting<'auto' | boolean>,
  },
  isCapable: ({ enabled }) => enabled !== false,
  document: async () => ({ operations: {}, status: (await import('./document.ts')).changesSchema }),
  shown: async () => (await import('./shown.ts')).shownChanges,
  shownToKeys: ({ state, logged, swept_at }: ChangesReport): ChangesReport => ({ state, logged, swept_at }),
  open: async (core, { enabled }) => (await import('./open.ts')).openChanges(core, enabled),
});
