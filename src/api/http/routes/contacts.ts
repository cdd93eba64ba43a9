import { contactQuery } from '../../../schema/contacts.ts';
import { readQuery } from '../../../schema/query.ts';
import type { Handlers } from '../router.ts';

/** People of the Address Book (decision K2). */
export function contactRoutes() {
  return {
    async listContacts(exchange) {
      const { q, limit } = readQuery(contactQuery, exchange.query);
      return { status: 200, body: await exchange.caller.contacts.search(q, limit) };
    },
  } satisfies Partial<Handlers>;
}
