import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../core/model/caller.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import { includeSet } from '../../core/model/include.ts';
import { withoutHiddenChats } from '../../core/model/without-junk.ts';

const DETAILS = includeSet(['details']);
/** More conversations than any Mac has, so that one read lists all of them. */
const ALL = 100_000;
/** The smallest page that continues a walk without being counted, so that a walk cannot have pages without end. */
const UNCOUNTED_PAGE = 100;
/** Conversations that are read before the event loop runs other work. */
const SLICE = 50;

/** The conversations of one key, as they were when the key's newest walk began. */
interface Walk {
  readonly ids: readonly string[];
  /** The lowest offset that continues the walk; undefined after an empty page. */
  next: number | undefined;
}

export interface WalkPage {
  readonly items: readonly Conversation[];
  readonly total: number;
  /** True for a page that continues a walk. */
  readonly isContinued: boolean;
}

/**
 * Lists conversations for clients that walk by offset, as all of BlueBubbles' do before each send. A walk begins at
 * offset 0 and keeps its order, so that a new message between two pages neither repeats nor skips a conversation.
 */
export class ConversationWalks {
  readonly #walks = new WeakMap<Caller, Walk>();

  /** Returns a page, newest first as of the beginning of the walk, without conversations that are gone since. */
  async page(caller: Caller, offset: number, limit: number): Promise<WalkPage> {
    const { reader } = caller;
    const known = offset === 0 ? undefined : this.#walks.get(caller);
    const begun = known?.next === undefined ? undefined : known;
    const walk: Walk = begun ?? { ids: await idsOf(caller), next: 0 };
    const ids = walk.ids.slice(offset, offset + limit);
    const isContinued = begun?.next !== undefined && offset >= begun.next && limit >= UNCOUNTED_PAGE;
    walk.next = ids.length === 0 ? undefined : offset + ids.length;
    this.#walks.set(caller, walk);
    const items: Conversation[] = [];
    for (const [index, id] of ids.entries()) {
      const conversation = await reader.conversation(id, { include: DETAILS });
      if (conversation !== undefined) items.push(conversation);
      if (index % SLICE === SLICE - 1) await setImmediate();
    }
    return { items, total: walk.ids.length, isContinued };
  }
}

/** Lists the conversations that Messages shows (decision AB4). */
async function idsOf(caller: Caller): Promise<readonly string[]> {
  const { items } = await caller.reader.listConversations({ limit: ALL, offset: 0 });
  return withoutHiddenChats(items, caller).map(({ id }) => id);
}
