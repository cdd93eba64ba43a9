import { includeSet } from '../../model/include.ts';
import { listedAttachments } from '../../model/listed-attachment.ts';
import { problem } from '../../model/problems.ts';
import { withoutHiddenChats } from '../../model/without-junk.ts';
import { pageLink } from '../../schema/page-link.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Handler } from '../router.ts';
import { conversationsJson } from './json.ts';
import { conversationAttachmentsQuery, conversationQuery, singleConversationQuery } from './schema.ts';

/** The handlers for conversations, and for their files. */
export const HANDLERS = {
  async listConversations(exchange) {
    const { q, limit, offset, cursor, include, junk } = readQuery(conversationQuery, exchange.query);
    const start = cursor === undefined ? { offset } : { offset: 0, cursor };
    const page = await exchange.caller.reader.listConversations({ q, limit, ...start, include });
    const shown = junk === false ? withoutHiddenChats(page.items, exchange.caller) : page.items;
    // A client that pages by offset gets a link after every full page, because another page may follow.
    const isFull = cursor === undefined && page.items.length === limit;
    const more = cursor === undefined ? { offset: offset + limit } : { cursor: page.next, offset: undefined };
    const next = (isFull || page.next !== undefined) && more;
    const content = { type: 'application/json', text: conversationsJson(shown) };
    if (next === false) return { status: 200, content };
    const link = pageLink(conversationQuery, exchange.query, next);
    return { status: 200, content, headers: { Link: link } };
  },

  async getConversation(exchange) {
    const { include } = readQuery(singleConversationQuery, exchange.query);
    const conversation = await exchange.caller.reader.conversation(exchange.param('id'), { include });
    if (conversation === undefined) throw problem('conversation_not_found');
    return { status: 200, body: conversation };
  },

  async listConversationAttachments(exchange) {
    const { limit, cursor } = readQuery(conversationAttachmentsQuery, exchange.query);
    const { reader } = exchange.caller;
    const conversation = await reader.conversation(exchange.param('id'));
    if (conversation === undefined) throw problem('conversation_not_found');
    const { id: conversationId } = conversation;
    const files = { conversationId, order: 'desc', hasFiles: true, include: includeSet(['details']) } as const;
    const { items, next } = await reader.listMessages({ ...files, limit, offset: 0, cursor });
    const body = items.flatMap(listedAttachments);
    if (next === undefined) return { status: 200, body };
    const link = pageLink(conversationAttachmentsQuery, exchange.query, { cursor: next });
    return { status: 200, body, headers: { Link: link } };
  },
} satisfies Readonly<Record<string, Handler>>;
