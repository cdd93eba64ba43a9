import type { ShownStatus } from '../../core/feature.ts';
import type { FleetReport } from './agent/agent.ts';

/** Returns the line of `postern status` about the fleet. */
export function shownFleet({ mac, machine, state, behind, problem }: FleetReport): ShownStatus {
  const text = problem ?? (behind === 0 ? 'everything is published' : `${behind} rows are not published yet`);
  return {
    label: 'Fleet',
    text: `${mac} (${machine}), ${state}: ${text}`,
    tone: problem === null ? undefined : 'yellow',
  };
}
