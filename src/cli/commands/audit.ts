import { systemClock } from '../../runtime/clock.ts';
import { stateStyle } from '../output/style.ts';
import type { Column } from '../output/table.ts';
import { shownTime } from '../output/time.ts';
import type { Served } from '../service-connection.ts';

const LINES: readonly Column[] = [
  { title: 'AT', style: () => 'dim' },
  { title: 'KEY' },
  { title: 'ACTION' },
  { title: 'OUTCOME', style: stateStyle },
  { title: 'COUNT' },
  { title: 'TARGET', isFlexible: true, least: 12 },
];

/** `postern audit`: who did what with which key, oldest first. */
export async function audit(
  { key, after, limit }: { readonly key?: string; readonly after?: number; readonly limit?: number },
  { client, list }: Served,
): Promise<void> {
  const lines = await client.keys.audit({
    ...(key !== undefined && { key }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit }),
  });
  const rows = lines.map(({ at, key_id: by, action, outcome, count, target }) => [
    shownTime(at, systemClock.now()),
    by,
    action,
    outcome,
    count === 1 ? '' : String(count),
    target ?? '',
  ]);
  list(lines, LINES, rows, 'There is nothing yet. It begins with the first limited key.');
}
