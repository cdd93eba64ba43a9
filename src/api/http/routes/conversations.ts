import { problem } from '../../../domain/problems.ts';
import { conversationQuery, singleConversationQuery } from '../../../schema/conversation.ts';
import { conversationsJson } from '../../../schema/conversation-json.ts';
import { readQuery } from '../../../schema/query.ts';
import { API } from '../../../schema/routes.ts';
import { nextPage, partialHeader } from '../pagination.ts';
import type { Handlers } from '../router.ts';

export function conversationRoutes() {
  return {
    async listConversations(exchange) {
      const { limit, offset, include } = readQuery(conversationQuery, exchange.query);
      const page = await exchange.caller.reader.listConversations({ limit, offset, include });
      // For a client that pages by offset, another page may follow a full one.
      const next = page.next ?? (page.items.length < limit ? undefined : String(offset + limit));
      const content = { type: 'application/json', text: conversationsJson(page.items) };
      const partial = partialHeader(page);
      if (next === undefined) return { status: 200, content, headers: partial };
      const same = { limit, offset: next, include: [...include].join() || undefined };
      const link = nextPage(`${API}/conversations`, same);
      return { status: 200, content, headers: { ...partial, Link: link } };
    },

    async getConversation(exchange) {
      const { include } = readQuery(singleConversationQuery, exchange.query);
      const conversation = await exchange.caller.reader.conversation(exchange.param('id'), { include });
      if (conversation === undefined) throw problem('conversation_not_found');
      return { status: 200, body: conversation };
    },
  } satisfies Partial<Handlers>;
}
