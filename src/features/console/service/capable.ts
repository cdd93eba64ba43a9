import type { StatusReport } from '../../../core/model/status.ts';

/** What services could do before they listed it as a capability. */
const OLDER_THAN_ITS_NAME: ReadonlySet<string> = new Set(['changes', 'contacts']);

/**
 * Reports whether a service can do something, as its status says. A service that lists its operations lists its
 * capabilities as well, so what it does not list it cannot do. An earlier version, such as that of a Mac behind a newer
 * hub, lists no operations, and a hub no capabilities. Both can do what services could before they listed it, and refuse
 * a request if it is switched off.
 */
export function isAble(name: string, { capabilities, operations }: Partial<StatusReport>): boolean {
  const listsAll = capabilities !== undefined && operations !== undefined;
  return capabilities?.[name]?.available ?? (!listsAll && OLDER_THAN_ITS_NAME.has(name));
}
