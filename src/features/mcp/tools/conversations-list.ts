import * as z from 'zod';
import type { Conversation } from '../../../core/model/conversation.ts';
import { withoutHiddenChats } from '../../../core/model/without-junk.ts';
import { fenced } from '../text/fence.ts';
import { Labels } from '../text/labels.ts';
import { shortLine } from '../text/visible.ts';
import { cursorText, invalidCursor, readToolCursor } from '../tool-cursor.ts';
import { isGroupId } from './group-names.ts';
import { junk, junkNote } from './junk.ts';
import { itemLimit, type ToolContext, textOutput, tool } from './tool.ts';

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
    const start = cursor === undefined ? 0 : offsetIn(cursor);
    const nameOf = await context.names();
    const { found, leftOut, next } = await find({ start, wanted, search, hasJunk }, context);
    const note = junkNote(leftOut, 'conversation');
    if (found.length === 0) return { text: `No conversations.${note}`, ...(next !== undefined && { next }) };
    const labels = new Labels(nameOf);
    const lines = found.map((conversation) => line(conversation, labels, context));
    return { text: fenced(lines.join('\n'), context.nonce) + note, ...(next !== undefined && { next }) };
  },
});

interface Asked {
  readonly start: number;
  readonly wanted: number;
  readonly search: string | undefined;
  readonly hasJunk: boolean;
}

async function find({ start, wanted, search, hasJunk }: Asked, { caller }: ToolContext) {
  const found: Conversation[] = [];
  let leftOut = 0;
  for (let at = start; at < start + MAX_SEARCHED; at += PAGE) {
    const { items } = await caller.reader.listConversations({ limit: PAGE, offset: at, q: search });
    const shown = new Set(hasJunk ? items : withoutHiddenChats(items, caller));
    for (const [index, conversation] of items.entries()) {
      if (shown.has(conversation)) found.push(conversation);
      else leftOut += 1;
      const isEnd = index === items.length - 1 && items.length < PAGE;
      if (found.length === wanted) return { found, leftOut, next: isEnd ? undefined : nextAt(at + index + 1) };
    }
    if (items.length < PAGE) return { found, leftOut, next: undefined };
  }
  return { found, leftOut, next: nextAt(start + MAX_SEARCHED) };
}

function nextAt(offset: number): string {
  return cursorText({ offset: String(offset) });
}

function offsetIn(cursor: string): number {
  const { offset = '' } = readToolCursor(cursor);
  if (!/^\d{1,9}$/.test(offset)) throw invalidCursor();
  return Number(offset);
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
