import { withName } from '../../../core/cli/output/event-line.ts';
import { stateStyle } from '../../../core/cli/output/style.ts';
import type { Column } from '../../../core/cli/output/table.ts';
import { shownTime } from '../../../core/cli/output/time.ts';
import type { Served } from '../../../core/cli/service-connection.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { keyNames } from './key-names.ts';

const LINES: readonly Column[] = [
  { title: 'AT', style: () => 'dim' },
  { title: 'KEY', isFlexible: true, least: 8 },
  { title: 'ACTION' },
  { title: 'OUTCOME', style: stateStyle },
  { title: 'COUNT' },
  { title: 'TARGET', isFlexible: true, least: 12 },
];

interface AuditOptions {
  readonly key?: string;
  readonly after?: number;
  readonly limit?: number;
  readonly json?: boolean;
}

/** `postern audit`: prints who did what with which key, oldest first. */
export async function audit({ key, after, limit, json }: AuditOptions, { client, list }: Served): Promise<void> {
  const lines = await client.keys.audit({
    ...(key !== undefined && { key }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit }),
    ...(json !== true && { include: 'contacts' }),
  });
  const keys = json === true || lines.length === 0 ? new Map<string, string>() : await keyNames(client);
  const rows = lines.map(({ at, key_id: by, action, outcome, count, target, names = {} }) => [
    shownTime(at, systemClock.now()),
    keys.get(by) ?? by,
    action,
    outcome,
    count === 1 ? '' : String(count),
    target === null ? '' : action === 'key' ? (keys.get(target) ?? target) : withName(target, names),
  ]);
  list(lines, LINES, rows, 'There are no lines yet: the audit log begins with the first limited key.');
}
