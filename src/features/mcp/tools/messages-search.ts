import * as z from 'zod';
import type { SearchHit } from '../../../client/types.ts';
import { invalidRequest } from '../../../core/model/problems.ts';
import { withoutJunk } from '../../../core/model/without-junk.ts';
import { listed } from '../../../core/tools/fence.ts';
import { conversationId, itemLimit, textOutput, tool } from '../../../core/tools/tool.ts';
import { parseSearch, SEARCH, searchQueryOf } from '../../search/port.ts';
import { fittingPage } from './fitting-page.ts';
import { countNote, junk, junkNote } from './junk.ts';
import { detailed, messageLines } from './messages-read.ts';

const EXCERPT = 400;
const BEFORE_THE_HIT = 150;

export const messagesSearch = tool({
  name: 'messages_search',
  title: 'Search messages',
  description:
    'Full-text search, newest first. All words must occur. Also: "a phrase", begin*, -without, from:, in:, has:attachment, after:2026-01-31, before:.',
  scope: 'read',
  isOffered: (caller) => caller.port(SEARCH).status().isEnabled,
  input: z.object({
    query: z.string().max(500),
    conversation_id: conversationId.optional(),
    limit: itemLimit(20, 50),
    cursor: z.string().max(2000).optional().describe('`next` from the previous answer'),
    junk,
  }),
  output: textOutput,
  async run({ query: text, conversation_id: id, limit: wanted, cursor, junk: hasJunk }, context) {
    const { naming } = context.caller;
    const search = context.caller.port(SEARCH);
    const typed = parseSearch(text, { isScoped: id !== undefined, timeZone: context.time.zone });
    const { query, mistakes } = await searchQueryOf(typed, id, { naming, chats: search.chats });
    if (mistakes.length > 0) throw invalidRequest(mistakes);
    if (query.conversations.some((ids) => ids.length === 0)) return { text: 'Nothing found.' };
    const { items, next, lines, leftOut } = await fittingPage(
      wanted,
      (count) => search.search(query, { limit: count, cursor }),
      async (hits) => messageLines(await detailed(hits.map(excerpt), context), id, context),
      (hits) => (hasJunk ? hits : withoutJunk(hits, ({ message }) => message, context.caller)),
    );
    const { isComplete, indexedFrom } = search.status();
    const gap = isComplete
      ? undefined
      : `Older messages are still being indexed${indexedFrom === undefined ? '' : `; search finds messages since ${indexedFrom.slice(0, 10)}`}.`;
    const more = next === undefined ? undefined : `There is more: call again with cursor = ${next}`;
    const count = items.length === 0 ? 'Nothing found.' : countNote(items.length, 'message');
    return { text: listed([count, gap, more, junkNote(leftOut, 'message')], lines, context.nonce), next };
  },
});

/** Returns the message. Shortens a long body to the part around the first match. */
function excerpt({ message, highlights: [first] }: SearchHit): SearchHit['message'] {
  const { body } = message;
  if (body.length <= EXCERPT) return message;
  let start = Math.max(0, Math.min((first?.[0] ?? 0) - BEFORE_THE_HIT, body.length - EXCERPT));
  if (/[\uDC00-\uDFFF]/.test(body.charAt(start))) start += 1;
  const end = start + EXCERPT;
  return { ...message, body: `${start > 0 ? '…' : ''}${body.slice(start, end)}${end < body.length ? '…' : ''}` };
}
