import { fittingMessages } from '../../core/http/fitting-list.ts';
import type { Handler } from '../../core/http/router.ts';
import { pageLink } from '../../core/schema/page-link.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { CONTACTS, PEOPLE } from './port.ts';
import { contactProblem } from './problems.ts';
import { contactQuery, peopleQuery, personMessagesQuery } from './schema.ts';

/**
 * The handlers for people, for a person's messages across all addresses of that person (decision V4), and for contacts
 * (decision K2).
 */
export const HANDLERS = {
  async listPeople({ query, caller }) {
    const { q, limit } = readQuery(peopleQuery, query);
    return { status: 200, body: await caller.port(PEOPLE).search(q, limit) };
  },

  async listPersonMessages(exchange) {
    const { caller } = exchange;
    const { limit, cursor, include } = readQuery(personMessagesQuery, exchange.query);
    const person = await caller.port(PEOPLE).person(exchange.param('id'));
    if (person === undefined) throw contactProblem('person_not_found');
    const { conversations: conversationIds } = person;
    const query = { conversationIds, order: 'desc', offset: 0, cursor, include } as const;
    const { page, content } = await fittingMessages(limit, (most) =>
      caller.reader.listMessages({ ...query, limit: most }),
    );
    if (page.next === undefined) return { status: 200, content };
    const link = pageLink(personMessagesQuery, exchange.query, { cursor: page.next });
    return { status: 200, content, headers: { Link: link } };
  },

  async listContacts(exchange) {
    const { q, limit } = readQuery(contactQuery, exchange.query);
    return { status: 200, body: await exchange.caller.port(CONTACTS).search(q, limit) };
  },
} satisfies Readonly<Record<string, Handler>>;
