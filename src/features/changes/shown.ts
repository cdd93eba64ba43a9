import type { ShownStatus } from '../../core/feature.ts';
import type { ChangesReport } from './report.ts';

/** Returns the line of `postern status` about the detection of changes. */
export function shownChanges({ state, logged }: ChangesReport): ShownStatus {
  return {
    label: 'Changes',
    text:
      state === 'on'
        ? `detected, ${logged} kept`
        : 'detected in recent messages; older ones are still being read for the first time',
  };
}
