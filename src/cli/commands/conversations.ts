import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

export interface ConversationsOptions extends ConnectionOptions {
  readonly limit?: number;
}

const COLUMNS: readonly Column[] = [
  { title: 'LAST MESSAGE' },
  { title: 'CONVERSATION', isFlexible: true, least: 24 },
  { title: 'NAME', isFlexible: true },
  { title: 'PARTICIPANTS', isFlexible: true, least: 12 },
];
/** The contract's most for one page. */
const PAGE = 200;

/** `postern conversations`: who there is to talk to, the latest first. */
export function conversations(
  { limit = 50, ...options }: ConversationsOptions,
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const found = [];
    for (let offset = 0; offset < limit; offset += PAGE) {
      const size = Math.min(PAGE, limit - offset);
      const page = await client.conversations({ limit: size, offset });
      found.push(...page);
      if (page.length < size) break;
    }
    if (options.json === true) {
      context.stdout(json(found, 2));
    } else {
      const rows = found.map(({ id, display_name: name, participants, last_message_at: at }) => [
        shownTime(at, systemClock.now()),
        id,
        name ?? '',
        participants.join(', '),
      ]);
      sayTable(context, COLUMNS, rows, 'There are no conversations yet.');
    }
    return EXIT.ok;
  });
}
