import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { stateStyle } from '../output/style.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

const LINES: readonly Column[] = [
  { title: 'AT', style: () => 'dim' },
  { title: 'KEY' },
  { title: 'ACTION' },
  { title: 'OUTCOME', style: stateStyle },
  { title: 'COUNT' },
  { title: 'TARGET', isFlexible: true, least: 12 },
];

/** `postern audit`: who did what with which key, oldest first. */
export function audit(
  options: ConnectionOptions & { readonly key?: string; readonly after?: number; readonly limit?: number },
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { key, after, limit } = options;
    const lines = await client.keys.audit({
      ...(key !== undefined && { key }),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    if (options.json === true) context.stdout(json(lines, 2));
    else {
      const rows = lines.map(({ at, key_id: by, action, outcome, count, target }) => [
        shownTime(at, systemClock.now()),
        by,
        action,
        outcome,
        count === 1 ? '' : String(count),
        target ?? '',
      ]);
      sayTable(context, LINES, rows, 'There is nothing yet. It begins with the first limited key.');
    }
    return EXIT.ok;
  });
}
