import type { PosternClient } from '../../client/postern-client.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { withName } from '../../core/cli/output/event-line.ts';
import type { Column } from '../../core/cli/output/table.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { conversationName } from '../../core/cli/shown-names.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import type { Include } from '../../core/model/include.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { withNames } from './with-names.ts';

export interface ConversationsOptions extends ConnectionOptions {
  readonly limit?: number;
  readonly unread?: boolean;
}

const TIME: Column = { title: 'LAST MESSAGE', style: () => 'dim' };
const WHO: readonly Column[] = [
  { title: 'CONVERSATION', isFlexible: true, least: 24 },
  { title: 'NAME', isFlexible: true },
];
const COLUMNS: readonly Column[] = [TIME, ...WHO, { title: 'PARTICIPANTS', isFlexible: true, least: 12 }];
const UNREAD_COLUMNS: readonly Column[] = [
  TIME,
  { title: 'UNREAD' },
  ...WHO,
  { title: 'TEXT', isFlexible: true, least: 20 },
];
/** Maximum page size of the API. */
const PAGE = 200;
/** Maximum number of conversations searched for unread ones: a hub lists no more. */
const MAX_SEARCHED = 1000;

/** `postern conversations`: lists conversations, latest first. */
export async function conversations(
  words: readonly string[],
  { limit = 50, unread = false, ...options }: ConversationsOptions,
  { client, list }: Served,
): Promise<void> {
  const found = unread ? await unreadOnes(client, limit, words, options) : await latest(client, limit, words, options);
  const none = words.length === 0 ? 'There are no conversations yet.' : 'No conversation has these words.';
  if (unread) list(found, UNREAD_COLUMNS, found.map(unreadRowOf), 'Nothing is unread.');
  else list(found, COLUMNS, found.map(rowOf), none);
}

async function latest(
  client: PosternClient,
  limit: number,
  words: readonly string[],
  { json: isJson }: ConnectionOptions,
): Promise<Conversation[]> {
  const found: Conversation[] = [];
  for (let offset = 0; offset < limit; offset += PAGE) {
    const size = Math.min(PAGE, limit - offset);
    const ask = (included: Included) => client.conversations({ ...withWords(words), limit: size, offset, ...included });
    // --json prints the service's plain answer, without extra includes.
    const page = isJson === true ? await ask({}) : await withNames(ask);
    found.push(...page);
    if (page.length < size) break;
  }
  return found;
}

function withWords(words: readonly string[]): { readonly q?: string } {
  return words.length === 0 ? {} : { q: words.join(' ') };
}

type Included = { readonly include?: readonly Include[] };

async function unreadOnes(
  client: PosternClient,
  limit: number,
  words: readonly string[],
  { json: isJson }: ConnectionOptions,
): Promise<Conversation[]> {
  const found: Conversation[] = [];
  for (let offset = 0; offset < MAX_SEARCHED && found.length < limit; offset += PAGE) {
    const ask = (included: Included) => client.conversations({ ...withWords(words), limit: PAGE, offset, ...included });
    const page = isJson === true ? await ask({ include: ['details'] }) : await withNames(ask, ['details']);
    if (page.some(({ details }) => details?.unread_count === undefined)) {
      throw new Refusal(EXIT.refusedInput, 'The service cannot tell what is unread in this database.');
    }
    found.push(...page.filter(({ details }) => details?.unread_count !== 0));
    if (page.length < PAGE) break;
  }
  return found.slice(0, limit);
}

function rowOf(conversation: Conversation): readonly string[] {
  return [timeOf(conversation), conversation.id, conversationName(conversation), participantsOf(conversation)];
}

function unreadRowOf(conversation: Conversation): readonly string[] {
  const { id, details } = conversation;
  return [
    timeOf(conversation),
    String(details?.unread_count ?? ''),
    id,
    conversationName(conversation),
    details?.last_message?.sentence ?? details?.last_message?.body ?? '',
  ];
}

function timeOf({ last_message_at: at }: Conversation): string {
  return shownTime(at, systemClock.now());
}

/**
 * Lists the participants. Adds names only in groups, because a one-to-one conversation has its name in a separate
 * column.
 */
function participantsOf({ id, participants, names = {} }: Conversation): string {
  return participants.map((address) => (id.includes(';-;') ? address : withName(address, names))).join(', ');
}
