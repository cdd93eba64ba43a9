import type { StatusReport } from '../../../core/model/status.ts';

/** The operations that a hub passes on to its Macs. It lists no capabilities. */
const OF_HUBS: ReadonlySet<string> = new Set(['changes', 'contacts']);

/**
 * Reports whether a service can do something, as its status says. A hub's Macs refuse a request for what is switched
 * off.
 */
export function isAble(name: string, { capabilities }: Partial<StatusReport>): boolean {
  return capabilities === undefined ? OF_HUBS.has(name) : capabilities[name]?.available === true;
}
