import type { Conversation } from '../../domain/conversation.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { withName } from '../output/event-line.ts';
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
      const page = await client.conversations({
        limit: size,
        offset,
        ...(options.json !== true && { include: 'contacts' as const }),
      });
      found.push(...page);
      if (page.length < size) break;
    }
    if (options.json === true) {
      context.stdout(json(found, 2));
    } else {
      const rows = found.map((conversation) => [
        shownTime(conversation.last_message_at, systemClock.now()),
        conversation.id,
        nameOf(conversation),
        participantsOf(conversation),
      ]);
      sayTable(context, COLUMNS, rows, 'There are no conversations yet.');
    }
    return EXIT.ok;
  });
}

/** Of a group without a name nothing: its participants are beside it. */
function nameOf({ id, display_name: name, participants, names = {} }: Conversation): string {
  const [party] = participants;
  return name ?? (id.includes(';-;') && party !== undefined ? (names[party] ?? '') : '');
}

/** In a one-to-one conversation the name has its own column. */
function participantsOf({ id, participants, names = {} }: Conversation): string {
  return participants.map((address) => (id.includes(';-;') ? address : withName(address, names))).join(', ');
}
