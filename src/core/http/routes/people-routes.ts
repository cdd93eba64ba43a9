import { problem } from '../../model/problems.ts';
import { contactQuery } from '../../schema/contacts-schema.ts';
import { pageLink } from '../../schema/page-link.ts';
import { peopleQuery, personMessagesQuery } from '../../schema/people-schema.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { fittingMessages } from '../fitting-list.ts';
import type { Handlers } from '../router.ts';

/**
 * Returns the handlers for people, for a person's messages across all addresses of that person (decision V4), and for
 * contacts (decision K2).
 */
export function peopleRoutes() {
  return {
    async listPeople({ query, caller }) {
      const { q, limit } = readQuery(peopleQuery, query);
      return { status: 200, body: await caller.people.search(q, limit) };
    },

    async listPersonMessages(exchange) {
      const { people, reader } = exchange.caller;
      const { limit, cursor, include } = readQuery(personMessagesQuery, exchange.query);
      const person = await people.person(exchange.param('id'));
      if (person === undefined) throw problem('person_not_found');
      const { conversations: conversationIds } = person;
      const query = { conversationIds, order: 'desc', offset: 0, cursor, include } as const;
      const { page, content } = await fittingMessages(limit, (most) => reader.listMessages({ ...query, limit: most }));
      if (page.next === undefined) return { status: 200, content };
      const link = pageLink(personMessagesQuery, exchange.query, { cursor: page.next });
      return { status: 200, content, headers: { Link: link } };
    },

    async listContacts(exchange) {
      const { q, limit } = readQuery(contactQuery, exchange.query);
      return { status: 200, body: await exchange.caller.contacts.search(q, limit) };
    },
  } satisfies Partial<Handlers>;
}
