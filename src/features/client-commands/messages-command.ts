import type { PosternClient } from '../../client/postern-client.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { MESSAGE_LIST, messageRow } from '../../core/cli/output/event-line.ts';
import { conversationsToRead, personIdOf } from '../../core/cli/recipient.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { justBefore } from '../../core/cli/since.ts';
import type { Include } from '../../core/model/include.ts';
import type { Message } from '../../core/model/message.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { withNames } from './with-names.ts';

export interface MessagesFlags extends ConnectionOptions {
  /** Unix milliseconds. */
  readonly since?: number;
  readonly person?: string;
  readonly limit?: number;
  /** With --json: also prints the `details` of each message. */
  readonly details?: boolean;
}

/** Maximum page size of the API. */
const PAGE = 200;

/**
 * `postern messages`: prints the newest messages, the newest at the bottom. With --json the newest is first, as in the
 * API.
 */
export async function messages(
  conversation: string | undefined,
  { since, person, limit = 20, details = false, json = false }: MessagesFlags,
  { client, list }: Served,
): Promise<void> {
  const page = { limit: Math.min(limit, PAGE) };
  const pages =
    person === undefined ? await listed(client, conversation, since) : await ofPerson(client, person, conversation);
  const collect = async (included: Included): Promise<Message[]> => {
    const found: Message[] = [];
    for await (const message of pages({ ...page, ...included })) {
      found.push(message);
      if (found.length >= limit) break;
    }
    return found;
  };
  // --json prints the service's plain answer, without extra includes.
  const plain: Included = details ? { include: ['details'] } : {};
  const found = json ? await collect(plain) : await withNames(collect, ['details']);
  const rows = found.toReversed().map((message) => messageRow(message, systemClock.now()));
  list(found, MESSAGE_LIST, rows, 'There are no such messages.');
}

type Included = { readonly include?: readonly Include[] };
type Page = Included & { readonly limit: number };

async function listed(client: PosternClient, conversation: string | undefined, since: number | undefined) {
  const filter = since === undefined ? {} : { since: justBefore(since) };
  if (conversation === undefined) return (page: Page) => client.allMessages({ ...filter, ...page });
  const ids = await conversationsToRead(client, conversation);
  return (page: Page) =>
    newestFirst(
      ids.map((id) => client.allMessages({ ...filter, ...page, conversation_id: id })[Symbol.asyncIterator]()),
    );
}

/** Merges lists of messages, each with the newest first. */
async function* newestFirst(lists: readonly AsyncIterator<Message>[]): AsyncGenerator<Message> {
  const heads = await Promise.all(lists.map(async (list) => ({ list, next: await list.next() })));
  for (;;) {
    const there = heads.flatMap(({ next }, at) => (next.done === true ? [] : [{ at, message: next.value }]));
    const [first] = there.sort((a, b) => byAge(a.message, b.message));
    const head = first && heads[first.at];
    if (first === undefined || head === undefined) return;
    yield first.message;
    head.next = await head.list.next();
  }
}

function byAge(a: Message, b: Message): number {
  return Date.parse(b.timestamp) - Date.parse(a.timestamp) || Number(b.id) - Number(a.id);
}

async function ofPerson(client: PosternClient, person: string, conversation: string | undefined) {
  if (conversation !== undefined) throw new Refusal(EXIT.usage, 'Name either a conversation or a person, not both.');
  const id = await personIdOf(client, person);
  return (page: Page) => client.people.allMessages(id, page);
}
