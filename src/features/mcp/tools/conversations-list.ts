import * as z from 'zod';
import type { Caller } from '../../../core/model/caller.ts';
import type { Conversation } from '../../../core/model/conversation.ts';
import type { ConversationQuery } from '../../../core/model/ports/reading-ports.ts';
import { withoutHiddenChats } from '../../../core/model/without-junk.ts';
import { listed } from '../../../core/tools/fence.ts';
import { itemLimit, type ToolContext, textOutput, tool } from '../../../core/tools/tool.ts';
import { shortLine } from '../../../core/tools/visible.ts';
import { Labels } from '../text/labels.ts';
import { cursorText, invalidCursor, readToolCursor } from '../tool-cursor.ts';
import { isGroupId } from './group-names.ts';
import { countNote, junk, junkNote } from './junk.ts';

const PAGE = 100;
/** Maximum number of conversations that one call examines. The cursor in its answer continues after them. */
const MAX_SEARCHED = 1000;
const MAX_PEOPLE_SHOWN = 8;

export const conversationsList = tool({
  name: 'conversations_list',
  title: 'List conversations',
  description:
    'Conversations, most recent first: id | name and people | last message | whether this key may send there.',
  scope: 'read',
  input: z.object({
    search: z.string().max(200).optional().describe('words or parts of words of a name, address or id'),
    limit: itemLimit(20, 100),
    cursor: z.string().max(200).optional().describe('`next` from the previous answer'),
    junk,
  }),
  output: textOutput,
  async run({ search, limit: wanted, cursor, junk: hasJunk }, context) {
    const start = cursor === undefined ? undefined : positionIn(cursor);
    const nameOf = await context.names();
    const { found, leftOut, next } = await find({ start, wanted, search, hasJunk }, context);
    const labels = new Labels(nameOf);
    const lines = found.map((conversation) => line(conversation, labels, context));
    const more = next && `There may be more: call again with cursor = ${next}`;
    const sentences = [countNote(found.length, 'conversation'), more, junkNote(leftOut, 'conversation')];
    return { text: listed(sentences, lines.join('\n'), context.nonce), next };
  },
});

interface Asked {
  readonly start: string | undefined;
  readonly wanted: number;
  readonly search: string | undefined;
  readonly hasJunk: boolean;
}

async function find({ start, wanted, search, hasJunk }: Asked, { caller }: ToolContext) {
  const found: Conversation[] = [];
  let leftOut = 0;
  let cursor = start;
  for (let examined = 0; examined < MAX_SEARCHED; examined += PAGE) {
    const query = { offset: 0, cursor, q: search };
    const { items, next } = await caller.reader.listConversations({ ...query, limit: PAGE });
    const shown = new Set(hasJunk ? items : withoutHiddenChats(items, caller));
    for (const [index, conversation] of items.entries()) {
      if (shown.has(conversation)) found.push(conversation);
      else leftOut += 1;
      if (found.length < wanted) continue;
      const end =
        index === items.length - 1 ? next : await behind(conversation, { ...query, limit: index + 1 }, caller);
      return { found, leftOut, next: nextAt(end) };
    }
    if (next === undefined) return { found, leftOut, next: undefined };
    cursor = next;
  }
  return { found, leftOut, next: nextAt(cursor) };
}

/**
 * Returns the position behind a conversation, the last of those that `query` finds. If another conversation has taken
 * its place meanwhile, returns where `query` begins: some are then listed twice, but none is left out.
 */
async function behind({ id }: Conversation, query: ConversationQuery, { reader }: Caller): Promise<string | undefined> {
  const { items, next } = await reader.listConversations(query);
  return items.at(-1)?.id === id ? next : (query.cursor ?? '');
}

/** Returns the text of a position; that of "" is the beginning of the list. */
function nextAt(position: string | undefined): string | undefined {
  return position === undefined ? undefined : cursorText({ position });
}

function positionIn(cursor: string): string | undefined {
  const { position } = readToolCursor(cursor);
  if (position === undefined) throw invalidCursor();
  return position === '' ? undefined : position;
}

function line(conversation: Conversation, labels: Labels, { time, caller }: ToolContext): string {
  const { id, display_name: name, participants, last_message_at: last } = conversation;
  const people = participants.slice(0, MAX_PEOPLE_SHOWN).map((address) => labels.person(address));
  const others = participants.length - people.length;
  const shown = others > 0 ? `${people.join(', ')} and ${others} more` : people.join(', ') || 'nobody';
  const title = isGroupId(id) && name !== null ? `"${shortLine(name, 60).replaceAll('"', "'")}": ` : '';
  const canSend = caller.key?.scopes.includes('send') === true ? ` | can send: ${caller.canSend?.(id) ?? 'yes'}` : '';
  return `${shortLine(id, 200)} | ${title}${shown} | last ${time.day(last)} ${time.time(last)}${canSend}`;
}
